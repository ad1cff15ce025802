package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
)

// manySkills returns n skills with one text each.
func manySkills(n int) tree {
	t := make(tree)
	for i := range n {
		name := fmt.Sprintf("skill-%02d", i)
		t[name] = newSkill(name, fmt.Sprintf("handles topic%d and fruit", i), "")
	}
	return t
}

func modeOf(t *testing.T, x *Index) string {
	t.Helper()
	return search(t, x, Query{Text: "topic3 fruit"}).Mode
}

func TestEmbedResumes(t *testing.T) {
	e := &fakeEmbedder{fail: embedBatch + 5}
	x := newIndex(t, e)
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode of an empty catalog %q", got)
	}
	n := 3*embedBatch + 2
	syncTree(t, x, "a", manySkills(n).refs())
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode before %q", got)
	}
	if err := x.Embed(t.Context(), nil); !errors.Is(err, errEmbed) {
		t.Errorf("error %v, want %v", err, errEmbed)
	}
	if _, done, err := x.db.Coverage(t.Context(), "fake"); done != e.fail || err != nil {
		t.Errorf("%d texts are embedded, %v; want the %d before the failure", done, err, e.fail)
	}
	if got, want := modeOf(t, x), fmt.Sprintf("text (%d of %d texts embedded)", e.fail, n); got != want {
		t.Errorf("mode after the failure %q, want %q", got, want)
	}
	e.fail = 0
	var steps []string
	if err := x.Embed(t.Context(), func(done, all int) { steps = append(steps, fmt.Sprint(done, "/", all)) }); err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 || steps[len(steps)-1] != fmt.Sprint(n, "/", n) {
		t.Errorf("progress %q", steps)
	}
	slices.Sort(e.embedded)
	if once := slices.Compact(slices.Clone(e.embedded)); len(once) != n || len(e.embedded) != n {
		t.Errorf("%d texts were embedded %d times, want %d once", len(once), len(e.embedded), n)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode after %q", got)
	}
}

func TestEmbedOnlyNewTexts(t *testing.T) {
	e := &fakeEmbedder{}
	x := newIndex(t, e)
	var words strings.Builder
	for i := range 3*chunkWords + 1 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	body := func(last string) string { return words.String() + last }
	syncTree(t, x, "a", treeOf(newSkill("pdf", "Fill forms", body("end"))).refs())
	syncTree(t, x, "b", treeOf(newSkill("pdf", "Fill forms", body("end"))).refs()) // a copy costs nothing
	embedAll(t, x)
	if texts := len(texts(newSkill("pdf", "Fill forms", body("end")))); len(e.embedded) != 5 || texts != 2 {
		t.Errorf("%d parts of %d texts embedded, want 5 of 2", len(e.embedded), texts)
	}
	e.embedded = nil
	embedAll(t, x)
	if len(e.embedded) != 0 {
		t.Errorf("embedded again: %q", e.embedded)
	}
	syncTree(t, x, "a", treeOf(newSkill("pdf", "Fill forms", body("edited"))).refs())
	embedAll(t, x)
	if len(e.embedded) != 4 || !strings.HasSuffix(e.embedded[3], "edited") {
		t.Errorf("after an edit of the body embedded %q", e.embedded)
	}
	e.embedded = nil
	syncTree(t, x, "a", treeOf(newSkill("pdf", "Fill in forms", body("edited"))).refs())
	embedAll(t, x)
	if len(e.embedded) != 1 || e.embedded[0] != "pdf: Fill in forms" {
		t.Errorf("after an edit of the description embedded %q", e.embedded)
	}
}

// TestEmbedKeepsWholeTexts: a body of which a part fails has no vector yet.
func TestEmbedKeepsWholeTexts(t *testing.T) {
	e := &fakeEmbedder{fail: 3}
	x := newIndex(t, e)
	syncTree(t, x, "a", treeOf(newSkill("pdf", "Fill forms", strings.Repeat("word ", 3*chunkWords))).refs())
	if err := x.Embed(t.Context(), nil); !errors.Is(err, errEmbed) {
		t.Errorf("error %v, want %v", err, errEmbed)
	}
	if texts, done, err := x.db.Coverage(t.Context(), "fake"); texts != 2 || done != 1 || err != nil {
		t.Errorf("%d of %d texts are embedded, %v; want the description of 2", done, texts, err)
	}
}

// TestInline: with a fast embedder a sync leaves nothing to embed, and what it
// could not embed to Embed.
func TestInline(t *testing.T) {
	e := &fakeEmbedder{fail: 7}
	x := New(newIndex(t, nil).db, e, &Options{Inline: true})
	syncTree(t, x, "a", manySkills(20).refs())
	if _, done, err := x.db.Coverage(t.Context(), "fake"); done != e.fail || err != nil {
		t.Errorf("%d texts are embedded, %v; want the %d before the failure", done, err, e.fail)
	}
	e.fail = 0
	embedAll(t, x)
	src := manySkills(20)
	src["skill-03"] = newSkill("skill-03", "edited topic3 fruit", "with a body")
	syncTree(t, x, "a", src.refs())
	if texts, done, err := x.db.Coverage(t.Context(), "fake"); texts != 21 || done != 21 || err != nil {
		t.Errorf("%d of %d texts are embedded, %v; want all of 21", done, texts, err)
	}
	e.embedded = nil
	embedAll(t, x)
	if len(e.embedded) != 0 {
		t.Errorf("embedded again: %q", e.embedded)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode %q", got)
	}
}

