package contextprovider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// ErrUnpublishable says that a skill is there but cannot be published: other
// programs could not read it, or would read something else.
var ErrUnpublishable = errors.New("cannot be published")

// A Manifest describes a skill to other programs, as it is in the source now.
type Manifest struct {
	skill.Meta                 // as indexed, but Name and Description are taken from Frontmatter
	Frontmatter map[string]any // as skill.Exact returns it
	Files       []skill.File   // every file, SKILL.md included, by path, with their digests if asked for
	Stale       bool           // it changed since it was indexed; without digests only SKILL.md is compared
}

// Manifest returns the manifest of a skill. It reads all files of the skill if their
// digests are asked for, and else none but SKILL.md. A skill that cannot be represented
// by a manifest, or is a shadowed copy, is an error that wraps ErrUnpublishable and
// says why.
func (p *Provider) Manifest(ctx context.Context, id string, a *search.Agent, digests bool) (Manifest, error) {
	e, in, err := p.find(ctx, id, a, digests)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Meta: e.Meta, Files: in.Files, Stale: in.SHA256 != e.TextDigest || digests && in.Digest != e.Digest}
	m.Digest, m.TextDigest = in.Digest, in.SHA256
	if err := m.fill(&e, &in); err != nil {
		return Manifest{}, fmt.Errorf("skill %s %w: %w", e.ID, ErrUnpublishable, err)
	}
	return m, nil
}

// fill sets what the instructions say, unless the skill cannot be published.
func (m *Manifest) fill(e *search.Entry, in *Instructions) (err error) {
	if e.ShadowedBy != "" {
		return fmt.Errorf("%s has its name", e.ShadowedBy)
	}
	if m.Frontmatter, err = Publishable(e.File(), in); err != nil {
		return err
	}
	m.Name, _ = m.Frontmatter["name"].(string)
	m.Description, _ = m.Frontmatter["description"].(string)
	return nil
}

// Publishable returns the frontmatter of a skill whose instructions are in a file of this base
// name. The error says why other programs could not read the skill, or would read it differently.
func Publishable(file string, in *Instructions) (map[string]any, error) {
	if file != skill.FileNames[0] {
		return nil, fmt.Errorf("its instructions are in %s, not in %s", file, skill.FileNames[0])
	}
	if err := checkFiles(in); err != nil {
		return nil, err
	}
	front, err := skill.Exact(string(in.Data))
	if err != nil {
		return nil, err
	}
	name, _ := front["name"].(string)
	description, _ := front["description"].(string)
	if err := CheckHead(name, description); err != nil {
		return nil, err
	}
	return front, nil
}

// CheckHead says why other programs could not read the name and the description of a skill; nil means that
// they can.
func CheckHead(name, description string) error {
	switch {
	case !skill.IsPortableName(name):
		return fmt.Errorf("its name is not of the form a-b-c in at most %d letters and digits, or is a device's on Windows", skill.MaxName)
	case strings.TrimSpace(description) == "":
		return errors.New("its description is missing or not a text")
	case len(utf16.Encode([]rune(description))) > skill.MaxDescription: // hosts count in either way
		return fmt.Errorf("its description is longer than %d characters", skill.MaxDescription)
	}
	return nil
}

// checkFiles reports what is wrong with the files of a skill.
func checkFiles(in *Instructions) error {
	if in.Unserved != "" {
		return errors.New(in.Unserved)
	}
	// It may be gone since it was read, or have another case where case does not count.
	if !slices.ContainsFunc(in.Files, func(f skill.File) bool { return f.Path == skill.FileNames[0] }) {
		return fmt.Errorf("its folder lists no %s", skill.FileNames[0])
	}
	total := int64(0)
	for _, f := range in.Files {
		total += f.Size
	}
	if len(in.Files) > skill.MaxPublishedFiles || total > skill.MaxPublishedBytes {
		return fmt.Errorf("its %d files have %d bytes; hosts take %d files of %d bytes", len(in.Files), total, skill.MaxPublishedFiles, skill.MaxPublishedBytes)
	}
	return nil
}
