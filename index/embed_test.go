package index_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/cache"
)

func modeOf(t *testing.T, x *searchtest.Catalog) string {
	t.Helper()
	return searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}).Mode
}

func TestEmbedResumes(t *testing.T) {
	t.Parallel()
	const fail = index.EmbedBatch + 5
	e := new(searchtest.Embedder).FailAfter(fail)
	x := searchtest.New(t, e)
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode of an empty catalog %q", got)
	}
	n := 3*index.EmbedBatch + 2
	searchtest.Sync(t, x, "a", searchtest.Many(n).Refs())
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode before %q", got)
	}
	if err := x.Embed(t.Context(), nil); !errors.Is(err, searchtest.ErrEmbed) {
		t.Errorf("error %v, want %v", err, searchtest.ErrEmbed)
	}
	if _, done, err := x.Store.Coverage(t.Context(), store.Space{Model: "fake"}, nil); done != fail || err != nil {
		t.Errorf("%d texts are embedded, %v; want the %d before the failure", done, err, fail)
	}
	if got, want := modeOf(t, x), fmt.Sprintf("text (%d of %d texts embedded)", fail, n); got != want {
		t.Errorf("mode after the failure %q, want %q", got, want)
	}
	e.FailAfter(0)
	var steps []string
	must.Do(t, x.Embed(t.Context(), func(done, all int) { steps = append(steps, fmt.Sprint(done, "/", all)) }))
	if len(steps) == 0 || steps[len(steps)-1] != fmt.Sprint(n, "/", n) {
		t.Errorf("progress %q", steps)
	}
	embedded := slices.Sorted(slices.Values(e.Embedded()))
	if once := slices.Compact(slices.Clone(embedded)); len(once) != n || len(embedded) != n {
		t.Errorf("%d texts were embedded %d times, want %d once", len(once), len(embedded), n)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode after %q", got)
	}
}

func TestEmbedOnlyNewTexts(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := searchtest.New(t, e)
	var words strings.Builder
	for i := range 3*index.ChunkWords + 1 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	body := func(last string) string { return words.String() + last }
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf", "Fill forms", body("end"))).Refs())
	searchtest.Sync(t, x, "b", searchtest.TreeOf(searchtest.Skill("pdf", "Fill forms", body("end"))).Refs()) // a copy costs nothing
	searchtest.Embed(t, x)
	got, parts := e.Embedded(), index.Chunks(searchtest.Skill("pdf", "Fill forms", body("end")))
	if len(got) != 5 || len(parts) != 2 {
		t.Errorf("%d parts of %d texts embedded, want 5 of 2", len(got), len(parts))
	}
	searchtest.Embed(t, x)
	if got := e.Embedded(); len(got) != 0 {
		t.Errorf("embedded again: %q", got)
	}
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf", "Fill forms", body("edited"))).Refs())
	searchtest.Embed(t, x)
	if got := e.Embedded(); len(got) != 4 || !strings.HasSuffix(got[3], "edited") {
		t.Errorf("after an edit of the body embedded %q", got)
	}
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf", "Fill in forms", body("edited"))).Refs())
	searchtest.Embed(t, x)
	if got := e.Embedded(); len(got) != 1 || got[0] != "pdf: Fill in forms" {
		t.Errorf("after an edit of the description embedded %q", got)
	}
}

// TestEmbedKeepsWholeTexts: a body has no vector while one of its chunks lacks one.
func TestEmbedKeepsWholeTexts(t *testing.T) {
	t.Parallel()
	e := new(searchtest.Embedder).FailAfter(3)
	x := searchtest.New(t, e)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf", "Fill forms", strings.Repeat("word ", 3*index.ChunkWords))).Refs())
	if err := x.Embed(t.Context(), nil); !errors.Is(err, searchtest.ErrEmbed) {
		t.Errorf("error %v, want %v", err, searchtest.ErrEmbed)
	}
	if texts, done, err := x.Store.Coverage(t.Context(), store.Space{Model: "fake"}, nil); texts != 2 || done != 1 || err != nil {
		t.Errorf("%d of %d texts are embedded, %v; want the description of 2", done, texts, err)
	}
}

