// Package contextprovider makes what a model sees of the catalog: the block of
// names and descriptions that fits a prompt (level 1), the instructions of one
// skill (level 2) and one of its files (level 3). Levels 2 and 3 are read from
// the source at the time they are asked for, never from the index.
package contextprovider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/sections"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Catalog finds skills; *search.Searcher is one. The agent's scope holds in
// every method: what is outside it does not exist.
type Catalog interface {
	Search(ctx context.Context, q search.Query) (search.Answer, error)
	Lookup(ctx context.Context, id string, a *search.Agent) (search.Entry, error)
	Pinned(ctx context.Context, a *search.Agent) ([]search.Entry, error)
	List(ctx context.Context, a *search.Agent, o *search.ListOptions) ([]search.Entry, error)
}

// A Reader reads the files of skills where they are now.
type Reader interface {
	// Instructions reads the SKILL.md of a skill and lists the skill's files. It opens the
	// other files only for their digests.
	Instructions(ctx context.Context, e *search.Entry, digests bool) (Instructions, error)
	// File returns the file of that name of a skill. A name that leads out of the skill's
	// folder is an error.
	File(ctx context.Context, e *search.Entry, name string) (Content, error)
	// Watch returns a function that reports whether the files of a skill are as they are now, by
	// their times and sizes; false if in doubt. nil means that only reading them can tell.
	Watch(e *search.Entry) (unchanged func() bool)
}

// Instructions are a SKILL.md as it was just read, and what is beside it.
type Instructions struct {
	Content
	Files  []skill.File // all of the skill, with their digests if asked for
	Digest string       // over all of them, see skill.Meta; "" unless asked for

	// Unserved says why Files are not all files of the folder, or cannot all be
	// read with File; "" when they are and can.
	Unserved string

	// Partial means that Files lacks some: there are too many, or a folder cannot be read.
	Partial bool

	// Shared means that the folder of the skill holds other skills too, which Files lacks.
	Shared bool
}

// Content is a file as it was just read.
type Content struct {
	Data   []byte
	SHA256 string // of Data, hexadecimal
	Binary bool   // Data is not text
}

// text returns the content without hidden characters, and how many there were.
func (c *Content) text() (text string, hidden int) {
	text, found := tidy.CleanAndCount(string(c.Data))
	for _, h := range found {
		hidden += h.Count
	}
	return text, hidden
}

// A Resource is a file of a skill as a list shows it.
type Resource struct {
	Path   string     `json:"path"` // slash-separated, relative to the skill's folder
	Kind   skill.Kind `json:"kind"` // script, reference, asset or other
	Size   int64      `json:"size"` // bytes
	SHA256 string     `json:"sha256,omitempty"`
}

func resourcesOf(files []skill.File) []Resource {
	list := make([]Resource, len(files))
	for i, f := range files {
		list[i] = Resource{Path: f.Path, Kind: f.Kind(), Size: f.Size, SHA256: f.SHA256}
	}
	return list
}

// A Provider answers for one catalog. It remembers only which skills were found as they must
// be, and may be used from several goroutines.
type Provider struct {
	catalog Catalog
	reader  Reader
	seals   seals

	sections sections.Cache // of files that were searched, by their digests
}

// New returns a provider.
func New(c Catalog, r Reader) *Provider {
	return &Provider{catalog: c, reader: r, sections: sections.NewCache()}
}

// A Body is level 2: the whole SKILL.md of a skill.
type Body struct {
	ID     string `json:"id"` // this and the next three as in search.Entry
	Name   string `json:"name"`
	Source string `json:"source"`
	skill.About
	Location    string        `json:"location"`
	Folder      string        `json:"folder"`                 // what its relative paths are relative to
	Text        string        `json:"text"`                   // the whole SKILL.md, without invisible characters
	Tokens      int           `json:"tokens"`                 // of Text, estimated
	Resources   []Resource    `json:"resources"`              // its other files
	Requires    []Requirement `json:"requires,omitempty"`     // the skills that it asks for
	Required    []Body        `json:"required,omitempty"`     // what it requires, if that was asked for; see Provider.BodyAndRequired
	Unavailable string        `json:"unavailable,omitempty"`  // what it needs and is not there: "needs the command gh, which is not in PATH"
	Stale       bool          `json:"stale"`                  // Text changed since it was indexed
	HiddenChars int           `json:"hidden_chars,omitempty"` // invisible characters removed from Text
	Partial     bool          `json:"-"`                      // Resources lacks some: nobody would notice a change of those
	Shared      bool          `json:"-"`                      // other skills lie in Folder: do not let a script of this one in
}

