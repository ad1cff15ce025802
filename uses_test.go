package repertoire_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	ranking "github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// TestUsesDoors: no door of the library has a skill that the rules of an agent leave out or that a
// specialist does not use, and none but its own has a skill that it names by its path.
func TestUsesDoors(t *testing.T) {
	t.Parallel()
	own, _ := folder(t, "own", docs("bread", "tart"))
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "SKILL.md"), doc("brioche", "Does brioche."))
	private, err := source.Dir(dir, &source.Options{Label: "preloaded:x", Kind: source.KindPreloaded, Priority: -1})
	must.Do(t, err)
	c := scanned(t, repertoire.Config{Sources: []source.Source{own, private},
		Policy: &repertoire.Policy{Private: []string{source.KindPreloaded}}})
	sees := []struct {
		agent *repertoire.Agent
		ids   []string
	}{
		{nil, []string{"bread", "tart"}},
		{&repertoire.Agent{Name: "all", Include: repertoire.Rules{Names: []string{"*"}, Sources: []string{"preloaded:x"}}}, []string{"bread", "tart"}},
		{&repertoire.Agent{Name: "one", Uses: []string{"tart"}}, []string{"tart"}},
		{&repertoire.Agent{Name: "own", Uses: []string{"preloaded:x/."}}, []string{"brioche"}},
		{&repertoire.Agent{Name: "both", Uses: []string{"preloaded:x/.", "tart"}, Include: repertoire.Rules{Names: []string{"t*"}}}, []string{"brioche", "tart"}},
		{&repertoire.Agent{Name: "some", Include: repertoire.Rules{Names: []string{"t*"}}}, []string{"tart"}},
		{&repertoire.Agent{Held: true}, []string{"bread", "tart"}},
	}
	for door, ask := range inLibrary {
		if door == "pinned" || door == "twins" { // these ask for others
			continue
		}
		single := slices.Contains([]string{"lookup", "body", "file", "manifest", "outline", "listing"}, door)
		for i, s := range sees {
			for _, id := range []string{"bread", "tart", "brioche"} {
				got, err := ask(t, c, id, s.agent)
				seen := err == nil && strings.Contains(strings.ReplaceAll(got, "what does the "+id, ""), id)
				if door == "listing" {
					seen = err == nil
				}
				if want := slices.Contains(s.ids, id); seen != want && !(door == "snippets" && want) || single && !want && !errors.Is(err, repertoire.ErrNotFound) {
					t.Errorf("%s of %s for agent %d: %q, %v", door, id, i, got, err)
				}
			}
		}
	}
	if n, err := c.Count(t.Context(), nil); n != 2 || err != nil {
		t.Errorf("%d skills, %v", n, err)
	}
	for _, id := range []string{"preloaded:x/.", "preloaded:x/brioche", "brioche"} {
		if b, err := c.Body(t.Context(), id, sees[3].agent); err != nil || b.Folder != resolved(t, dir) {
			t.Errorf("%s is in %s, %v", id, b.Folder, err)
		}
		if _, err := c.Body(t.Context(), id, nil); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s for nobody: %v", id, err)
		}
	}
}

// TestUsesPath: an agent of the configuration names a skill by the path of its folder, and nobody
// else sees that skill.
func TestUsesPath(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	t.Chdir(home)
	own, _ := folder(t, "own", docs("bread"))
	for _, name := range []string{"relative", "absolute", "home"} {
		must.Write(t, filepath.Join(home, "apart", name, "SKILL.md"), doc(name, "Does "+name+"."))
	}
	uses := []string{"bread", "./apart/relative", filepath.Join(home, "apart", "absolute"), "~/apart/home"}
	a := &repertoire.Agent{Name: "a", Uses: uses}
	cfg := repertoire.Config{Sources: []source.Source{own}, Agents: []*repertoire.Agent{a, {Name: "b", Uses: uses[1:2]}}}
	c := scanned(t, cfg)
	want(t, "of nobody", list(t, c, nil, false), "bread")
	want(t, "of the agent", list(t, c, a, false), "absolute", "bread", "home", "relative")
	for _, id := range uses {
		if b, err := c.Body(t.Context(), id, a); err != nil || b.Folder == "" {
			t.Errorf("%s: %+v, %v", id, b, err)
		}
	}
	if _, err := c.Body(t.Context(), uses[1], nil); !errors.Is(err, repertoire.ErrNotFound) {
		t.Errorf("for nobody: %v", err)
	}
	if problems, err := c.Owner().Unmatched(t.Context(), a); len(problems) > 0 || err != nil {
		t.Errorf("problems %v, %v", problems, err)
	}
	open(t, c.Config()) // has the folders once

	a.Uses[1] = "./nowhere"
	cfg.DB, cfg.Schedule = filepath.Join(t.TempDir(), "catalog.db"), repertoire.Never
	if _, err := repertoire.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), filepath.Join(home, "nowhere")) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestHiddenName: no name that the author of a skill chooses takes the place of a skill that an