// TestInline: with a fast embedder Sync embeds all texts, and leaves those that fail
// to Embed.
func TestInline(t *testing.T) {
	t.Parallel()
	const fail = 7
	e := new(searchtest.Embedder).FailAfter(fail)
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: index.Options{Inline: true}})
	searchtest.Sync(t, x, "a", searchtest.Many(20).Refs())
	if _, done, err := x.Store.Coverage(t.Context(), store.Space{Model: "fake"}, nil); done != fail || err != nil {
		t.Errorf("%d texts are embedded, %v; want the %d before the failure", done, err, fail)
	}
	e.FailAfter(0)
	searchtest.Embed(t, x)
	src := searchtest.Many(20)
	src["skill-03"] = searchtest.Skill("skill-03", "edited topic3 fruit", "with a body")
	searchtest.Sync(t, x, "a", src.Refs())
	if texts, done, err := x.Store.Coverage(t.Context(), store.Space{Model: "fake"}, nil); texts != 21 || done != 21 || err != nil {
		t.Errorf("%d of %d texts are embedded, %v; want all of 21", done, texts, err)
	}
	e.Embedded()
	searchtest.Embed(t, x)
	if got := e.Embedded(); len(got) != 0 {
		t.Errorf("embedded again: %q", got)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode %q", got)
	}
}

func TestModelsApart(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, &searchtest.Embedder{})
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Embed(t, x)
	other := x.Another(t, (&searchtest.Embedder{Name: "other"}).SetDim(8), nil)
	if got := modeOf(t, other); got != "text (no vectors yet)" {
		t.Errorf("mode of another model %q", got)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode %q before the other model is complete", got)
	}
	searchtest.Embed(t, other)
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode %q when the other model is complete", got)
	}
	searchtest.Embed(t, x) // x has dropped other models once, and must not do so again
	none := x.Another(t, nil, nil)
	for mode, x := range map[string]*searchtest.Catalog{"hybrid": x, "hybrid ": other, "text (no embedder)": none} {
		if got := modeOf(t, x); got != strings.TrimSpace(mode) {
			t.Errorf("mode %q, want %q", got, mode)
		}
	}
	if err := none.Embed(t.Context(), func(int, int) { t.Error("progress without an embedder") }); err != nil {
		t.Error(err)
	}
}

// TestSwitch goes from one embedder to another: the old vectors rank until the
// new ones are nearly complete, and are gone when they are.
func TestSwitch(t *testing.T) {
	t.Parallel()
	const n = 20
	old, next := &searchtest.Embedder{Name: "old"}, (&searchtest.Embedder{Name: "next"}).SetDim(8).FailAfter(n*8/10)
	before := searchtest.New(t, old)
	searchtest.Sync(t, before, "a", searchtest.Many(n).Refs())
	searchtest.Embed(t, before)
	x := before.Another(t, next, fallback(old))
	queries := make(map[string]int)
	count := func(e *searchtest.Embedder) {
		e.Answer(func(text string) ([]embed.Vector, error) {
			queries[e.Model()]++
			return []embed.Vector{e.Vector(text)}, nil
		})
	}
	count(old)
	count(next)
	check := func(when, mode, asked string) {
		t.Helper()
		clear(queries)
		if got := modeOf(t, x); got != mode || len(queries) > 1 || asked != "" && queries[asked] != 1 {
			t.Errorf("%s: mode %q, want %q; embedded the prompt: %v, want %s", when, got, mode, queries, asked)
		}
	}
	check("at first", "hybrid (old; no vectors yet)", "old")
	if err := x.Embed(t.Context(), nil); !errors.Is(err, searchtest.ErrEmbed) {
		t.Errorf("error %v, want %v", err, searchtest.ErrEmbed)
	}
	check("at 80 %", "hybrid (old; 16 of 20 texts embedded)", "old")
	if a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}); a.Hits[0].ID != "skill-03" {
		t.Errorf("the old vectors find %s", a.Hits[0].ID)
	}
	next.FailAfter(n * 9 / 10)
	if err := x.Embed(t.Context(), nil); !errors.Is(err, searchtest.ErrEmbed) {
		t.Errorf("error %v, want %v", err, searchtest.ErrEmbed)
	}
	check("at 90 %", "hybrid", "next")
	if _, done, err := x.Store.Coverage(t.Context(), store.Space{Model: "old"}, nil); done != n || err != nil {
		t.Errorf("at 90 %% %d old vectors are left, %v", done, err)
	}
	next.FailAfter(0)
	searchtest.Embed(t, x)
	check("at last", "hybrid", "next")
	if models, err := x.Store.Models(t.Context()); err != nil || len(models) != 1 || models[0].Name != "next" || models[0].Dim != 8 {
		t.Errorf("models %v, %v; want next", models, err)
	}
}