// A Requirement is a skill that another one asks for.
type Requirement struct {
	Name      string `json:"name"`
	Available bool   `json:"available" jsonschema:"the catalog has it"` // in the scope of the agent
}

// Body returns the instructions of a skill as they are in its source now, also of a skill that
// is unavailable, because who asks for it may know better.
func (p *Provider) Body(ctx context.Context, id string, a *search.Agent) (Body, error) {
	e, in, err := p.find(ctx, id, a, false)
	if err != nil {
		return Body{}, err
	}
	return bodyOf(e, in), nil
}

// bodyOf returns the body of a skill whose instructions were just read.
func bodyOf(e search.Entry, in Instructions) Body {
	text, hidden := in.text()
	b := Body{
		ID: e.ID, Name: e.Name, Source: e.Source, About: e.About, Location: e.Location, Folder: folder(e),
		Text: text, Tokens: words.Tokens(text), Stale: in.SHA256 != e.TextDigest, HiddenChars: hidden, Partial: in.Partial, Shared: in.Shared,
	}
	b.Resources = slices.DeleteFunc(resourcesOf(in.Files), func(r Resource) bool { return r.Path == e.File() })
	if e.State == search.Unavailable {
		b.Unavailable = e.Reason
	}
	for _, id := range e.Requires {
		b.Requires = append(b.Requires, Requirement{Name: id, Available: true})
	}
	for _, name := range e.Lacking {
		b.Requires = append(b.Requires, Requirement{Name: name})
	}
	return b
}

// folder returns the folder that the skill's relative paths start from, in the
// form of its location.
func folder(e search.Entry) string {
	if filepath.IsAbs(e.Location) {
		return filepath.Dir(e.Location)
	}
	return e.Source + ":" + e.Dir()
}

// A Listing is the files of a skill, SKILL.md included, by path.
type Listing struct {
	ID     string     `json:"id"`               // of the skill
	Folder string     `json:"folder"`           // what the paths are relative to
	Files  []Resource `json:"files"`            // with their digests if asked for
	Digest string     `json:"digest,omitempty"` // over all of them, if asked for; "" if Partial

	// Partial means that Files lacks some: there are too many, or a folder cannot be read.
	// Nobody would notice a change of those.
	Partial bool `json:"partial,omitempty"`
}

// Listing lists the files of a skill as they are in its source now. It reads all
// of them if their digests are asked for, and else none but SKILL.md.
func (p *Provider) Listing(ctx context.Context, id string, a *search.Agent, digests bool) (Listing, error) {
	e, in, err := p.find(ctx, id, a, digests)
	if err != nil {
		return Listing{}, err
	}
	l := Listing{ID: e.ID, Folder: folder(e), Files: resourcesOf(in.Files), Digest: in.Digest, Partial: in.Partial}
	if in.Partial {
		l.Digest = ""
	}
	return l, nil
}

// find looks up a skill and reads it.
func (p *Provider) find(ctx context.Context, id string, a *search.Agent, digests bool) (e search.Entry, in Instructions, err error) {
	if e, err = p.catalog.Lookup(ctx, id, a); err == nil {
		in, err = p.read(ctx, e, digests, a)
	}
	return e, in, err
}

// read reads the instructions of a skill, and all its files if their digests are
// asked for, or if it must not be served when one of them may have changed.
func (p *Provider) read(ctx context.Context, e search.Entry, digests bool, a *search.Agent) (in Instructions, err error) {
	sealed, known := e.Sealed != search.Offered, false
	if sealed && !digests {
		in, known = p.readKnown(ctx, &e)
	}
	if !known {
		in, err = p.readAll(ctx, &e, digests || sealed, a)
	}
	if err == nil && !digests {
		in.Digest, in.Files = "", slices.Clone(in.Files)
		for i := range in.Files {
			in.Files[i].SHA256 = ""
		}
	}
	return in, err
}

