package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// discover returns the labels of the places, highest priority first.
func discover(t *testing.T, search source.Search) []string {
	t.Helper()
	search.NoBundled = true
	search.Folders = []string{".agents", ".claude", ".codex", ".cursor", ".gemini", ".github", ".opencode"}
	places, err := source.Discover(search)
	must.Do(t, err)
	var labels []string
	last := len(places) + 1
	for _, p := range places {
		labels = append(labels, p.Label)
		if p.Priority != last-1 || !strings.HasPrefix(p.Label, p.Kind+":") || !filepath.IsAbs(p.Path) {
			t.Errorf("%+v after priority %d", p, last)
		}
		last = p.Priority
	}
	if last != 1 {
		t.Errorf("lowest priority %d, want 1: above the bundled skills", last)
	}
	return labels
}

func TestDiscover(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string // below the home's parent
		work  string
		want  []string
	}{
		{"nothing", map[string]string{"home/p/": ""}, "home/p", nil},
		{
			"order of folders",
			map[string]string{
				"p/.opencode/skills/": "", "p/.github/skills/": "", "p/.gemini/skills/": "", "p/.cursor/skills/": "", "p/.codex/skills/": "", "p/.claude/skills/": "", "p/.agents/skills/": "",
				"home/.config/agents/skills/": "", "home/.claude/skills/": "", "home/.agents/skills/": "",
			},
			"p",
			[]string{
				"project:.agents", "project:.claude", "project:.codex", "project:.cursor", "project:.gemini", "project:.github", "project:.opencode",
				"user:.agents", "user:.claude", "user:.config/agents",
			},
		},
		{
			"up to the repository",
			map[string]string{"x/.agents/skills/": "", "x/repo/.git/": "", "x/repo/.agents/skills/": "", "x/repo/a/.claude/skills/": "", "x/repo/a/b/.codex/skills/": ""},
			"x/repo/a/b",
			[]string{"project:.agents", "project:a/b/.codex", "project:a/.claude"},
		},
		{"worktree", map[string]string{"repo/.git": "gitdir: elsewhere", "repo/.agents/skills/": "", "repo/a/": ""}, "repo/a", []string{"project:.agents"}},
		{"nested repository", map[string]string{"x/.git/": "", "x/.agents/skills/": "", "x/a/.git/": "", "x/a/.agents/skills/": "", "x/a/b/.agents/skills/": ""}, "x/a/b", []string{"project:b/.agents", "project:.agents"}},
		{"no repository", map[string]string{"x/.agents/skills/": "", "x/a/.claude/skills/": ""}, "x/a", []string{"project:.claude"}},
		{"home is a repository", map[string]string{"home/.git/": "", "home/.agents/skills/": "", "home/p/.agents/skills/": "", "home/p/q/.agents/skills/": ""}, "home/p/q", []string{"project:.agents", "user:.agents"}},
		{"above home is a repository", map[string]string{".git/": "", ".agents/skills/": "", "home/p/": ""}, "home/p", nil},
		{"work at home", map[string]string{"home/.agents/skills/": "", "home/.claude/skills/": ""}, "home", []string{"user:.agents", "user:.claude"}},
		{"linked twice", map[string]string{"p/.agents/skills/": "", "p/.claude": "-> .agents", "home/.claude/skills": "-> ../../p/.agents/skills"}, "p", []string{"project:.agents"}},
		{"linked working folder", map[string]string{"repo/.git/": "", "repo/.agents/skills/": "", "repo/a/": "", "l": "-> repo/a"}, "l", []string{"project:.agents"}},
		{"files are no places", map[string]string{"p/.agents/skills": "", "p/.claude": ""}, "p", nil},
		{"dangling", map[string]string{"p/.agents": "-> none"}, "p", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, test.files)
			got := discover(t, source.Search{WorkDir: filepath.Join(dir, filepath.FromSlash(test.work)), Home: filepath.Join(dir, "home")})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscoverRoots(t *testing.T) {
	dir := folder(t, map[string]string{"a/skills/": "", "b/skills/": "", "w/skills/": "", "w/.agents/skills/": "", "l": "-> a/skills"})
	search := source.Search{
		WorkDir: filepath.Join(dir, "w"),
		Roots:   []string{filepath.Join(dir, "a", "skills"), filepath.Join(dir, "b", "skills"), "skills", ".agents/skills", filepath.Join(dir, "l")},
	}
	want := []string{"root:skills", "root:b/skills", "root:w/skills", "root:.agents/skills"}
	if diff := cmp.Diff(want, discover(t, search)); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	search.Roots = append(search.Roots, "none")
	places, err := source.Discover(search)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none") || len(places) != 6 || places[4].Label != "root:none" {
		t.Errorf("with a missing root: %+v, %v", places, err)
	}
}

