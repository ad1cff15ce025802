package source

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// Load reads and parses the skill in a folder of any source and hashes all of its
// files. It is what skill.Ref.Load does.
func Load(ctx context.Context, s Source, dir string) (*skill.Skill, error) {
	m, err := ReadManifest(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	info := s.Info()
	location := info.Label + ":" + m.path()
	if info.Root != "" {
		location = filepath.Join(info.Root, filepath.FromSlash(m.path()))
	}
	return m.parse(info.Label, location, "", skill.Limits{})
}

// load is Load for a file system: it knows renames and locations on disk.
func (s *FS) load(dir string) (*skill.Skill, error) {
	m, err := s.manifest(dir)
	if err != nil {
		return nil, err
	}
	sk, err := m.parse(s.info.Label, s.tree.location(s.info.Label, m.path()), s.folderName(dir), s.limits)
	if err == nil {
		sk.Name = cmp.Or(s.renames[dir], s.renames[sk.Name], s.installedName(dir), sk.Name)
	}
	return sk, err
}

// Renames reports whether skills may have other names in the source than they give
// themselves.
func (s *FS) Renames() bool { return len(s.renames) > 0 || s.info.Kind == KindInstalled }

// installedName returns the name of an installed skill, which is the name of its folder:
// whoever installs a skill may give it another name than its author did. It returns "" for
// all other skills.
func (s *FS) installedName(dir string) string {
	if s.info.Kind != KindInstalled || dir == "." || strings.Contains(dir, "/") {
		return ""
	}
	return dir
}

// parse returns the skill of a manifest, from the same bytes that were hashed.
func (m *Manifest) parse(label, location, folder string, limits skill.Limits) (*skill.Skill, error) {
	sk, err := limits.Parse(m.Text, m.path(), folder)
	if err != nil {
		return nil, err
	}
	sk.Source, sk.Location = label, location
	sk.Files, sk.Digest, sk.TextDigest = m.Files, m.Digest, m.TextDigest()
	sk.Problems = append(sk.Problems, m.Problems...)
	for _, f := range m.Files {
		data, ok := m.kept[f.Path]
		switch {
		case !ok:
		case f.Path == skill.InterfaceFile:
			sk.ReadInterface(data, join(m.Dir, f.Path))
		default:
			addExamples(sk, data)
		}
	}
	if !m.Partial {
		sk.Problems = append(sk.Problems, m.missing(sk.Body, sk.BodyLine)...)
	}
	return sk, nil
}

// addExamples adds the prompts of a file of evals that should lead to the skill.
func addExamples(sk *skill.Skill, evals []byte) {
	list, _ := skill.ParseEvals(evals) // "skills evals" reports what cannot be used
	for _, e := range list {
		if e.Trigger {
			sk.AddExample(e.Prompt)
		}
	}
}

// folderName returns the base name of a skill's folder. The top of the source has
// the name of the source's folder; the top of a disk has no name, so it is "skill".
func (s *FS) folderName(dir string) string {
	switch {
	case dir != ".":
		return path.Base(dir)
	case s.base == "." || !fs.ValidPath(s.base):
		return "skill"
	}
	return s.base
}
