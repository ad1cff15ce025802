package search_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// A broken store cannot read texts.
type broken struct {
	store.Store
	err   error
	reads int
}

func (b *broken) Skill(ctx context.Context, row int64) (*skill.Skill, bool, error) {
	if b.reads++; b.err != nil {
		return nil, false, b.err
	}
	return b.Store.Skill(ctx, row)
}

// TestSyntaxLost: without its store a catalog answers what the snapshots know, and says that
// it did not check the rest.
func TestSyntaxLost(t *testing.T) {
	t.Parallel()
	st := &broken{Store: memorytest.New()}
	x := searchtest.Over(t, st, "", nil, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("one", "pdf forms", "open the door"), searchtest.Skill("two", "form of a pdf", "pdf form"), searchtest.Skill("three", "door", "open"),
	).Refs())
	ask := func(text string) (string, int) {
		st.reads = 0
		a := searchtest.Ask(t, x, search.Query{Text: text, Syntax: true})
		ids := searchtest.IDs(a.Hits)
		slices.Sort(ids)
		return strings.Join(ids, " ") + ": " + a.Mode, st.reads
	}
	for _, tt := range []struct {
		query, want string
		reads       int
	}{
		{`"pdf form"`, "one two: syntax", 1}, // the description of one decides
		{`name: on* OR door`, "one three: syntax", 0},
		{`"open door"`, "one: syntax", 2},
		{`"door open"`, ": syntax", 2},
		{`tags: door`, ": syntax", 0},
	} {
		if got, reads := ask(tt.query); got != tt.want || reads != tt.reads {
			t.Errorf("%s: %s after %d reads, want %s after %d", tt.query, got, reads, tt.want, tt.reads)
		}
	}
	st.err = errors.New("connection refused")
	for query, want := range map[string]string{
		`name: on* OR door`:        "one three: syntax",
		`"door open"`:              "one three: syntax (words only: the texts cannot be read now)",
		`door NOT "the open door"`: "one three: syntax (words only: the texts cannot be read now)",
	} {
		if got, reads := ask(query); got != want || reads > 1 {
			t.Errorf("%s: %s after %d reads, want %s", query, got, reads, want)
		}
	}
	st.err = store.ErrStale
	if _, err := x.Search(t.Context(), search.Query{Text: `"door open"`, Syntax: true}); !errors.Is(err, store.ErrStale) {
		t.Errorf("%v, want %v", err, store.ErrStale)
	}
}
