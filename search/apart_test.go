package search_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// plugins has two folders and three plugins, all with skills of one name. Two of the plugins are
// one plugin in two clients.
func plugins(t *testing.T) *searchtest.Catalog {
	t.Helper()
	x := searchtest.New(t, nil)
	sync := func(label string, priority int, apart bool, skills ...*skill.Skill) {
		searchtest.SyncSource(t, x, store.Source{Label: label, Root: "/" + label, Priority: priority, Apart: apart}, searchtest.TreeOf(skills...).Refs())
	}
	sync("user:.claude", 9, false, searchtest.Skill("brew", "animal coffee of the user", "body"), searchtest.Skill("solo", "animal alone", "body"))
	sync("project:.claude", 8, false, searchtest.Skill("brew", "animal coffee of the project", "body"))
	sync("plugin:alpha", 7, true, searchtest.Skill("doctor", "animal knits woollen socks", "body"), searchtest.Skill("brew", "animal tea", "body"))
	sync("plugin:beta", 6, true, searchtest.Skill("doctor", "animal irons linen", "body"), searchtest.Skill("only", "animal only", "body"))
	sync("plugin:alpha@codex", 5, true, searchtest.Skill("doctor", "animal knits woollen socks", "body"))
	sync("git:acme/skills", 4, true, searchtest.Skill("doctor", "animal mends roofs", "body"))
	return x
}

// TestApart: skills of one name in several plugins are several skills, each by its full name, and
// what is said of the name holds for all of them.
func TestApart(t *testing.T) {
	t.Parallel()
	x := plugins(t)
	all := []string{"alpha:brew", "alpha:doctor", "beta:doctor", "brew", "git:acme/skills/doctor", "only", "solo"}
	names := func(patterns ...string) search.Rules { return search.Rules{Names: patterns} }
	without := func(ids ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(ids, id) })
	}
	for _, tt := range []struct {
		name   string
		agent  *search.Agent
		want   []string
		pinned []string
	}{
		{"nil", nil, all, nil},
		{"all by the name", &search.Agent{Exclude: names("doctor")}, without("alpha:doctor", "beta:doctor", "git:acme/skills/doctor"), nil},
		{"one by its full name", &search.Agent{Exclude: names("beta:doctor")}, without("beta:doctor"), nil},
		{"capitals", &search.Agent{Exclude: names("BETA:Doctor")}, without("beta:doctor"), nil},
		{"a repository", &search.Agent{Exclude: names("git:acme/skills/doctor")}, without("git:acme/skills/doctor"), nil},
		{"a folder, so the next one shows", &search.Agent{Exclude: names("user:.claude/brew")}, all, nil},
		{"a plugin", &search.Agent{Exclude: names("alpha:*")}, append(without("alpha:brew", "alpha:doctor"), "alpha@codex:doctor"), nil},
		{"the last one of its name", &search.Agent{Include: names("beta:doctor", "alpha:brew")}, []string{"brew", "doctor"}, nil},
		{"pinned by the name", &search.Agent{Pinned: []string{"doctor", "brew"}}, all, []string{"alpha:doctor", "beta:doctor", "git:acme/skills/doctor", "brew"}},
		{"pinned by full names", &search.Agent{Pinned: []string{"beta:doctor", "beta:only", "alpha:brew"}}, all, []string{"beta:doctor", "only", "alpha:brew"}},
		{"used by the name", &search.Agent{Uses: []string{"doctor"}}, []string{"alpha:doctor", "beta:doctor", "git:acme/skills/doctor"}, nil},
		{"used by the full name", &search.Agent{Uses: []string{"beta:doctor"}}, []string{"doctor"}, nil},
	} {
		if tt.agent != nil {
			must.Do(t, tt.agent.Check())
		}
		var got, pinned []string
		list, err := x.List(t.Context(), tt.agent, nil)
		must.Do(t, err)
		for _, e := range list {
			got = append(got, e.ID)
			if again, err := x.Lookup(t.Context(), e.ID, tt.agent); err != nil || again.Location != e.Location {
				t.Errorf("%s: %s is %s, %v; want %s", tt.name, e.ID, again.Location, err, e.Location)
			}
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		found := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Agent: tt.agent}).Hits)
		slices.Sort(found)
		if !slices.Equal(got, tt.want) || !slices.Equal(found, tt.want) {
			t.Errorf("%s: lists %q and finds %q, want %q", tt.name, got, found, tt.want)
		}
		entries, err := x.Pinned(t.Context(), tt.agent)
		must.Do(t, err)
		for _, e := range entries {
			pinned = append(pinned, e.ID)
		}
		if !slices.Equal(pinned, tt.pinned) {
			t.Errorf("%s: pinned %q, want %q", tt.name, pinned, tt.pinned)
		}
	}
}