// TestDiscoverOrder: the order of groups decides which skill wins, not whose folder it is.
func TestDiscoverOrder(t *testing.T) {
	dir := folder(t, map[string]string{
		"w/.agents/skills/": "", "w/.claude/skills/": "", "w/named/": "", "home/.agents/skills/": "", "root/": "", "installed/": "", "mine/": "", "far/": "",
	})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	search := source.Search{
		WorkDir: at("w"), Home: at("home"), Installed: at("installed"), Project: []string{at("w/named")},
		Roots: []string{at("root"), at("w/.claude/skills")}, Folders: []string{".agents", ".claude", ".codex"},
		Elsewhere: []string{at("far")},
	}
	named := "project:" + filepath.ToSlash(at("w/named"))
	for _, tt := range []struct {
		order []string
		user  string
		want  string
	}{
		{nil, "", "root:root root:skills installed " + named + " project:.agents user:.agents bundled root:far"},
		{nil, at("mine"), "root:root root:skills installed " + named + " project:.agents user bundled root:far"},
		{[]string{"user", "project-clients", "project"}, "", "user:.agents " + named + " project:.agents root:root root:skills installed bundled root:far"},
		{[]string{"bundled", "user"}, "", "bundled user:.agents root:root root:skills installed " + named + " project:.agents root:far"},
		{[]string{"elsewhere", "user"}, "", "root:far user:.agents root:root root:skills installed " + named + " project:.agents bundled"},
	} {
		search.Order, search.User = tt.order, tt.user
		places, err := source.Discover(search)
		must.Do(t, err)
		var labels []string
		for i, p := range places {
			labels = append(labels, p.Label)
			if p.Priority != len(places)-1-i {
				t.Errorf("%+v: priority of place %d of %d", p, i, len(places))
			}
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("order %v:\n got %s\nwant %s", tt.order, got, tt.want)
		}
	}
	search.User = at("none")
	if _, err := source.Discover(search); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder of the user: error %v", err)
	}
}

