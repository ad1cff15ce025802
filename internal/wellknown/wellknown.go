// Package wellknown writes skills as static files that a web server serves below
// /.well-known, for clients that look for them there. It writes two forms side by side:
// agent-skills/index.json, version 0.2.0 of the discovery format, where a skill is a
// SKILL.md or an archive with a digest; and skills/index.json, version 0.1, where a
// skill is a list of plain files.
//
// The one rule: it replaces and removes only files that it has written itself.
package wellknown

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Where the two forms are, below the folder of the site.
const (
	newDir = ".well-known/agent-skills"
	oldDir = ".well-known/skills"
)

// schema is what an index of version 0.2.0 says of itself.
const schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// A newIndex is agent-skills/index.json.
type newIndex struct {
	Schema string     `json:"$schema"`
	Skills []newEntry `json:"skills"`
}

// A newEntry is one skill of a newIndex. The URL is relative to the URL of the index.
type newEntry struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // "skill-md" or "archive"
	Description string `json:"description"`
	URL         string `json:"url"`
	Digest      string `json:"digest"` // "sha256:<hex>" of the file at the URL
}

// An oldIndex is skills/index.json.
type oldIndex struct {
	Skills []oldEntry `json:"skills"`
}

// An oldEntry is one skill of an oldIndex. Its files are beside the index in a folder
// with the skill's name.
type oldEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Files       []string `json:"files"` // the first is SKILL.md
}

// A bundle is a skill to publish: its name, its description and its unchanged files.
type bundle struct {
	name        string
	description string
	digest      string // of the skill
	files       []file
	entry       search.Entry // as it is indexed
}

// A file is one file of a skill.
type file struct {
	path string // slash-separated, relative to the skill's folder
	data []byte
}

// A writer writes a site, one skill at a time. Clients see the change after finish,
// which writes the indexes.
type writer struct {
	*site
	index    newIndex
	old      oldIndex
	manifest *manifest // nil means none
	result   Result
}

// open begins to write the site in folder dir, which it makes if need be. It refuses a
// folder with skills that finish did not write.
func open(dir string) (*writer, error) {
	s, err := openSite(dir)
	return &writer{site: s, index: newIndex{schema, []newEntry{}}, old: oldIndex{[]oldEntry{}}}, err
}

// An OmittedError says why a skill is left out of the site, or of its older
// form.
type OmittedError struct {
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	OldOnly bool   `json:"old_only"` // the skill is left out of version 0.1 only
}

func (e *OmittedError) Error() string {
	from := ""
	if e.OldOnly {
		from = " of the index of version 0.1"
	}
	return fmt.Sprintf("skill %s is left out%s: %s", e.Name, from, e.Reason)
}

// add writes the files of a skill. An *OmittedError means that this skill is left out;
// the writer can go on with others.
func (w *writer) add(b bundle) error {
	if err := b.prepare(); err != nil {
		return err
	}
	if slices.ContainsFunc(w.index.Skills, func(e newEntry) bool { return e.Name == b.name }) {
		return b.omitted("another skill has the same name")
	}
	entry := newEntry{Name: b.name, Type: "skill-md", Description: b.description, URL: b.name + "/SKILL.md"}
	data := b.files[0].data
	if len(b.files) > 1 {
		var err error
		w.result.Archives++
		entry.Type, entry.URL = "archive", b.name+".tar.gz"
		if data, err = archive(b.files); err != nil {
			return fmt.Errorf("packing skill %s: %w", b.name, err)
		}
	}
	entry.Digest = digest(data)
	if w.sameVersion(&b, entry.Digest) {
		w.result.SameVersion = append(w.result.SameVersion, b.name)
	}
	if err := w.write(path.Join(newDir, entry.URL), data); err != nil {
		return err
	}
	w.index.Skills = append(w.index.Skills, entry)
	w.manifest.add(&b, &entry)
	if reason := b.notOld(); reason != "" {
		return &OmittedError{b.name, reason, true}
	}
	return w.addOld(&b)
}

// sameVersion reports whether a skill that is now packed with a digest is another one than an
// earlier run has published, but states the same version.
func (w *writer) sameVersion(b *bundle, digest string) bool {
	prior := slices.Concat(w.ours[path.Join(newDir, b.name, "SKILL.md")], w.ours[path.Join(newDir, b.name+".tar.gz")])
	if b.entry.Version == "" || len(prior) == 0 || slices.Contains(prior, digest) {
		return false
	}
	name := path.Join(oldDir, b.name, "SKILL.md")
	data, err := w.root.ReadFile(name)
	if err != nil {
		return false // nobody knows
	}
	before, err := skill.ParseBytes(data, name, "")
	return err == nil && before.Version == b.entry.Version
}

// has reports whether an earlier run has published a skill.
func (w *writer) has(name string) bool {
	return w.ours[path.Join(newDir, name, "SKILL.md")] != nil || w.ours[path.Join(newDir, name+".tar.gz")] != nil
}

func (w *writer) addOld(b *bundle) error {
	entry := oldEntry{Name: b.name, Description: b.description}
	for _, f := range b.files {
		if err := w.write(path.Join(oldDir, b.name, f.path), f.data); err != nil {
			return err
		}
		entry.Files = append(entry.Files, f.path)
	}
	w.old.Skills = append(w.old.Skills, entry)
	return nil
}

// A Result says what Publish left in the folder, and what it left out.
type Result struct {
	Dir      string          `json:"dir"`
	Skills   int             `json:"skills"`   // number of skills in the index
	Archives int             `json:"archives"` // number of these that are archives
	Old      int             `json:"old"`      // number of skills in the index of version 0.1
	Manifest int             `json:"manifest"` // number of skills in the manifest of ARD; 0 without one
	Omitted  []*OmittedError `json:"omitted"`
	// SameVersion names the skills that have changed since an earlier run, and state the same version.
	SameVersion []string `json:"same_version"`
	Removed     []string `json:"removed"` // files of an earlier site, relative to the folder
	Kept        []string `json:"kept"`    // files of an earlier site that somebody has changed since
}

// finish writes the indexes, and removes files of an earlier site that are no longer
// needed.
func (w *writer) finish() (Result, error) {
	slices.SortFunc(w.index.Skills, func(a, b newEntry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.old.Skills, func(a, b oldEntry) int { return strings.Compare(a.Name, b.Name) })
	w.result.Skills, w.result.Old = len(w.index.Skills), len(w.old.Skills)
	err := errors.Join(w.writeJSON(path.Join(newDir, "index.json"), w.index), w.writeJSON(path.Join(oldDir, "index.json"), w.old), w.writeManifest())
	if err == nil {
		err = w.clean(&w.result)
	}
	return w.result, err
}

// writeJSON writes indented JSON, which people can read too.
func (w *writer) writeJSON(name string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.write(name, b.Bytes())
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