func TestModelsApart(t *testing.T) {
	x := newIndex(t, &fakeEmbedder{})
	syncTree(t, x, "a", manySkills(5).refs())
	embedAll(t, x)
	other := New(x.db, &fakeEmbedder{model: "other", dim: 8}, nil)
	if got := modeOf(t, other); got != "text (no vectors yet)" {
		t.Errorf("mode of another model %q", got)
	}
	if got := modeOf(t, x); got != "hybrid" {
		t.Errorf("mode %q before the other model is complete", got)
	}
	embedAll(t, other)
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode %q when the other model is complete", got)
	}
	embedAll(t, x) // has dropped already, and must not do so for ever
	none := New(x.db, nil, nil)
	for mode, x := range map[string]*Index{"hybrid": x, "hybrid ": other, "text (no embedder)": none} {
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
	const n = 20
	old, next := &fakeEmbedder{model: "old"}, &fakeEmbedder{model: "next", dim: 8, fail: n * 8 / 10}
	before := newIndex(t, old)
	syncTree(t, before, "a", manySkills(n).refs())
	embedAll(t, before)
	x := New(before.db, next, &Options{Fallback: old})
	queries := make(map[string]int)
	count := func(e *fakeEmbedder) {
		e.query = func(text string) ([]embed.Vector, error) {
			queries[e.model]++
			return []embed.Vector{e.vector(text)}, nil
		}
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
	if err := x.Embed(t.Context(), nil); !errors.Is(err, errEmbed) {
		t.Errorf("error %v, want %v", err, errEmbed)
	}
	check("at 80 %", "hybrid (old; 16 of 20 texts embedded)", "old")
	if a := search(t, x, Query{Text: "topic3 fruit"}); a.Hits[0].ID != "skill-03" {
		t.Errorf("the old vectors find %s", a.Hits[0].ID)
	}
	next.fail = n * 9 / 10
	if err := x.Embed(t.Context(), nil); !errors.Is(err, errEmbed) {
		t.Errorf("error %v, want %v", err, errEmbed)
	}
	check("at 90 %", "hybrid", "next")
	if _, done, err := x.db.Coverage(t.Context(), "old"); done != n || err != nil {
		t.Errorf("at 90 %% %d old vectors are left, %v", done, err)
	}
	next.fail = 0
	embedAll(t, x)
	check("at last", "hybrid", "next")
	if models, err := x.db.Models(t.Context()); err != nil || len(models) != 1 || models[0].Name != "next" || models[0].Dim != 8 {
		t.Errorf("models %v, %v; want next", models, err)
	}
}

// TestSwitchFromIncomplete: old vectors that are too few do not rank.
func TestSwitchFromIncomplete(t *testing.T) {
	old := &fakeEmbedder{model: "old", fail: 3}
	before := newIndex(t, old)
	syncTree(t, before, "a", manySkills(5).refs())
	if err := before.Embed(t.Context(), nil); !errors.Is(err, errEmbed) {
		t.Errorf("error %v, want %v", err, errEmbed)
	}
	x := New(before.db, &fakeEmbedder{model: "next"}, &Options{Fallback: old})
	if got := modeOf(t, x); got != "text (no vectors yet)" {
		t.Errorf("mode %q", got)
	}
}

// miscounting is an embedder that breaks its contract.
type miscounting struct {
	fakeEmbedder
	change func([]embed.Vector) []embed.Vector
}

func (m *miscounting) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	list, err := m.fakeEmbedder.Embed(ctx, kind, texts)
	return m.change(list), err
}

