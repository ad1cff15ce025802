package sourcetest

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Table is a source that works like a database: rows of files with versions. It
// uses nothing of package source's file systems, to show what another kind of source
// must do itself.
type Table struct {
	label string

	mu   sync.Mutex // guards the fields below
	rows map[string]row
	last int // version
}

type row struct {
	text    string
	version int
}

// NewTable returns a table of files; the keys are paths.
func NewTable(label string, files map[string]string) *Table {
	s := &Table{label: label, rows: make(map[string]row)}
	for name, text := range files {
		s.Put(name, text)
	}
	return s
}

// Put adds or replaces a file.
func (s *Table) Put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.rows[name] = row{text, s.last}
}

// Remove removes a file.
func (s *Table) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, name)
}

// files returns the rows of a skill by path in its folder, and these paths sorted. A skill at
// the top lacks the files of the others.
func (s *Table) files(dir string) (map[string]row, []string) {
	folders := s.folders()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]row)
	for name, r := range s.rows {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, ok = name, !slices.ContainsFunc(folders, func(d string) bool { return strings.HasPrefix(name, d+"/") })
		}
		if ok {
			found[rest] = r
		}
	}
	return found, slices.Sorted(maps.Keys(found))
}

// folders returns the folders of the skills. A skill below another one is part of it. Below
// the top only those in scripts, references and assets are.
func (s *Table) folders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	_, top := s.rows["SKILL.md"]
	if top {
		list = append(list, ".")
	}
	for _, name := range slices.Sorted(maps.Keys(s.rows)) {
		dir, ok := strings.CutSuffix(name, "/SKILL.md")
		first, _, _ := strings.Cut(name, "/")
		part := top && slices.Contains([]string{"scripts", "references", "assets"}, first)
		if ok && !part && !slices.ContainsFunc(list, func(d string) bool { return strings.HasPrefix(dir, d+"/") }) {
			list = append(list, dir)
		}
	}
	return list
}

// Info describes the table.
func (s *Table) Info() source.Info { return source.Info{Label: s.label} }

// Skills finds the skills, in the order of their folders.
func (s *Table) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		all := s.listed()
		var traces []source.Trace
		for _, dir := range s.folders() {
			ref, t, ok := s.Skill(dir)
			if traces = append(traces, t); ok && !yield(ref, nil) {
				return
			}
		}
		if trace != nil {
			trace(source.Trace{Dir: ".", Stamp: all})
			for _, t := range traces {
				trace(t)
			}
		}
	}
}

// Skill returns the skill in a folder. Its stamp is made of its files' versions.
func (s *Table) Skill(dir string) (*skill.Ref, source.Trace, bool) {
	if !slices.Contains(s.folders(), dir) {
		return nil, source.Trace{}, false
	}
	stamp := s.stampOf(dir)
	load := func() (*skill.Skill, error) { return source.Load(context.Background(), s, dir) }
	return &skill.Ref{Path: path.Join(dir, "SKILL.md"), Stamp: stamp, Load: load}, source.Trace{Dir: dir, Skill: true, Stamp: stamp}, true
}

// listed is the stamp of the list of skills.
func (s *Table) listed() string { return fmt.Sprint(s.folders()) }

// stampOf returns the versions of a skill's files.
func (s *Table) stampOf(dir string) string {
	var b strings.Builder
	rows, names := s.files(dir)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %d\n", name, rows[name].version)
	}
	return b.String()
}

// Unchanged compares versions.
func (s *Table) Unchanged(t source.Trace) bool {
	stamp := s.listed()
	if t.Skill {
		stamp = s.stampOf(t.Dir)
	}
	return t.Stamp != "" && stamp == t.Stamp
}

// List lists the rows of a skill.
func (s *Table) List(ctx context.Context, dir string) (source.Listing, error) {
	var l source.Listing
	if err := ctx.Err(); err != nil {
		return l, err
	}
	if !slices.Contains(s.folders(), dir) {
		return l, fs.ErrNotExist
	}
	rows, names := s.files(dir)
	for _, name := range names {
		l.Files = append(l.Files, skill.File{Path: name, Size: int64(len(rows[name].text))})
	}
	return l, nil
}

// Open opens the text of a row.
func (s *Table) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, _ := s.files(dir)
	r, ok := rows[name]
	if !ok || !slices.Contains(s.folders(), dir) {
		return nil, fs.ErrNotExist
	}
	return fstest.MapFS{name: {Data: []byte(r.text)}}.Open(name)
}

// ListedBy returns the source files with the skills of list, for a source that lists none.
func ListedBy(list, files source.Source) source.Source { return listed{files, list} }

type listed struct {
	source.Source
	list source.Source
}

func (l listed) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return l.list.Skills(ctx, trace)
}

func (l listed) Skill(dir string) (*skill.Ref, source.Trace, bool) { return l.list.Skill(dir) }

func (l listed) Unchanged(t source.Trace) bool { return l.list.Unchanged(t) }
