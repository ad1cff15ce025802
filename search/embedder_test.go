package search_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// embeddedIndex returns a catalog with vectors of e, and a deadline for prompts; 0
// means the deadline of searchtest.
func embeddedIndex(t *testing.T, e embed.Embedder, deadline time.Duration) *searchtest.Catalog {
	t.Helper()
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Search: search.Options{Deadline: deadline}})
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Embed(t, x)
	return x
}

func TestSlowEmbedder(t *testing.T) {
	e := &searchtest.Embedder{Block: make(chan struct{})}
	x := embeddedIndex(t, e, time.Millisecond)
	before := runtime.NumGoroutine()
	a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}) // returns, though the embedder does not
	if a.Mode != "text (embedder timed out)" || a.Hits[0].ID != "skill-03" {
		t.Errorf("mode %q, best %q", a.Mode, a.Hits[0].ID)
	}
	close(e.Block)
	for runtime.NumGoroutine() > before { // or the test times out
		runtime.Gosched()
	}
}

func TestFailingEmbedder(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := embeddedIndex(t, e, 0)
	for _, tt := range []struct {
		mode    string
		vectors []embed.Vector
		err     error
	}{
		{"text (embedder failed)", nil, searchtest.ErrEmbed},
		{"text (embedder failed)", []embed.Vector{make(embed.Vector, 16)}, searchtest.ErrEmbed},
		{"text (embedder timed out)", nil, context.DeadlineExceeded},
		{"text (embedder answered with another dimension)", []embed.Vector{{1}}, nil},
		{"text (embedder answered with another dimension)", nil, nil},
	} {
		e.Answer(func(string) ([]embed.Vector, error) { return tt.vectors, tt.err })
		a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"})
		if a.Mode != tt.mode || a.Hits[0].ID != "skill-03" {
			t.Errorf("%v: mode %q, best %q; want mode %q", tt.err, a.Mode, a.Hits[0].ID, tt.mode)
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{Block: make(chan struct{})}
	defer close(e.Block)
	x := embeddedIndex(t, e, 0)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := x.Search(ctx, search.Query{Text: "topic3"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestVectorsFind: a skill that shares no term with the prompt is found by its
// vector, one outside the scope is not.
func TestVectorsFind(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := embeddedIndex(t, e, 0)
	e.Answer(func(string) ([]embed.Vector, error) {
		s := searchtest.Many(5)["skill-02"]
		return []embed.Vector{e.Vector(s.Name + ": " + s.Description)}, nil
	})
	if got := searchtest.Found(t, x, "zzz"); len(got) != 5 || got[0] != "skill-02" {
		t.Errorf("found %q", got)
	}
	scoped := search.Query{Text: "zzz", Limit: 2, Agent: &search.Agent{Exclude: search.Rules{Names: []string{"skill-02", "skill-04"}}}}
	if got := searchtest.IDs(searchtest.Ask(t, x, scoped).Hits); len(got) != 2 || slices.Contains(got, "skill-02") {
		t.Errorf("in the scope found %q", got)
	}
}

// TestEmbedderChangedDimension: an embedder changes its dimension under the same name,
// and search still works.
func TestEmbedderChangedDimension(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := searchtest.New(t, e)
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Embed(t, x)
	e.SetDim(8)
	if got := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}).Mode; got != "text (embedder answered with another dimension)" {
		t.Errorf("mode %q", got)
	}
	src := searchtest.Many(5)
	src["skill-03"] = searchtest.Skill("skill-03", "edited topic3 fruit", "")
	searchtest.Sync(t, x, "a", src.Refs())
	searchtest.Embed(t, x)
	if got := searchtest.Found(t, x, "topic3 fruit"); got[0] != "skill-03" {
		t.Errorf("found %q", got)
	}
	e.SetDim(0)
	a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"})
	if a.Mode != "hybrid" || a.Hits[0].ID != "skill-03" {
		t.Errorf("mode %q, best %q", a.Mode, a.Hits[0].ID)
	}
}