func TestEmbedderMiscounts(t *testing.T) {
	for name, change := range map[string]func([]embed.Vector) []embed.Vector{
		"too many": func(v []embed.Vector) []embed.Vector { return append(v, v[0]) },
		"too few":  func(v []embed.Vector) []embed.Vector { return v[1:] },
		"none":     func([]embed.Vector) []embed.Vector { return nil },
	} {
		x := newIndex(t, &miscounting{change: change})
		syncTree(t, x, "a", manySkills(3).refs())
		if err := x.Embed(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := modeOf(t, x); got != "text (no vectors yet)" {
			t.Errorf("%s: mode %q", name, got)
		}
	}
}

// TestEmbedderChangedDimension under the same name: whatever is in the catalog,
// search goes on.
func TestEmbedderChangedDimension(t *testing.T) {
	e := &fakeEmbedder{}
	x := newIndex(t, e)
	syncTree(t, x, "a", manySkills(5).refs())
	embedAll(t, x)
	e.dim = 8
	if got := modeOf(t, x); got != "text (embedder answered with another dimension)" {
		t.Errorf("mode %q", got)
	}
	src := manySkills(5)
	src["skill-03"] = newSkill("skill-03", "edited topic3 fruit", "")
	syncTree(t, x, "a", src.refs())
	embedAll(t, x)
	if got := found(t, x, "topic3 fruit"); got[0] != "skill-03" {
		t.Errorf("found %q", got)
	}
	e.dim = 0
	a := search(t, x, Query{Text: "topic3 fruit"})
	if a.Mode != "hybrid" || a.Hits[0].ID != "skill-03" {
		t.Errorf("mode %q, best %q", a.Mode, a.Hits[0].ID)
	}
}

// embeddedIndex returns an index with vectors of e, and a deadline.
func embeddedIndex(t *testing.T, e embed.Embedder, deadline time.Duration) *Index {
	t.Helper()
	x := New(newIndex(t, nil).db, e, &Options{Deadline: deadline})
	syncTree(t, x, "a", manySkills(5).refs())
	embedAll(t, x)
	return x
}

func TestSlowEmbedder(t *testing.T) {
	e := &fakeEmbedder{block: make(chan struct{})}
	x := embeddedIndex(t, e, time.Millisecond)
	before := runtime.NumGoroutine()
	a := search(t, x, Query{Text: "topic3 fruit"}) // returns, though the embedder does not
	if a.Mode != "text (embedder timed out)" || a.Hits[0].ID != "skill-03" {
		t.Errorf("mode %q, best %q", a.Mode, a.Hits[0].ID)
	}
	close(e.block)
	for runtime.NumGoroutine() > before { // or the test times out
		runtime.Gosched()
	}
}

func TestFailingEmbedder(t *testing.T) {
	e := &fakeEmbedder{}
	x := embeddedIndex(t, e, time.Hour)
	for _, tt := range []struct {
		mode    string
		vectors []embed.Vector
		err     error
	}{
		{"text (embedder failed)", nil, errEmbed},
		{"text (embedder failed)", []embed.Vector{make(embed.Vector, 16)}, errEmbed},
		{"text (embedder timed out)", nil, context.DeadlineExceeded},
		{"text (embedder answered with another dimension)", []embed.Vector{{1}}, nil},
		{"text (embedder answered with another dimension)", nil, nil},
	} {
		e.query = func(string) ([]embed.Vector, error) { return tt.vectors, tt.err }
		a := search(t, x, Query{Text: "topic3 fruit"})
		if a.Mode != tt.mode || a.Hits[0].ID != "skill-03" {
			t.Errorf("%v: mode %q, best %q; want mode %q", tt.err, a.Mode, a.Hits[0].ID, tt.mode)
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	e := &fakeEmbedder{block: make(chan struct{})}
	defer close(e.block)
	x := embeddedIndex(t, e, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := x.Search(ctx, Query{Text: "topic3"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestVectorsFind: a skill that shares no term with the prompt is found by its
// vector, one outside the scope is not.
func TestVectorsFind(t *testing.T) {
	e := &fakeEmbedder{}
	x := embeddedIndex(t, e, time.Hour)
	e.query = func(string) ([]embed.Vector, error) {
		return []embed.Vector{e.vector(texts(manySkills(5)["skill-02"])[0].chunks[0])}, nil
	}
	if got := found(t, x, "zzz"); len(got) != 5 || got[0] != "skill-02" {
		t.Errorf("found %q", got)
	}
	scoped := Query{Text: "zzz", Limit: 2, Agent: &Agent{Exclude: Rules{Names: []string{"skill-02", "skill-04"}}}}
	if got := idsOf(search(t, x, scoped).Hits); len(got) != 2 || slices.Contains(got, "skill-02") {
		t.Errorf("in the scope found %q", got)
	}
}

// TestSearchWhileSyncing runs searches beside syncs that replace the snapshot;
// the race detector looks on.
func TestSearchWhileSyncing(t *testing.T) {
	x := newIndex(t, &fakeEmbedder{})
	src := manySkills(20)
	syncTree(t, x, "a", src.refs())
	embedAll(t, x)
	agent := &Agent{Exclude: Rules{Names: []string{"skill-07"}}}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := 0; ; n++ {
				a, err := x.Search(context.Background(), Query{Text: "topic3 topic7 fruit", Agent: agent})
				if err != nil || len(a.Hits) == 0 || slices.Contains(idsOf(a.Hits), "skill-07") {
					t.Errorf("hits %q, %v", idsOf(a.Hits), err)
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
		src["skill-03"] = newSkill("skill-03", fmt.Sprint("handles topic3 and fruit, edition ", i), "")
		syncTree(t, x, "a", src.refs())
		embedAll(t, x)
	}
	close(done)
	wg.Wait()
}
