package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// edited edits a file with this text and returns what it is then, or the error, in which
// FILE stands for its name.
func edited(t *testing.T, text string, change func(*config.Editor) error) (after, problem string) {
	t.Helper()
	home := t.TempDir()
	setHome(t, home)
	name := filepath.Join(home, "repertoire", "config.yaml")
	if text != "" {
		must.Write(t, name, text)
	}
	e, err := config.Edit(name)
	if err == nil {
		err = change(e)
	}
	if err == nil {
		err = e.Save()
	}
	data, readErr := os.ReadFile(name)
	if err == nil {
		must.Do(t, readErr)
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("permissions %v, %v", info.Mode(), err)
		}
	} else if string(data) != text {
		t.Errorf("in spite of an error the file became\n%s", data)
	}
	if err != nil {
		problem = strings.ReplaceAll(err.Error(), name, "FILE")
	}
	return string(data), problem
}

func TestEditDisabled(t *testing.T) {
	name := func(text string) config.Rule { return config.Rule{Kind: config.KindName, Text: text} }
	tag := config.Rule{Kind: config.KindTag, Text: "t"}
	disable := func(r config.Rule, in config.Scope) func(*config.Editor) error {
		return func(e *config.Editor) error { _, err := e.Disable(r, in); return err }
	}
	enable := func(r config.Rule, in config.Scope) func(*config.Editor) error {
		return func(e *config.Editor) error { _, err := e.Enable(r, in); return err }
	}
	agent, project := config.Scope{Agent: "a"}, config.Scope{Project: "/p"}
	for _, tt := range []struct {
		name, before string
		change       func(*config.Editor) error
		after        string
	}{
		{"no file", "", disable(name("x"), config.Scope{}), "disabled:\n  - x\n"},
		{"list", "disabled: [y] # why\n", disable(name("x"), config.Scope{}), "disabled: [y, x] # why\n"},
		{"already", "disabled: [X] # why\n", disable(name("x"), config.Scope{}), "disabled: [X] # why\n"},
		{"already by a pattern", "disabled: \"x*\"\n", disable(name("xy"), config.Scope{}), "disabled: \"x*\"\n"},
		{"mapping", "disabled:\n  # c\n  names: [y]\n", disable(name("x"), config.Scope{}), "disabled:\n  # c\n  names: [y, x]\n"},
		{"tag", "", disable(tag, config.Scope{}), "disabled:\n  tags:\n    - t\n"},
		{"tag beside names", "disabled: [y] # c\n", disable(tag, config.Scope{}), "disabled: {names: [y], tags: [t]} # c\n"},
		{"tag beside lines", "disabled: # c\n  - y # d\n", disable(tag, config.Scope{}), "disabled: # c\n  tags:\n    - t\n  names:\n  - y # d\n"},
		{"agent", "agents:\n  a: {} # c\n", disable(name("x"), agent), "agents:\n  a: {exclude: {names: [x]}} # c\n"},
		{"agent with lines", "agents:\n  a: # c\n    pinned: [z]\n", disable(tag, agent), "agents:\n  a: # c\n    exclude:\n      tags:\n        - t\n    pinned: [z]\n"},
		{"project", "user: true\n", disable(name("x"), project), "user: true\nprojects:\n  /p:\n    disabled:\n      - x\n"},
		{"project that is there", "projects:\n  /q/../p: {disabled: y}\n", disable(name("x"), project), "projects:\n  /q/../p: {disabled: [y, x]}\n"},
		{"enable", "disabled: # c\n  - x # why\n  # d\n  - y\n", enable(name("x"), config.Scope{}), "disabled: # c\n  # d\n  - y\n"},
		{"enable twice", "disabled: [x, y, X]\n", enable(name("x"), config.Scope{}), "disabled: [y]\n"},
		{"enable the last", "disabled: x\n", enable(name("x"), config.Scope{}), "disabled: []\n"},
		{"enable what is not", "disabled: [abc]\n", enable(name("x"), config.Scope{}), "disabled: [abc]\n"},
		{"enable a tag", "disabled: {tags: [t, u]}\n", enable(tag, config.Scope{}), "disabled: {tags: [u]}\n"},
		{"enable for an agent", "agents:\n  a:\n    exclude:\n      names:\n      - x\n", enable(name("x"), agent), "agents:\n  a:\n    exclude:\n      names: []\n"},
		{"enable in a project", "disabled: [x]\nprojects: {/p: {disabled: [x]}}\n", enable(name("x"), project), "disabled: [x]\nprojects: {/p: {disabled: []}}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problem := edited(t, tt.before, tt.change)
			if problem != "" || got != tt.after {
				t.Errorf("error %q, text\n%s\nwant\n%s", problem, got, tt.after)
			}
		})
	}
	for _, tt := range []struct {
		name, before string
		change       func(*config.Editor) error
		want         string
	}{
		{"mistake", "user: maybe\n", disable(name("x"), config.Scope{}), "FILE:1: expected true or false, not \"maybe\""},
		{"unknown agent", "agents: {b: {}}\n", disable(name("x"), agent), "FILE has no agent \"a\"; did you mean b?"},
		{"pinned", "agents: {a: {pinned: [x]}}\n", disable(name("x"), agent), "FILE: left as it is: agent a: pinned: skill \"x\" is excluded too; remove one of the two"},
		{"bad pattern", "", disable(name("[x"), config.Scope{}), "FILE: left as it is: disabled: \"[x\" is not a pattern (* ? [a-z] and \\ are special)"},
		{"by a pattern", "disabled: [\n  \"x*\"]\n", enable(name("xy"), config.Scope{}), "FILE:2: xy is disabled by a pattern that matches other names too; change that line by hand"},
		{"misspelt", "disabled: [deploy]\n", enable(name("deplyo"), config.Scope{}), "deplyo is not disabled in FILE; did you mean deploy?"},
		{"not indented", "disabled:\n- y\n", disable(tag, config.Scope{}), "FILE:2: the list disabled is not indented; write its names as disabled: {names: […]}"},
		{"text of lines", "disabled: >-\n  y\n", disable(name("x"), config.Scope{}), "FILE:1: it is a text of several lines; write by hand: disabled: [x]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, problem := edited(t, tt.before, tt.change); problem != tt.want {
				t.Errorf("\n got %s\nwant %s", problem, tt.want)
			}
		})
	}
}

