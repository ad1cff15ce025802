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
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Schema is the schema that the index of version 0.2.0 names.
const Schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"

// Where the two forms are, below the folder of the site.
const (
	newDir = ".well-known/agent-skills"
	oldDir = ".well-known/skills"
)

// An Index is agent-skills/index.json.
type Index struct {
	Schema string  `json:"$schema"`
	Skills []Entry `json:"skills"`
}

// An Entry is one skill of an Index. The URL is relative to the URL of the index.
type Entry struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // "skill-md" or "archive"
	Description string `json:"description"`
	URL         string `json:"url"`
	Digest      string `json:"digest"` // "sha256:<hex>" of the file at the URL
}

// An OldIndex is skills/index.json.
type OldIndex struct {
	Skills []OldEntry `json:"skills"`
}

// An OldEntry is one skill of an OldIndex. Its files are beside the index in a folder
// with the skill's name.
type OldEntry struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Files       []string `json:"files"` // the first is SKILL.md
}

// A Skill is a skill to publish: its name in the catalog and its unchanged files.
type Skill struct {
	Name  string
	Files []File
}

// A File is one file of a skill.
type File struct {
	Path string // slash-separated, relative to the skill's folder
	Data []byte
}

// A Writer writes a site, one skill at a time. Clients see the change after Finish,
// which writes the indexes.
type Writer struct {
	site  *site
	index Index
	old   OldIndex
}

// Open begins to write the site in folder dir, which it makes if need be. It refuses a
// folder with skills that Finish did not write.
func Open(dir string) (*Writer, error) {
	s, err := openSite(dir)
	if err != nil {
		return nil, err
	}
	return &Writer{site: s, index: Index{Schema, []Entry{}}, old: OldIndex{[]OldEntry{}}}, nil
}

// An OmittedError says why a skill is left out of the site, or of its older
// form.
type OmittedError struct {
	Name    string
	OldOnly bool // the skill is left out of version 0.1 only
	Reason  string
}

func (e *OmittedError) Error() string {
	from := ""
	if e.OldOnly {
		from = " of the index of version 0.1"
	}
	return fmt.Sprintf("skill %s is left out%s: %s", e.Name, from, e.Reason)
}

// Add writes the files of a skill. An *OmittedError means that this skill is left out;
// the Writer can go on with others.
func (w *Writer) Add(s Skill) error {
	p, err := prepare(s)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(w.index.Skills, func(e Entry) bool { return e.Name == s.Name }) {
		return p.omitted("another skill has the same name")
	}
	entry := Entry{Name: p.Name, Type: "skill-md", Description: p.description, URL: p.Name + "/SKILL.md"}
	data := p.Files[0].Data
	if len(p.Files) > 1 {
		entry.Type, entry.URL = "archive", p.Name+".tar.gz"
		if data, err = archive(p.Files); err != nil {
			return fmt.Errorf("packing skill %s: %w", s.Name, err)
		}
	}
	entry.Digest = digest(data)
	if err := w.site.write(path.Join(newDir, entry.URL), data); err != nil {
		return err
	}
	w.index.Skills = append(w.index.Skills, entry)
	if reason := p.notOld(); reason != "" {
		return &OmittedError{s.Name, true, reason}
	}
	return w.addOld(p)
}

func (w *Writer) addOld(p *prepared) error {
	entry := OldEntry{Name: p.Name, Description: p.description}
	for _, f := range p.Files {
		if err := w.site.write(path.Join(oldDir, p.Name, f.Path), f.Data); err != nil {
			return err
		}
		entry.Files = append(entry.Files, f.Path)
	}
	w.old.Skills = append(w.old.Skills, entry)
	return nil
}

// A Result says what Finish left in the folder, and what Publish left out.
type Result struct {
	Skills   int      // number of skills in the index
	Archives int      // number of these that are archives
	Old      int      // number of skills in the index of version 0.1
	Removed  []string // files of an earlier site, relative to the folder
	Kept     []string // files of an earlier site that somebody has changed since

	Omitted []*OmittedError // set by Publish
}

// Finish writes the indexes, and removes files of an earlier Finish that are no longer
// needed.
func (w *Writer) Finish() (Result, error) {
	defer w.Close()
	slices.SortFunc(w.index.Skills, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(w.old.Skills, func(a, b OldEntry) int { return strings.Compare(a.Name, b.Name) })
	r := Result{Skills: len(w.index.Skills), Old: len(w.old.Skills)}
	for _, e := range w.index.Skills {
		if e.Type == "archive" {
			r.Archives++
		}
	}
	err := errors.Join(w.writeIndex(newDir, w.index), w.writeIndex(oldDir, w.old))
	if err != nil {
		return r, err
	}
	r.Removed, r.Kept, err = w.site.clean()
	return r, err
}

func (w *Writer) writeIndex(dir string, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return w.site.write(path.Join(dir, "index.json"), data)
}

// Close closes the folder without writing the indexes. After Finish it does nothing.
func (w *Writer) Close() error { return w.site.close() }

// encode returns indented JSON, which people can read too.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