// TestSwitchFromIncomplete: old vectors that are too few do not rank.
func TestSwitchFromIncomplete(t *testing.T) {
	t.Parallel()
	old := (&searchtest.Embedder{Name: "old"}).FailAfter(3)
	before := searchtest.New(t, old)
	searchtest.Sync(t, before, "a", searchtest.Many(5).Refs())
	if err := before.Embed(t.Context(), nil); !errors.Is(err, searchtest.ErrEmbed) {
		t.Errorf("error %v, want %v", err, searchtest.ErrEmbed)
	}
	x := before.Another(t, &searchtest.Embedder{Name: "next"}, fallback(old))
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode %q", got)
	}
}

// miscounting is an embedder that breaks its contract.
type miscounting struct {
	searchtest.Embedder
	change func([]embed.Vector) []embed.Vector
}

func (m *miscounting) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	list, err := m.Embedder.Embed(ctx, kind, texts)
	return m.change(list), err
}

func TestEmbedderMiscounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]embed.Vector) []embed.Vector{
		"too many": func(v []embed.Vector) []embed.Vector { return append(v, v[0]) },
		"too few":  func(v []embed.Vector) []embed.Vector { return v[1:] },
		"none":     func([]embed.Vector) []embed.Vector { return nil },
	} {
		x := searchtest.New(t, &miscounting{change: change})
		searchtest.Sync(t, x, "a", searchtest.Many(3).Refs())
		if err := x.Embed(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := modeOf(t, x); got != "text (no vectors yet)" {
			t.Errorf("%s: mode %q", name, got)
		}
	}
}

// TestSearchWhileSyncing runs searches during syncs that replace the snapshot, for
// the race detector.
func TestSearchWhileSyncing(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, &searchtest.Embedder{})
	src := searchtest.Many(20)
	searchtest.Sync(t, x, "a", src.Refs())
	searchtest.Embed(t, x)
	agent := &search.Agent{Exclude: search.Rules{Names: []string{"skill-07"}}}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := 0; ; n++ {
				a, err := x.Search(context.Background(), search.Query{Text: "topic3 topic7 fruit", Agent: agent})
				if err != nil || len(a.Hits) == 0 || slices.Contains(searchtest.IDs(a.Hits), "skill-07") {
					t.Errorf("hits %q, %v", searchtest.IDs(a.Hits), err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 15 {
		src["skill-03"] = searchtest.Skill("skill-03", fmt.Sprint("handles topic3 and fruit, edition ", i), "")
		searchtest.Sync(t, x, "a", src.Refs())
		searchtest.Embed(t, x)
	}
	close(done)
	wg.Wait()
}

// TestEmbedCached: what one catalog of a machine has embedded, others need not embed, nor the
// same one when it is made anew.
func TestEmbedCached(t *testing.T) {
	t.Parallel()
	shared := cache.New(filepath.Join(t.TempDir(), "vectors.db"))
	for i, n := range []int{index.EmbedBatch + 5, 2 * index.EmbedBatch} {
		e := &searchtest.Embedder{}
		x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: index.Options{Cache: shared}})
		searchtest.Sync(t, x, "a", searchtest.Many(n).Refs())
		searchtest.Embed(t, x)
		want := n
		if i == 1 {
			want = n - (index.EmbedBatch + 5)
		}
		if got := e.Embedded(); len(got) != want {
			t.Errorf("catalog %d: %d texts were embedded, want %d", i, len(got), want)
		}
		if got := modeOf(t, x); got != "hybrid" {
			t.Errorf("catalog %d: mode %q", i, got)
		}
	}
}

// TestEmbedCacheFails: a cache that cannot be used costs nothing but time, and what was
// embedded before an error is in it.
func TestEmbedCacheFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() // no file can be here
	e := &searchtest.Embedder{}
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: index.Options{Cache: cache.New(folder)}})
	searchtest.Sync(t, x, "a", searchtest.Many(3).Refs())
	searchtest.Embed(t, x)
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode %q", got)
	}
	shared := cache.New(filepath.Join(t.TempDir(), "vectors.db"))
	for _, want := range []int{3, 2} {
		e := new(searchtest.Embedder)
		if want == 3 {
			e.FailAfter(3)
		}
		x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: index.Options{Cache: shared}})
		searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
		if err := x.Embed(t.Context(), nil); (err != nil) != (want == 3) {
			t.Fatal(err)
		}
		if got := e.Embedded(); len(got) != want {
			t.Errorf("%d texts were embedded, want %d", len(got), want)
		}
	}
}
