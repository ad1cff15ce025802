package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

type walkTest struct {
	name   string
	files  map[string]string
	skills []string
	errs   []string
}

func testWalks(t *testing.T, tests []walkTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			paths, errs, _ := walk(t, open(t, folder(t, test.files), nil))
			if diff := cmp.Diff(test.skills, paths); diff != "" {
				t.Errorf("skills (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errs, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWalk(t *testing.T) {
	deep := "a/b/c/d/e/" // depth 5
	testWalks(t, []walkTest{
		{"empty", nil, nil, nil},
		{"sorted", map[string]string{"b/SKILL.md": "", "a/z/SKILL.md": "", "a-b/SKILL.md": ""}, []string{"a-b/SKILL.md", "a/z/SKILL.md", "b/SKILL.md"}, nil},
		{"top folder is the skill", map[string]string{"SKILL.md": "", "docs/Skill.MD": "", "assets/a/SKILL.md": "", deep + "f/g/SKILL.md": ""}, []string{"SKILL.md"}, nil},
		{"skill at the top", map[string]string{"SKILL.md": "", "a/SKILL.md": "", "b/c/SKILL.md": "", "b/Skill.MD": ""},
			[]string{"SKILL.md", "a/SKILL.md", "b/c/SKILL.md"}, []string{"SKILL.md skill-at-top", "b/Skill.MD skill-md-case"}},
		{"nested is content", map[string]string{"a/SKILL.md": "", "a/b/SKILL.md": "", "a/examples/c/SKILL.md": "", "a/assets/d/SKILL.md": ""}, []string{"a/SKILL.md"}, []string{"a/b/SKILL.md skill-in-skill"}},
		{"passed over", map[string]string{"skills/a/SKILL.md": "", "skills/b.md": doc("b"), "skills/README.md": "# Read", "skills/n.md": "---\ndescription: x\n---\n", "skills/c/c.md": "", "skills/d/e/SKILL.md": "", "skills/d/f.md": doc("f"),
			"skills/_lib/x.md": "", "skills/scripts/x.sh": "", "skills/g/Skill.MD": "", "skills/h/": "", "other/i.md": doc("i"), "other/j/j.md": ""},
			[]string{"skills/a/SKILL.md", "skills/d/e/SKILL.md"}, []string{"skills/b.md skill-file", "skills/c no-skill-file", "skills/g/Skill.MD skill-md-case"}},
		{"lower case", map[string]string{"a/skill.md": ""}, []string{"a/skill.md"}, nil},
		{"both cases", map[string]string{"a/skill.md": "", "a/SKILL.md": ""}, []string{"a/SKILL.md"}, nil},
		{"other case", map[string]string{"a/Skill.MD": "", "a/b/SKILL.md": ""}, []string{"a/b/SKILL.md"}, []string{"a/Skill.MD skill-md-case"}},
		{"folder called SKILL.md", map[string]string{"a/SKILL.md/SKILL.md": ""}, []string{"a/SKILL.md/SKILL.md"}, nil},
		{"skipped", map[string]string{".git/a/SKILL.md": "", "x/node_modules/a/SKILL.md": "", ".staging-1/new/a/SKILL.md": "", ".system/a/SKILL.md": ""}, []string{".system/a/SKILL.md"}, nil},
		{"depth 6", map[string]string{deep + "f/SKILL.md": ""}, []string{deep + "f/SKILL.md"}, nil},
		{"depth 7", map[string]string{deep + "f/g/SKILL.md": ""}, nil, []string{". too-deep"}},
		{"no skill", map[string]string{"a/README.md": "", "b/": ""}, nil, nil},
	})
}

func TestWalkLinks(t *testing.T) {
	out := folder(t, map[string]string{
		"one/SKILL.md": doc("one"), "many/x/SKILL.md": "", "many/y/SKILL.md": "", "back/z/SKILL.md": "", "back/up": "-> ..",
	})
	testWalks(t, []walkTest{
		{"skill outside", map[string]string{"a": "-> " + out + "/one"}, []string{"a/SKILL.md"}, nil},
		{"collection outside", map[string]string{"a": "-> " + out + "/many"}, []string{"a/x/SKILL.md", "a/y/SKILL.md"}, nil},
		{"two links to one", map[string]string{"a": "-> " + out + "/one", "b": "-> " + out + "/one"}, []string{"a/SKILL.md"}, []string{"b duplicate-folder"}},
		{"overlap", map[string]string{"a": "-> " + out + "/many/x", "b": "-> " + out + "/many"}, []string{"a/SKILL.md", "b/y/SKILL.md"}, []string{"b/x duplicate-folder"}},
		{"real folder wins over an earlier link", map[string]string{"a": "-> b", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, []string{"a duplicate-folder"}},
		{"into what is skipped", map[string]string{"a": "-> node_modules/a", "node_modules/a/SKILL.md": ""}, []string{"a/SKILL.md"}, nil},
		{"to itself", map[string]string{"a": "-> a", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, []string{"a link-loop"}},
		{"to the source", map[string]string{"x/a": "-> ..", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, []string{"x/a link-loop"}},
		{"to the whole disk", map[string]string{"a": "-> /", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, []string{"a link-loop"}},
		{"above a linked folder", map[string]string{"a": "-> " + out + "/back"}, []string{"a/z/SKILL.md"}, []string{"a/up link-loop"}},
		{"dangling", map[string]string{"a": "-> nowhere", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, []string{"a dangling-link"}},
		{"to a file", map[string]string{"a": "-> b/SKILL.md", "b/SKILL.md": ""}, []string{"b/SKILL.md"}, nil},
	})
}

// A link in a linked folder may lead above the source without leading above
// itself.
func TestWalkLinkAboveSource(t *testing.T) {
	dir := folder(t, map[string]string{"src/b/SKILL.md": "", "x/SKILL.md": ""})
	out := folder(t, map[string]string{"up": "-> " + dir})
	link(t, out, filepath.Join(dir, "src", "a"))
	paths, errs, _ := walk(t, open(t, filepath.Join(dir, "src"), nil))
	if !cmp.Equal(paths, []string{"b/SKILL.md"}) || !cmp.Equal(errs, []string{"a/up link-loop"}) {
		t.Errorf("walk = %v, %v", paths, errs)
	}
}

// A link given as the source itself is followed anew at every walk.
func TestWalkMovedLink(t *testing.T) {
	dir := folder(t, map[string]string{"v1/a/SKILL.md": doc("a"), "v2/b/SKILL.md": doc("b"), "now": "-> v1"})
	s := open(t, filepath.Join(dir, "now"), nil)
	must.Do(t, os.Remove(filepath.Join(dir, "now")))
	link(t, "v2", filepath.Join(dir, "now"))
	paths, errs, _ := walk(t, s)
	if len(errs) > 0 || !cmp.Equal(paths, []string{"b/SKILL.md"}) {
		t.Errorf("walk = %v, %v; want b of the new folder", paths, errs)
	}
}

// brokenFS fails to list one folder.
type brokenFS struct {
	fstest.MapFS
	dir string
	err error
}

func (b brokenFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == b.dir {
		return nil, b.err
	}
	return b.MapFS.ReadDir(name)
}

func TestWalkUnreadable(t *testing.T) {
	files := fstest.MapFS{"a/SKILL.md": {}, "b/SKILL.md": {}, "c/SKILL.md": {}}
	s, err := source.New(brokenFS{files, "b", errors.New("disk on fire")}, nil)
	must.Do(t, err)
	paths, errs, _ := walk(t, s)
	if diff := cmp.Diff([]string{"a/SKILL.md", "c/SKILL.md"}, paths); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b unreadable-folder incomplete"}, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// swapFS replaces folder b by a file as soon as the top has been listed.
type swapFS struct {
	fs.FS
	swap func()
}

func (s swapFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	if name == "." {
		s.swap()
	}
	return entries, err
}

func TestWalkSwapped(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": "", "b/SKILL.md": ""})
	s, err := source.New(swapFS{os.DirFS(dir), func() {
		must.Do(t, os.RemoveAll(filepath.Join(dir, "b")))
		must.Write(t, filepath.Join(dir, "b"), "a file now")
	}}, nil)
	must.Do(t, err)
	paths, errs, _ := walk(t, s)
	if !cmp.Equal(paths, []string{"a/SKILL.md"}) || !cmp.Equal(errs, []string{"b unreadable-folder incomplete"}) {
		t.Errorf("walk = %v, %v", paths, errs)
	}
}

func TestWalkWithoutPermission(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("this user may read everything, or the system has no such permissions")
	}
	dir := folder(t, map[string]string{"a/SKILL.md": "", "b/SKILL.md": ""})
	must.Do(t, os.Chmod(filepath.Join(dir, "b"), 0))
	_, errs, _ := walk(t, open(t, dir, nil))
	if !cmp.Equal(errs, []string{"b unreadable-folder incomplete"}) {
		t.Errorf("errors = %v", errs)
	}
}

func TestWalkSourceGone(t *testing.T) {
	dir := filepath.Join(folder(t, map[string]string{"x/a/SKILL.md": ""}), "x")
	s := open(t, dir, nil)
	must.Do(t, os.RemoveAll(dir))
	paths, errs, _ := walk(t, s)
	if len(paths) > 0 || !cmp.Equal(errs, []string{". away incomplete"}) {
		t.Errorf("walk = %v, %v; want it to be incomplete", paths, errs)
	}
}

// wideFS has empty folders f…, which fstest.MapFS is slow to list and to stat.
type wideFS struct{ fstest.MapFS }

func (w wideFS) Stat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "f") {
		return fs.Stat(fstest.MapFS{name: w.MapFS[name]}, name)
	}
	return w.MapFS.Stat(name)
}

func (w wideFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.HasPrefix(name, "f") {
		return nil, nil
	}
	return w.MapFS.ReadDir(name)
}

func TestWalkTooManyFolders(t *testing.T) {
	testsize.Long(t)
	files := make(fstest.MapFS)
	for i := range 200_000 {
		files[fmt.Sprintf("f%06d", i)] = &fstest.MapFile{Mode: fs.ModeDir}
	}
	files["a/SKILL.md"] = &fstest.MapFile{}
	files["z/SKILL.md"] = &fstest.MapFile{}
	s, err := source.New(wideFS{files}, nil)
	must.Do(t, err)
	paths, errs, _ := walk(t, s)
	if !cmp.Equal(paths, []string{"a/SKILL.md"}) || !cmp.Equal(errs, []string{"f199998 too-many-folders incomplete"}) {
		t.Errorf("walk = %v, %v", paths, errs)
	}
}

func TestWalkInterrupted(t *testing.T) {
	s := open(t, folder(t, map[string]string{"a/SKILL.md": ""}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []string
	for ref, err := range s.Skills(ctx, nil) {
		if ref != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, %v", ref, err)
		}
		got = append(got, describe(t, err))
	}
	if !cmp.Equal(got, []string{". interrupted incomplete"}) {
		t.Errorf("errors = %v", got)
	}
}

func TestWalkFSWithLinks(t *testing.T) {
	s, err := source.New(fstest.MapFS{
		"a/SKILL.md": {}, "b": {Mode: fs.ModeSymlink, Data: []byte("a")},
	}, nil)
	must.Do(t, err)
	paths, errs, _ := walk(t, s)
	if !cmp.Equal(paths, []string{"a/SKILL.md"}) || !cmp.Equal(errs, []string{"b link-not-followed"}) {
		t.Errorf("walk = %v, %v", paths, errs)
	}
}

func TestWalkStops(t *testing.T) {
	s := open(t, folder(t, map[string]string{"a/SKILL.md": "", "b/SKILL.md": ""}), nil)
	n := 0
	for range s.Skills(t.Context(), nil) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d items after break", n)
	}
}

func TestDir(t *testing.T) {
	dir := folder(t, map[string]string{"file": "", "skills/": ""})
	for _, name := range []string{"none", "file"} {
		if _, errs, _ := walk(t, open(t, filepath.Join(dir, name), nil)); !cmp.Equal(errs, []string{". away incomplete"}) {
			t.Errorf("%s: walk = %v, want it to be incomplete", name, errs)
		}
	}
	for _, opts := range []source.Options{
		{MaxFile: -1}, {Names: map[string]string{"a": ""}}, {Names: map[string]string{"": "a"}}, {Names: map[string]string{"a": "x", "a/": "y"}},
	} {
		if _, err := source.Dir(dir, &opts); err == nil {
			t.Errorf("options %+v are accepted", opts)
		}
	}
	if _, err := source.New(nil, nil); err == nil {
		t.Error("a nil file system is accepted")
	}
	s := open(t, filepath.Join(dir, "skills"), &source.Options{Priority: 7})
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "skills"))
	must.Do(t, err)
	if s.Info().Label != "skills" || s.Info().Priority != 7 || s.Info().Root != real {
		t.Errorf("label %q, priority %d, root %q", s.Info().Label, s.Info().Priority, s.Info().Root)
	}
	m, err := source.New(fstest.MapFS{}, nil)
	must.Do(t, err)
	if m.Info().Label != "fs" || m.Info().Root != "" {
		t.Errorf("label %q, root %q", m.Info().Label, m.Info().Root)
	}
}

// TestDirAway: a source on a disk that is not mounted is the same source as when it is,
// and finds its skills as soon as they can be read.
func TestDirAway(t *testing.T) {
	dir := folder(t, map[string]string{"share/team/skills/a/SKILL.md": doc("a"), "deep": "-> share/team", "home/team": "-> ../deep/skills", "loop": "-> loop"})
	path := filepath.Join(dir, "home", "team")
	there := open(t, path, nil).Info()
	must.Do(t, os.Rename(filepath.Join(dir, "share", "team"), filepath.Join(dir, "away")))
	s := open(t, path, nil)
	if s.Info() != there {
		t.Errorf("away: %+v, want %+v", s.Info(), there)
	}
	must.Do(t, os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "share", "team")))
	if paths, errs, _ := walk(t, s); len(errs) > 0 || !cmp.Equal(paths, []string{"a/SKILL.md"}) {
		t.Errorf("back again: %v, %v", paths, errs)
	}
	loop := filepath.Join(dir, "loop")
	if root := open(t, loop, nil).Info().Root; root != loop {
		t.Errorf("a link to itself leads to %s", root)
	}
}