func TestEditRoots(t *testing.T) {
	add := func(address string, change func(*config.Root)) func(*config.Editor) error {
		return func(e *config.Editor) error {
			r, err := config.NewRoot(address, false)
			must.Do(t, err)
			if change != nil {
				change(&r)
			}
			_, _, err = e.AddRoot(r)
			return err
		}
	}
	remove := func(name string) func(*config.Editor) error {
		return func(e *config.Editor) error { _, err := e.RemoveRoot(name); return err }
	}
	const some = "roots:\n  - /a/skills # mine\n  - {git: \"https://h/t/skills.git\"}\n  - path: /b/skills\n    label: b\n"
	for _, tt := range []struct {
		name, before string
		change       func(*config.Editor) error
		after        string
	}{
		{"folder", "", add("/x", nil), "roots:\n  - /x\n"},
		{"folder with a label", "roots: []\n", add("/x", func(r *config.Root) { r.Label = "l" }), "roots: [{path: /x, label: l}]\n"},
		{"repository", some, add("https://github.com/o/r", func(r *config.Root) { r.Ref, r.Sub = "v1.0", "s" }),
			some + "  - {git: \"https://github.com/o/r\", ref: v1.0, path: s}\n"},
		{"archive", some, add("https://h/x.zip", func(r *config.Root) { r.Fetch, r.Trusted = "@daily", true }),
			some + "  - {url: \"https://h/x.zip\", fetch: \"@daily\", trusted: true}\n"},
		{"there already", some, add("/b/skills", nil), some},
		{"repository that is there", some, add("https://h/t/skills.git", nil), some},
		{"remove by label", some, remove("b"), "roots:\n  - /a/skills # mine\n  - {git: \"https://h/t/skills.git\"}\n"},
		{"remove by URL", some, remove("https://h/t/skills.git"), "roots:\n  - /a/skills # mine\n  - path: /b/skills\n    label: b\n"},
		{"remove by its label", some, remove("git:t/skills"), "roots:\n  - /a/skills # mine\n  - path: /b/skills\n    label: b\n"},
		{"remove by path", some, remove("/a/skills"), "roots:\n  - {git: \"https://h/t/skills.git\"}\n  - path: /b/skills\n    label: b\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problem := edited(t, tt.before, tt.change)
			if problem != "" || got != tt.after {
				t.Errorf("error %q, text\n%s\nwant\n%s", problem, got, tt.after)
			}
		})
	}
	for want, change := range map[string]func(*config.Editor) error{
		"FILE has no root \"c\"; did you mean b?":                                           remove("c"),
		"FILE:4: label \"b\" is that of another root; choose another one":                   add("/x", func(r *config.Root) { r.Label = "b" }),
		"FILE: left as it is: roots: \"-x\": it is not the name of a branch, tag or commit": add("https://h/x.git", func(r *config.Root) { r.Ref = "-x" }),
	} {
		if _, problem := edited(t, some, change); problem != want {
			t.Errorf("\n got %s\nwant %s", problem, want)
		}
	}
}

