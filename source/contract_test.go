package source_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
)

func TestContract(t *testing.T) {
	t.Run("Dir", func(t *testing.T) { sourcetest.TestSource(t, onDisk) })
	t.Run("New", func(t *testing.T) { sourcetest.TestSource(t, inMapFS) })
	t.Run("Files", func(t *testing.T) {
		sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
			s, err := source.Files(files, nil)
			must.Do(t, err)
			return sourcetest.Store{Source: s}
		})
	})
	t.Run("Func", func(t *testing.T) {
		sourcetest.TestSource(t, func(t *testing.T, files map[string]string) sourcetest.Store {
			var mu sync.Mutex
			now := maps.Clone(files)
			change := func(f func()) {
				mu.Lock()
				defer mu.Unlock()
				f()
			}
			s, err := source.Func(func(context.Context) (list map[string]string, err error) {
				change(func() { list = maps.Clone(now) })
				return list, nil
			}, nil)
			must.Do(t, err)
			return sourcetest.Store{
				Source: s,
				Put:    func(_ *testing.T, name, text string) { change(func() { now[name] = text }) },
				Remove: func(_ *testing.T, name string) { change(func() { delete(now, name) }) },
			}
		})
	})
	t.Run("Table", func(t *testing.T) {
		sourcetest.TestSource(t, func(_ *testing.T, files map[string]string) sourcetest.Store {
			s := sourcetest.NewTable("table", files)
			return sourcetest.Store{
				Source: s,
				Put:    func(_ *testing.T, name, text string) { s.Put(name, text) },
				Remove: func(_ *testing.T, name string) { s.Remove(name) },
			}
		})
	})
}

// TestFuncAway: a function that fails is a source that is away, unless the walk was cut off.
func TestFuncAway(t *testing.T) {
	s, err := source.Func(func(ctx context.Context) (map[string]string, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errors.New("no connection")
	}, nil)
	must.Do(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		away bool
	}{{t.Context(), true}, {cancelled, false}} {
		for ref, err := range s.Skills(tt.ctx, nil) {
			if ref != nil || errors.Is(err, source.ErrAway) != tt.away {
				t.Errorf("%v, %v, want away %t", ref, err, tt.away)
			}
		}
	}
	if _, err := source.ReadInstructions(t.Context(), s, "pdf"); err == nil {
		t.Error("a skill of a source that is away was read")
	}
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
			must.Do(t, os.Chtimes(filepath.Join(dir, name), now, now))
		}
	}
	for name := range files {
		touch(t, name)
	}
	return sourcetest.Store{
		Source: open(t, dir, nil),
		Put: func(t *testing.T, name, text string) {
			must.Write(t, filepath.Join(dir, name), text)
			touch(t, name)
			must.Do(t, os.Chtimes(filepath.Join(dir, name), now, now))
		},
		Remove: func(t *testing.T, name string) {
			must.Do(t, os.Remove(filepath.Join(dir, name)))
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
	must.Do(t, err)
	return sourcetest.Store{
		Source: s,
		Put:    func(_ *testing.T, name, text string) { put(name, text) },
		Remove: func(_ *testing.T, name string) { delete(fsys, name) },
	}
}

func TestFilesRefused(t *testing.T) {
	for _, files := range []map[string]string{{"../x": ""}, {"/x": ""}, {"": ""}, {".": ""}, {"a": "", "a/b": ""}, {"a/": ""}} {
		if s, err := source.Files(files, nil); err == nil {
			t.Errorf("%q: %v", files, s)
		}
	}
	files := map[string]string{"a/SKILL.md": doc("a")}
	s, err := source.Files(files, &source.Options{Label: "memory"})
	must.Do(t, err)
	files["a/SKILL.md"] = doc("b")
	if sk := load(t, s, "a/SKILL.md"); sk.Name != "a" || sk.Location != "memory:a/SKILL.md" {
		t.Errorf("%+v", sk.Meta)
	}
}