// readAll reads the instructions of a skill, with the digests of its files if they are asked
// for, and checks that it may be served.
func (p *Provider) readAll(ctx context.Context, e *search.Entry, digests bool, a *search.Agent) (Instructions, error) {
	var unchanged func() bool
	if e.Sealed != search.Offered {
		unchanged = p.reader.Watch(e) // before the files are read
	}
	in, err := p.reader.Instructions(ctx, e, digests)
	if err != nil {
		return Instructions{}, fmt.Errorf("reading skill %s: %w", e.ID, err)
	}
	if err := e.Verify(in.Digest); err != nil {
		return Instructions{}, forAgent(err, a)
	}
	if unchanged != nil && !in.Partial {
		p.seals.keep(e, in.Files, unchanged)
	}
	return in, nil
}

// readKnown reads the instructions of a skill that was found as it must be, if it still is.
func (p *Provider) readKnown(ctx context.Context, e *search.Entry) (in Instructions, ok bool) {
	files, ok := p.seals.find(e)
	if !ok {
		return in, false
	}
	in, err := p.reader.Instructions(ctx, e, false)
	return in, err == nil && has(files, e.File(), &in.Content)
}

// forAgent returns what an agent may know of an error.
func forAgent(err error, a *search.Agent) error {
	if held, ok := errors.AsType[*search.HeldError](err); ok && a != nil {
		return held.ForAgent()
	}
	return err
}

// A File is level 3: one file of a skill.
type File struct {
	ID     string `json:"id"`             // of the skill
	Path   string `json:"path"`           // slash-separated, clean
	Size   int64  `json:"size"`           // of Data
	SHA256 string `json:"sha256"`         // of Data
	Binary bool   `json:"binary"`         // then Text is empty and Data holds it
	Text   string `json:"text,omitempty"` // as in the file, but for invisible characters, which are removed, and line ends
	Data   []byte `json:"-"`              // the bytes of the file

	HiddenChars int `json:"hidden_chars,omitempty"` // invisible characters removed from Text
}

// File returns a file of a skill as it is in its source now. The name is relative to the
// skill's folder, as a SKILL.md writes it, see skill.CleanPath; it may begin with this folder, or with a
// placeholder of clients for it. One that leads out of the folder is an error.
func (p *Provider) File(ctx context.Context, id, name string, a *search.Agent) (File, error) {
	e, err := p.catalog.Lookup(ctx, id, a)
	if err != nil {
		return File{}, err
	}
	name = relativeTo(e.Source, folder(e), name)
	if clean, err := skill.CleanPath(name); err == nil {
		name = clean // the reader refuses any other
	}
	c, err := p.reader.File(ctx, &e, name)
	if errors.Is(err, fs.ErrNotExist) {
		if in, no := p.read(ctx, e, false, a); no == nil {
			if found := find(in.Files, name); found != "" && found != name {
				name = found
				c, err = p.reader.File(ctx, &e, name)
			}
		}
	}
	if err != nil {
		return File{}, fmt.Errorf("reading file of skill %s: %w", e.ID, err)
	}
	if err := p.verify(ctx, &e, name, &c, a); err != nil {
		return File{}, err
	}
	f := File{ID: e.ID, Path: name, Size: int64(len(c.Data)), SHA256: c.SHA256, Binary: c.Binary, Data: c.Data}
	if !c.Binary {
		f.Text, f.HiddenChars = c.text()
	}
	return f, nil
}

// find returns the path of a file by its name: the name, or the only path that is the same name
// in another spelling; "" if there is none.
func find(files []skill.File, name string) string {
	var same []string
	for _, f := range files {
		if f.Path == name {
			return name
		}
		if words.SameName(f.Path, name) {
			same = append(same, f.Path)
		}
	}
	if len(same) != 1 {
		return ""
	}
	return same[0]
}

// verify returns an error if a skill must not be served any more, or if a file of it that
// was just read is none of those for which it is.
func (p *Provider) verify(ctx context.Context, e *search.Entry, name string, c *Content, a *search.Agent) error {
	if e.Sealed == search.Offered {
		return nil
	}
	if files, ok := p.seals.find(e); ok && has(files, name, c) {
		return nil
	}
	in, err := p.read(ctx, *e, true, a)
	if err != nil {
		return err
	}
	if !has(in.Files, name, c) {
		return forAgent(e.Verify(""), a)
	}
	return nil
}
