package search_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// leave makes a source away that was there.
func leave(t *testing.T, x *searchtest.Catalog, src store.Source) {
	t.Helper()
	gone := func(yield func(*skill.Ref, error) bool) { yield(nil, fmt.Errorf("%s: %w", src.Root, source.ErrAway)) }
	if r := searchtest.SyncSource(t, x, src, iter.Seq2[*skill.Ref, error](gone)); !r.Away {
		t.Fatalf("report %+v", r)
	}
}

// TestAway: of skills in sources that are away, the first of each name is listed as away,
// and the others as shadowed by it. Explanations and pins say what it is.
func TestAway(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	first, second := store.Source{Label: "first", Root: "/1", Priority: 2}, store.Source{Label: "second", Root: "/2", Priority: 1}
	for _, src := range []store.Source{first, second} {
		tree := searchtest.TreeOf(searchtest.Skill("pdf", "animal forms of "+src.Label, "body"))
		searchtest.SyncSource(t, x, src, tree.Refs())
	}
	a := &search.Agent{Name: "a", Pinned: []string{"pdf"}}
	check := func(wantList, wantPinned, wantVerdict string) {
		t.Helper()
		var list []string
		entries, err := x.List(t.Context(), a, &search.ListOptions{Shadowed: true})
		for _, e := range entries {
			list = append(list, fmt.Sprintf("%s away=%v shadowed=%q", e.ID, e.Away, e.ShadowedBy))
		}
		if got := strings.Join(list, "; "); err != nil || got != wantList {
			t.Errorf("the list is %s, %v; want %s", got, err, wantList)
		}
		pinned, err := x.Pinned(t.Context(), a)
		var from []string
		for _, e := range pinned {
			from = append(from, e.Source)
		}
		if got := fmt.Sprint(from); err != nil || got != wantPinned {
			t.Errorf("pinned from %s, %v; want %s", got, err, wantPinned)
		}
		why, err := x.Why(t.Context(), "first/pdf", search.Query{Text: "animal", Agent: a})
		if err != nil || why.Verdict != wantVerdict {
			t.Errorf("verdict %q, %v; want %q", why.Verdict, err, wantVerdict)
		}
		problems, err := x.Unmatched(t.Context(), a)
		if err != nil || len(problems) != 0 {
			t.Errorf("problems %v, %v", problems, err)
		}
	}
	leave(t, x, first)
	check(`pdf away=false shadowed=""; first/pdf away=false shadowed="pdf"`, "[second]", "Not offered: pdf of second has the same name and comes first.")
	leave(t, x, second)
	check(`pdf away=true shadowed=""; second/pdf away=false shadowed="pdf"`, "[]", "Not offered: its source first cannot be read now.")
}
