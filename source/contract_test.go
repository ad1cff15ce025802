package source_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

func TestContract(t *testing.T) {
	t.Run("Dir", func(t *testing.T) { sourcetest.TestSource(t, onDisk) })
	t.Run("New", func(t *testing.T) { sourcetest.TestSource(t, inMapFS) })
	t.Run("Files", func(t *testing.T) {
		sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
			s, err := source.Files(files, nil)
			try(t, err)
			return sourcetest.Store{Source: s}
		})
	})
	t.Run("Table", func(t *testing.T) {
		sourcetest.TestSource(t, func(_ *testing.T, files map[string]string) sourcetest.Store {
			s := &table{rows: make(map[string]row)}
			for name, text := range files {
				s.put(name, text)
			}
			return sourcetest.Store{
				Source: s,
				Put:    func(_ *testing.T, name, text string) { s.put(name, text) },
				Remove: func(_ *testing.T, name string) { s.remove(name) },
			}
		})
	})
}

// onDisk is a folder whose files are old enough for a stamp, each change at a time
// of its own.
func onDisk(t *testing.T, files map[string]string) sourcetest.Store {
	dir := folder(t, files)
	now := time.Now().Add(-time.Hour)
	touch := func(t *testing.T, name string) {
		now = now.Add(time.Minute)
		for name != "." {
			name = path.Dir(name)
			try(t, os.Chtimes(filepath.Join(dir, name), now, now))
		}
	}
	for name := range files {
		touch(t, name)
	}
	return sourcetest.Store{
		Source: open(t, dir, nil),
		Put: func(t *testing.T, name, text string) {
			writeFile(t, filepath.Join(dir, name), text)
			touch(t, name)
			try(t, os.Chtimes(filepath.Join(dir, name), now, now))
		},
		Remove: func(t *testing.T, name string) {
			try(t, os.Remove(filepath.Join(dir, name)))
			touch(t, name)
		},
	}
}

func inMapFS(t *testing.T, files map[string]string) sourcetest.Store {
	fsys := make(fstest.MapFS)
	put := func(name, text string) { fsys[name] = &fstest.MapFile{Data: []byte(text)} }
	for name, text := range files {
		put(name, text)
	}
	s, err := source.New(fsys, nil)
	try(t, err)
	return sourcetest.Store{
		Source: s,
		Put:    func(_ *testing.T, name, text string) { put(name, text) },
		Remove: func(_ *testing.T, name string) { delete(fsys, name) },
	}
}

// A table is a source as a database would be one: rows of files with versions. It
// has nothing from the sources of file systems.
type table struct {
	mu   sync.Mutex // guards what follows
	rows map[string]row
	last int // version
}

type row struct {
	text    string
	version int
}

func (s *table) put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.rows[name] = row{text, s.last}
}

func (s *table) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, name)
}

// below returns the rows of a folder, by path in it, and the paths in order.
func (s *table) below(dir string) (map[string]row, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]row)
	for name, r := range s.rows {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			found[rest] = r
		}
	}
	return found, slices.Sorted(maps.Keys(found))
}

// folders returns the folders of the skills. One below another is a part of it.
func (s *table) folders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.rows)) {
		dir, ok := strings.CutSuffix(name, "/SKILL.md")
		if ok && !slices.ContainsFunc(list, func(d string) bool { return strings.HasPrefix(dir, d+"/") }) {
			list = append(list, dir)
		}
	}
	return list
}

func (s *table) Info() source.Info { return source.Info{Label: "table", Priority: 3} }

func (s *table) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		all := s.stampOf(".")
		var traces []source.Trace
		for _, dir := range s.folders() {
			ref, t, ok := s.Skill(dir)
			if traces = append(traces, t); ok && !yield(ref, nil) {
				return
			}
		}
		if trace != nil {
			trace(source.Trace{Dir: ".", Full: true, Stamp: all})
			for _, t := range traces {
				trace(t)
			}
		}
	}
}

func (s *table) Skill(dir string) (*skill.Ref, source.Trace, bool) {
	if !slices.Contains(s.folders(), dir) {
		return nil, source.Trace{}, false
	}
	stamp := s.stampOf(dir)
	load := func() (*skill.Skill, error) { return source.Load(context.Background(), s, dir) }
	return &skill.Ref{Path: dir + "/SKILL.md", Stamp: stamp, Load: load}, source.Trace{Dir: dir, Skill: true, Full: true, Stamp: stamp}, true
}

// stampOf tells the versions of a skill's files, and of the top, which are skills.
func (s *table) stampOf(dir string) string {
	if dir == "." {
		return fmt.Sprint(s.folders())
	}
	var b strings.Builder
	rows, names := s.below(dir)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %d\n", name, rows[name].version)
	}
	return b.String()
}

func (s *table) Unchanged(t source.Trace) bool { return t.Stamp != "" && s.stampOf(t.Dir) == t.Stamp }

func (s *table) List(ctx context.Context, dir string) (source.Listing, error) {
	var l source.Listing
	if err := ctx.Err(); err != nil {
		return l, err
	}
	if !slices.Contains(s.folders(), dir) {
		return l, fs.ErrNotExist
	}
	rows, names := s.below(dir)
	for _, name := range names {
		l.Files = append(l.Files, skill.File{Path: name, Size: int64(len(rows[name].text))})
	}
	return l, nil
}

func (s *table) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, _ := s.below(dir)
	r, ok := rows[name]
	if !ok || !slices.Contains(s.folders(), dir) {
		return nil, fs.ErrNotExist
	}
	return &cell{Reader: bytes.NewReader([]byte(r.text)), name: path.Base(name)}, nil
}

// A cell is an open file of a table, and its own description.
type cell struct {
	*bytes.Reader
	name string
}

func (c *cell) Stat() (fs.FileInfo, error) { return c, nil }
func (c *cell) Close() error               { return nil }
func (c *cell) Name() string               { return c.name }
func (c *cell) Mode() fs.FileMode          { return 0o444 }
func (c *cell) ModTime() time.Time         { return time.Time{} }
func (c *cell) IsDir() bool                { return false }
func (c *cell) Sys() any                   { return nil }

func TestFilesRefused(t *testing.T) {
	for _, files := range []map[string]string{{"../x": ""}, {"/x": ""}, {"": ""}, {".": ""}, {"a": "", "a/b": ""}, {"a/": ""}} {
		if s, err := source.Files(files, nil); err == nil {
			t.Errorf("%q: %v", files, s)
		}
	}
	files := map[string]string{"a/SKILL.md": doc("a")}
	s, err := source.Files(files, &source.Options{Label: "memory"})
	try(t, err)
	files["a/SKILL.md"] = doc("b")
	if sk := load(t, s, "a/SKILL.md"); sk.Name != "a" || sk.Location != "memory:a/SKILL.md" {
		t.Errorf("%+v", sk.Meta)
	}
}