// agent names by its source.
func TestHiddenName(t *testing.T) {
	t.Parallel()
	own := memory(t, "own", 0, docs("bread"))
	attack := memory(t, "attack", 9, map[string]string{"a/SKILL.md": doc("own/bread", "Does worse.")})
	c := scanned(t, repertoire.Config{Sources: []source.Source{own, attack}})
	for _, a := range []*repertoire.Agent{nil, {Name: "a", Uses: []string{"own/bread"}}} {
		if b, err := c.Body(t.Context(), "own/bread", a); err != nil || b.Source != "own" {
			t.Errorf("own/bread is of %s, %v", b.Source, err)
		}
	}
}

// TestScript: the configuration says how the scripts of a skill run, and trusts no skill of a
// project to have an honest name.
func TestScript(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	for name, value := range map[string]string{"REPERTOIRE_CACHE": filepath.Join(home, "cache"), "REPERTOIRE_CONFIG": filepath.Join(home, "c.yaml"), "REPERTOIRE_DB": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	must.Write(t, filepath.Join(home, "c.yaml"), "bundled: false\nembedder: none\nagents: {a: {uses_skills: ./fetch, script: {output: 9}}}\n"+
		"scripts: [{skills: fetch, timeout: 2m, network: [443]}, {skills: \"*\", executor: bubblewrap}]\n")
	must.Write(t, filepath.Join(home, "fetch", "SKILL.md"), doc("fetch", "Fetches."))
	must.Write(t, filepath.Join(home, "p", ".agents", "skills", "fetch", "SKILL.md"), doc("fetch", "Fetches worse."))
	cfg, err := repertoire.ReadConfig(filepath.Join(home, "p"), nil)
	must.Do(t, err)
	cfg.Schedule = repertoire.Never
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	defer c.Close()
	rescan(t, c)
	a, err := c.Agent("a")
	must.Do(t, err)
	for _, tt := range []struct {
		agent *repertoire.Agent
		want  repertoire.Script
	}{
		{a, repertoire.Script{Executor: "bubblewrap", Timeout: 2 * time.Minute, Output: 9, Network: []int{443}}},
		{nil, repertoire.Script{Executor: "bubblewrap", Timeout: sandbox.DefaultTimeout, Output: sandbox.DefaultOutput}},
	} {
		got, err := c.Script(t.Context(), "fetch", tt.agent)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	if _, err := c.Script(t.Context(), "absent", nil); !errors.Is(err, repertoire.ErrNotFound) {
		t.Errorf("of no skill: %v", err)
	}
	if d := ranking.DefaultScript(); d.Timeout != sandbox.DefaultTimeout || d.Output != sandbox.DefaultOutput {
		t.Errorf("the defaults differ from the sandbox's: %+v", d)
	}
}

// TestScriptOfStrangers: a rule without sources widens nothing for a skill of a source that
// nobody knows any more, as for one of a project.
func TestScriptOfStrangers(t *testing.T) {
	cfg := repertoire.Config{DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never,
		Scripts: []repertoire.ScriptRule{{Skills: []string{"bread"}, Script: repertoire.Script{Network: []int{443}}}}}
	for _, tt := range []struct {
		sources []source.Source
		ports   int
	}{
		{[]source.Source{memory(t, "own", 0, docs("bread"))}, 1},
		{[]source.Source{memory(t, "other", 0, docs("wine"))}, 0}, // before a rescan
	} {
		cfg.Sources = tt.sources
		c := open(t, cfg)
		if tt.ports > 0 {
			rescan(t, c)
		}
		got, err := c.Script(t.Context(), "bread", nil)
		if err != nil || len(got.Network) != tt.ports {
			t.Errorf("%+v, %v", got, err)
		}
		must.Do(t, c.Close())
	}
}