// TestSeveral: the plain name of several skills finds none, and names all of them.
func TestSeveral(t *testing.T) {
	t.Parallel()
	x := plugins(t)
	_, err := x.Lookup(t.Context(), "doctor", nil)
	r, ok := search.RefusalOf(err)
	if want := []string{"alpha:doctor", "beta:doctor", "git:acme/skills/doctor"}; !ok || !slices.Equal(r.Several, want) || !strings.Contains(err.Error(), "beta:doctor") {
		t.Errorf("%v; want %q", err, want)
	}
	for id, want := range map[string]string{
		"beta:doctor": "irons linen", "plugin:beta/doctor": "irons linen", "alpha@codex:doctor": "knits", "alpha:doctor": "knits",
		"beta:only": "only", "only": "only", "brew": "of the user", "project:.claude/brew": "of the project", "alpha:brew": "tea",
	} {
		if e, err := x.Lookup(t.Context(), id, nil); err != nil || !strings.Contains(e.Description, want) {
			t.Errorf("%s is %q, %v; want %q", id, e.Description, err, want)
		}
	}
	if got := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "animal", Source: "plugin:beta"}).Hits); !slices.Equal(got, []string{"beta:doctor", "only"}) && !slices.Equal(got, []string{"only", "beta:doctor"}) {
		t.Errorf("of one source %q are found, by IDs that do not find them", got)
	}
	for prompt, want := range map[string][]string{
		"/doctor the sheep":            {"alpha:doctor", "beta:doctor", "git:acme/skills/doctor"},
		"/beta:doctor the sheep":       {"beta:doctor"},
		"use the skill Alpha:brew now": {"alpha:brew"},
		"$brew a cup":                  {"brew"},
	} {
		var got []string
		for _, h := range searchtest.Ask(t, x, search.Query{Text: prompt}).Hits {
			if h.Probability == 1 {
				got = append(got, h.ID)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", prompt, got, want)
		}
	}
}

// TestApartAny: whatever sources there are, and whatever part of them an agent sees, each offered
// skill has an ID of its own that finds it and no other one, and its full name does.
func TestApartAny(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 7))
	for range 25 {
		x := searchtest.New(t, nil)
		for n, label := range []string{"home", "plugin:a", "plugin:b", "git:o/r", "work", "work:z"} {
			tree := searchtest.Tree{}
			for range rng.IntN(5) {
				name := string(rune('p' + rng.IntN(3)))
				dir := []string{name, "skills/" + name, name + "-old"}[rng.IntN(3)]
				tree[dir] = searchtest.Skill(name, fmt.Sprintf("animal %d", rng.IntN(3)), "body")
			}
			searchtest.SyncSource(t, x, store.Source{Label: label, Root: "/" + label, Priority: rng.IntN(3), Apart: n%4 != 0}, tree.Refs())
			if rng.IntN(3) == 0 {
				searchtest.Publish(t, x, true) // what follows is in a delta
			}
		}
		agents := []*search.Agent{nil, {Exclude: search.Rules{Names: []string{"a:*"}}}, {Exclude: search.Rules{Names: []string{"home/q", "b:p"}}}, {Include: search.Rules{Sources: []string{"work", "plugin:b"}}}}
		for _, a := range agents {
			checkApart(t, x, a)
		}
	}
}

func checkApart(t *testing.T, x *searchtest.Catalog, a *search.Agent) {
	t.Helper()
	list, err := x.List(t.Context(), a, nil)
	must.Do(t, err)
	plain := make(map[string][]string)
	for _, e := range list {
		plain[e.Name] = append(plain[e.Name], e.ID)
		for _, id := range []string{e.ID, e.FullName()} {
			if got, err := x.Lookup(t.Context(), id, a); err != nil || got.Location != e.Location || got.ID != e.ID {
				t.Errorf("%s is %s of %s, %v; want %s", id, got.ID, got.Location, err, e.Location)
			}
		}
	}
	for name, ids := range plain {
		_, err := x.Lookup(t.Context(), name, a)
		several, _ := errors.AsType[*search.NotFoundError](err)
		if one := slices.Contains(ids, name); one != (err == nil) || !one && len(several.Several) != len(ids) {
			t.Errorf("%s stands for %q: %v", name, ids, err)
		}
	}
}