// TestNewRoot: what a person types is a folder, a repository or an archive.
func TestNewRoot(t *testing.T) {
	for address, want := range map[string]string{
		"/x": "path", "https://github.com/o/r": "git", "https://github.com/o/r/": "git", "https://github.com/o/r/archive/main.zip": "url",
		"https://h/x.git": "git", "git@h:o/r": "git", "ssh://h/r": "git", "file:///srv/r": "git", "https://h/x": "url", "https://h/skills.tar.gz": "url",
		"https://h/o/r/tree/f/x/skills": "git", "https://h/o/r/-/blob/main/x/SKILL.md": "git", "https://h/o/r/raw/main/x": "url", "git@h:o/r#v1": "git",
		"github.com/o/r": "git", "h.example/o/r/tree/f/x": "git", "none/r": "path", "../config": "path",
		"ftp://h/x": "error", "https://": "error", "github.com/o/r@pdf": "error",
	} {
		r, err := config.NewRoot(address, false)
		got := map[string]string{r.Path: "path", r.Git: "git", r.URL: "url"}
		delete(got, "")
		for kind := range got {
			address = got[kind]
		}
		if err != nil {
			address = "error"
		}
		if address != want {
			t.Errorf("%+v is %s, want %s, error %v", r, address, want, err)
		}
	}
}

// TestNewRootGit: with --git, a page without https:// is still that page, and not the whole repository.
func TestNewRootGit(t *testing.T) {
	for address, want := range map[string]string{"raw.githubusercontent.com/o/r/main/skills/pdf/SKILL.md": "https://raw.githubusercontent.com/o/r/main/skills/pdf/SKILL.md", "o/r": "https://github.com/o/r"} {
		if r, err := config.NewRoot(address, true); err != nil || r.Git != want {
			t.Errorf("%s is %+v, %v", address, r, err)
		}
	}
}

// TestEditRace: what somebody else writes meanwhile is not lost.
func TestEditRace(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	name := filepath.Join(home, "config.yaml")
	e, err := config.Edit(name)
	must.Do(t, err)
	if _, err := e.Disable(config.Rule{Kind: config.KindName, Text: "x"}, config.Scope{}); err != nil {
		t.Fatal(err)
	}
	must.Write(t, name, "user: false\n")
	if err := e.Save(); err == nil || !strings.HasSuffix(err.Error(), "somebody else has just changed it; try again") {
		t.Errorf("error %v", err)
	}
	data, err := os.ReadFile(name)
	if must.Do(t, err); string(data) != "user: false\n" {
		t.Errorf("the file became %q", data)
	}
}

// FuzzParse: reading a configuration never panics, and what is read can be shown and
// edited without losing it.
func FuzzParse(f *testing.F) {
	f.Add("roots: [{git: \"https://x/y\", ref: a}]\ndisabled: {tags: [t]}\nprojects: {/p: {disabled: x}}\n")
	f.Add("trust: {project: ask}\nschedule: TZ=0\nusage: {prompts: true}\nlimits: {files: 3}\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(dir, "config.yaml")
		must.Write(t, name, text)
		before := config.Default()
		if before.ReadUser(name) != nil {
			return
		}
		config.Show(before, nil)
		e, err := config.Edit(name)
		must.Do(t, err)
		rule := config.Rule{Kind: config.KindName, Text: "some-new-name"}
		if place, err := e.Disable(rule, config.Scope{}); err != nil || place.Line > 0 {
			return
		}
		must.Do(t, e.Save())
		after := config.Default()
		must.Do(t, after.ReadUser(name))
		if len(after.Disabled) != len(before.Disabled)+1 {
			t.Errorf("%q: disabled %v, then %v", text, before.Disabled, after.Disabled)
		}
		before.Disabled, after.Disabled = nil, nil
		if diff := cmp.Diff(before, after, withoutPlaces); diff != "" {
			t.Errorf("%q after %s: (-before +after)\n%s", text, rule.Text, diff)
		}
	})
}
