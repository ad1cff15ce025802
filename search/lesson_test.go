package search_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
)

// learning returns a catalog whose use has taught something, and its encoder.
func learning(t *testing.T, learned func(agent, model string) []search.Lesson) (*searchtest.Catalog, *searchtest.Embedder) {
	t.Helper()
	encoder := &searchtest.Embedder{Name: "encoder"}
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), &searchtest.Embedder{},
		&searchtest.Options{Index: index.Options{Contextual: encoder}, Search: search.Options{Learned: learned}})
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("grape", "Sorts fruit by its weight", "weigh it, then put it in a bowl"),
		searchtest.Skill("apple", "Sorts fruit by its colour", "look at it, then put it in a basket"),
		searchtest.Skill("stone", "Washes pebbles in a river", "hold them under water, all of them")).Refs())
	searchtest.Embed(t, x)
	must.Do(t, x.Index.Contextual.Embed(t.Context(), nil))
	searchtest.Publish(t, x, true)
	return x, encoder
}

// term returns a term of a hit's score; zero if it has none.
func term(h *search.Hit, name string) rank.Term {
	if i := slices.IndexFunc(h.Terms, func(t rank.Term) bool { return t.Name == name }); i >= 0 {
		return h.Terms[i]
	}
	return rank.Term{}
}

// TestSink: a skill that is offered in vain ranks below one that fits about as well, in the scope in
// which it is, and a clear winner stays one.
func TestSink(t *testing.T) {
	t.Parallel()
	x, _ := learning(t, func(agent, model string) []search.Lesson {
		if agent != "" || model != "encoder" {
			return nil
		}
		return []search.Lesson{{ID: "apple", Sink: 1}, {ID: "grape", Location: "/b/grape/SKILL.md", Sink: 1}, {ID: "gone", Sink: 1}}
	})
	const both = "sorts the fruit"
	somebody := &search.Agent{Name: "somebody"}
	if a := searchtest.Ask(t, x, search.Query{Text: both, Agent: somebody}); a.Hits[0].ID != "apple" || a.Hits[0].Score-a.Hits[1].Score > .05 {
		t.Fatalf("elsewhere %v", searchtest.IDs(a.Hits))
	}
	a := searchtest.Ask(t, x, search.Query{Text: both})
	if got := searchtest.IDs(a.Hits); got[0] != "grape" || got[1] != "apple" || term(&a.Hits[1], "rarely read") != (rank.Term{Name: "rarely read", Value: 1, Weight: -.08}) || term(&a.Hits[0], "rarely read").Value != 0 {
		t.Errorf("%v, %+v", got, a.Hits[1].Terms)
	}
	if got := searchtest.Found(t, x, "sorts fruit by its colour"); got[0] != "apple" {
		t.Errorf("a clear winner sinks: %v", got)
	}
	e, err := x.Why(t.Context(), "apple", search.Query{Text: both})
	if err != nil || term(&e.Hit, "rarely read").Value != 1 || e.Rank != 2 {
		t.Errorf("why says %+v, rank %d, %v", e.Terms, e.Rank, err)
	}
}

// TestLearned: a prompt that is like others after which a skill was read finds it, in the scope in which it
// was read, unless it is a trial.
func TestLearned(t *testing.T) {
	t.Parallel()
	example := (&searchtest.Embedder{}).Vector("who owes money to whom")
	x, _ := learning(t, func(agent, model string) []search.Lesson {
		if agent != "keeper" || model != "encoder" {
			return nil
		}
		return []search.Lesson{{ID: "stone", Examples: [][]byte{store.PackVector(example)}}, {ID: "gone", Examples: [][]byte{store.PackVector(example)}}}
	})
	q := search.Query{Text: "who owes money today"}
	for _, c := range []struct {
		agent *search.Agent
		trial bool
		want  bool
	}{
		{nil, false, false},
		{&search.Agent{Name: "other"}, false, false},
		{&search.Agent{Name: "keeper"}, true, false},
		{&search.Agent{Name: "keeper", Exclude: search.Rules{Names: []string{"stone"}}}, false, false},
		{&search.Agent{Name: "keeper"}, false, true},
	} {
		q.Agent, q.Trial = c.agent, c.trial
		a := searchtest.Ask(t, x, q)
		is := func(h search.Hit) bool { return h.ID == "stone" && term(&h, "example").Value > .3 }
		if got := slices.ContainsFunc(a.Hits, is); got != c.want || c.want && a.Hits[0].ID != "stone" {
			t.Errorf("agent %+v, trial %t: %v, an example counts: %t", c.agent, c.trial, searchtest.IDs(a.Hits), got)
		}
	}
	e, err := x.Why(t.Context(), "stone", search.Query{Text: q.Text, Agent: &search.Agent{Name: "keeper"}})
	if err != nil || !e.Learned || term(&e.Hit, "example").Weight <= 0 {
		t.Errorf("why says %+v, learned %t, %v", e.Terms, e.Learned, err)
	}
}
