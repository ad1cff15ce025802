package source_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

func stampOf(t *testing.T, s *source.FS) string {
	t.Helper()
	_, _, refs := walk(t, s)
	if refs["a/SKILL.md"] == nil {
		t.Fatal("no skill a")
	}
	return refs["a/SKILL.md"].Stamp
}

func TestStamp(t *testing.T) {
	old := time.Now().Add(-30 * time.Minute)
	write := func(name, text string, at time.Time) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, name), text)
			must.Do(t, os.Chtimes(filepath.Join(dir, name), at, at))
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must.Do(t, os.Remove(filepath.Join(dir, name))) }
	}
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		same   bool
	}{
		{"nothing", func(*testing.T, string) {}, true},
		{"other skill", write("b/SKILL.md", "longer", old), true},
		{"below .git", write("a/.git/x", "x", old), true},
		{"time", write("a/SKILL.md", doc("a"), old), false},
		{"time of a deep file", write("a/x/y/z.txt", "z", old), false},
		{"new file", write("a/new.txt", "", old), false},
		{"deleted file", remove("a/x/y/z.txt"), false},
		{"new link", func(t *testing.T, dir string) { link(t, "SKILL.md", filepath.Join(dir, "a", "l")) }, false},
		{"size behind a link", write("b/SKILL.md", "text", time.Now().Add(-time.Hour)), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"a/SKILL.md": doc("a"), "a/x/y/z.txt": "z", "b/SKILL.md": doc("b")}
			if test.name == "size behind a link" {
				files["a/l"] = "-> ../b/SKILL.md"
			}
			dir := folder(t, files)
			s := open(t, dir, nil)
			before := stampOf(t, s)
			if before == "" {
				t.Fatal("no stamp although all files are old")
			}
			test.change(t, dir)
			if after := stampOf(t, s); (after == before) != test.same {
				t.Errorf("stamp %q, then %q; want same: %t", before, after, test.same)
			}
		})
	}
}

// A file that was written just now may be written again at the same time as
// far as its modification time tells.
func TestStampRacy(t *testing.T) {
	for name, at := range map[string]time.Time{"now": time.Now(), "future": time.Now().Add(time.Hour)} {
		dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/x.txt": "x"})
		must.Do(t, os.Chtimes(filepath.Join(dir, "a", "x.txt"), at, at))
		if stamp := stampOf(t, open(t, dir, nil)); stamp != "" {
			t.Errorf("%s: stamp %q, want none", name, stamp)
		}
	}
}

// A time far in the future was set by a wrong clock. It is as good as any, unless another
// file was written just now.
func TestStampFuture(t *testing.T) {
	next := time.Now().Add(365 * 24 * time.Hour)
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/x.txt": "x"})
	touch := func(name string, at time.Time) {
		t.Helper()
		must.Do(t, os.Chtimes(filepath.Join(dir, "a", name), at, at))
	}
	look := func() (source.Trace, string) {
		t.Helper()
		s := open(t, dir, nil)
		_, trace, _ := s.Skill("a")
		return trace, stampOf(t, s)
	}
	for _, name := range []string{"SKILL.md", "x.txt", "."} {
		touch(name, next)
	}
	trace, stamp := look()
	if stamp == "" || !open(t, dir, nil).Unchanged(trace) {
		t.Errorf("stamp %q, trace %+v", stamp, trace)
	}
	touch("x.txt", time.Now())
	if open(t, dir, nil).Unchanged(trace) {
		t.Error("a change is not noticed")
	}
	if trace, stamp := look(); stamp != "" || trace.Stamp != "" {
		t.Errorf("a time just now is hidden by those in the future: stamp %q, trace %+v", stamp, trace)
	}
}

// Times that say nothing, as in embedded file systems and package stores, make
// the stamp depend on the contents.
func TestStampTimeless(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/x.txt": "one"})
	set := func(text string) string {
		path := filepath.Join(dir, "a", "x.txt")
		must.Write(t, path, text)
		must.Do(t, os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)))
		return stampOf(t, open(t, dir, nil))
	}
	if one, two, again := set("one"), set("two"), set("one"); one == "" || one == two || one != again {
		t.Errorf("on disk: stamps %q, %q, %q", one, two, again)
	}
	mem := func(text string) string {
		s, err := source.New(fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}, "a/x.txt": {Data: []byte(text)}}, nil)
		must.Do(t, err)
		return stampOf(t, s)
	}
	if one, two, again := mem("one"), mem("two"), mem("one"); one == "" || one == two || one != again {
		t.Errorf("in memory: stamps %q, %q, %q", one, two, again)
	}
}

// What decides how a skill loads is part of its stamp.
func TestStampOptions(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a")})
	seen := make(map[string]bool)
	for _, opts := range []source.Options{{}, {Label: "x"}, {Names: map[string]string{"a": "b"}}, {Names: map[string]string{"a": "c"}}} {
		seen[stampOf(t, open(t, dir, &opts))] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d different stamps, want 4", len(seen))
	}
}