func TestDiscoverConfig(t *testing.T) {
	dir := folder(t, map[string]string{"home/.config/agents/skills/": "", "conf/agents/skills/": ""})
	search := source.Search{Home: filepath.Join(dir, "home"), Config: filepath.Join(dir, "conf"), NoBundled: true}
	places, err := source.Discover(search)
	must.Do(t, err)
	at := filepath.Join(dir, "conf", "agents", "skills")
	real, err := filepath.EvalSymlinks(at)
	must.Do(t, err)
	want := []source.Place{{Path: at, Real: real, Label: "user:.config/agents", Priority: 1, Kind: source.KindUser}}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// TestDiscoverMore: more folders of the user come last among his, whether in Home or not, and
// a label is given once.
func TestDiscoverMore(t *testing.T) {
	dir := folder(t, map[string]string{
		"home/.config/agents/skills/": "", "home/.Conf/goose/skills/": "", "home/.claude/skills/": "", "far/skills/": "", "home/.two/skills/": "", "home/.link": "-> .claude",
	})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	search := source.Search{Home: at("home"), More: []source.Folder{
		{Path: at("home/.Conf/goose/skills"), Label: "user:goose"}, {Path: at("home/.none/skills"), Label: "user:none"}, {Path: at("home/.link/skills"), Label: "user:link"},
		{Path: at("far/skills"), Label: "user:far"}, {Path: at("far/none"), Label: "user:gone"}, {Path: at("home/.two/skills"), Label: "user:far"},
	}}
	want := []string{"user:.claude", "user:.config/agents", "user:goose", "user:far", "user:far:" + filepath.ToSlash(at("home/.two/skills"))}
	if diff := cmp.Diff(want, discover(t, search)); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	search.User = at("far")
	if diff := cmp.Diff([]string{"user"}, labels(t, search)); diff != "" {
		t.Errorf("with another folder of the user (-want +got):\n%s", diff)
	}
}

// TestDiscoverAmongMany: a folder that is too long to list, or that may not be listed, hides
// nothing.
func TestDiscoverAmongMany(t *testing.T) {
	dir := folder(t, map[string]string{"w/.agents/skills/": "", "x/.agents/skills/": ""})
	for i := range 600 {
		must.Do(t, os.WriteFile(filepath.Join(dir, "w", fmt.Sprint(i)), nil, 0o600))
	}
	must.Do(t, os.Chmod(filepath.Join(dir, "x"), 0o100))
	defer os.Chmod(filepath.Join(dir, "x"), 0o700)
	for _, name := range []string{"w", "x"} {
		if diff := cmp.Diff([]string{"project:.agents"}, labels(t, source.Search{WorkDir: filepath.Join(dir, name), NoBundled: true})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// labels returns the labels of the places of a search.
func labels(t *testing.T, search source.Search) (list []string) {
	t.Helper()
	search.NoBundled = true
	places, err := source.Discover(search)
	must.Do(t, err)
	for _, p := range places {
		list = append(list, p.Label)
	}
	return list
}

func TestPlaceOpen(t *testing.T) {
	dir := folder(t, map[string]string{".agents/skills/a/SKILL.md": doc("a")})
	places, err := source.Discover(source.Search{WorkDir: dir})
	must.Do(t, err)
	if len(places) != 2 || places[1] != (source.Place{Label: "bundled", Kind: source.KindBundled}) {
		t.Fatalf("places %+v", places)
	}
	for i, want := range []int{1, 0} {
		s, err := places[i].Open(&source.Options{Label: "ignored", Priority: 9})
		must.Do(t, err)
		if info := s.Info(); info.Label != places[i].Label || info.Kind != places[i].Kind || info.Priority != want || (info.Root == "") != (want == 0) {
			t.Errorf("%+v: %+v", places[i], info)
		}
	}
	must.Do(t, os.RemoveAll(dir))
	s, err := places[0].Open(nil)
	must.Do(t, err)
	if paths, errs, _ := walk(t, s); len(paths)+len(errs) > 0 { // a usual place that does not exist is empty
		t.Errorf("deleted place: %v, %v", paths, errs)
	}
}

// TestDiscoverUnreadable: a usual place that exists and cannot be looked at is a place
// all the same, because its skills may come back.
func TestDiscoverUnreadable(t *testing.T) {
	dir := folder(t, map[string]string{"p/.agents/skills": "-> skills", "home/.claude/skills/": ""})
	places, err := source.Discover(source.Search{WorkDir: filepath.Join(dir, "p"), Home: filepath.Join(dir, "home"), Folders: []string{".agents", ".claude"}, NoBundled: true})
	if err == nil || !strings.Contains(err.Error(), "looking for skills in ") {
		t.Errorf("error %v", err)
	}
	if len(places) != 2 || places[0].Label != "project:.agents" || places[1].Label != "user:.claude" {
		t.Errorf("places %+v", places)
	}
}
