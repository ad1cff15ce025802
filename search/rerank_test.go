package search_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

// rerankFunc is a function as a reranker.
type rerankFunc func(ctx context.Context, query string, documents []string) ([]float64, error)

func (f rerankFunc) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	return f(ctx, query, documents)
}

// backwards prefers skills whose names come last.
func backwards(_ context.Context, _ string, documents []string) ([]float64, error) {
	scores := make([]float64, len(documents))
	for i, d := range documents {
		number, _, _ := strings.Cut(strings.TrimPrefix(d, "skill-"), ":")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, err
		}
		scores[i] = float64(n) - 5 // some are negative
	}
	return scores, nil
}

// reranked returns the catalog of x with a reranker.
func reranked(t *testing.T, x *searchtest.Catalog, e embed.Embedder, f rerankFunc, change func(*search.Options)) *searchtest.Catalog {
	t.Helper()
	opts := search.Options{Reranker: f, RerankDeadline: time.Hour}
	if change != nil {
		change(&opts)
	}
	return x.Another(t, e, &searchtest.Options{Search: opts})
}

func filled(t *testing.T, skills int) *searchtest.Catalog {
	t.Helper()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(skills).Refs())
	return x
}

func TestRerank(t *testing.T) {
	t.Parallel()
	x := filled(t, 6)
	a := searchtest.Ask(t, reranked(t, x, nil, backwards, nil), search.Query{Text: "fruit"})
	want := []string{"skill-05", "skill-04", "skill-03", "skill-02", "skill-01", "skill-00"}
	if diff := cmp.Diff(want, searchtest.IDs(a.Hits)); diff != "" || a.Mode != "text (no embedder), reranked" || a.RerankError != nil {
		t.Errorf("mode %s, error %v, (-want +got)\n%s", a.Mode, a.RerankError, diff)
	}
	for i, h := range a.Hits {
		if h.RerankScore == nil || *h.RerankScore != float64(-i) {
			t.Errorf("%s: score %v, want %d", h.ID, h.RerankScore, -i)
		}
	}
	// The first stage is as it was, and so is what is relevant.
	before := make(map[string]search.Hit)
	for _, h := range searchtest.Ask(t, x, search.Query{Text: "fruit"}).Hits {
		before[h.ID] = h
	}
	for _, h := range a.Hits {
		h.RerankScore = nil
		if diff := cmp.Diff(before[h.ID], h); diff != "" {
			t.Errorf("%s (-before +after)\n%s", h.ID, diff)
		}
	}
}

// TestRerankOnlyBest: hits beyond the candidates keep their place, the limit of the
// query is applied afterwards, and skills that the prompt names for certain are not reordered.
func TestRerankOnlyBest(t *testing.T) {
	t.Parallel()
	x := filled(t, 6)
	three := reranked(t, x, nil, backwards, func(o *search.Options) { o.RerankCandidates = 3 })
	for _, tt := range []struct {
		q    search.Query
		want []string
	}{
		{search.Query{Text: "fruit"}, []string{"skill-02", "skill-01", "skill-00", "skill-03", "skill-04", "skill-05"}},
		{search.Query{Text: "fruit", Limit: 1}, []string{"skill-02"}},
		{search.Query{Text: "fruit with the skill-01 skill"}, []string{"skill-01", "skill-03", "skill-02", "skill-00", "skill-04", "skill-05"}},
		{search.Query{Text: "fruit", Agent: &search.Agent{Exclude: search.Rules{Names: []string{"skill-01", "skill-02"}}}},
			[]string{"skill-04", "skill-03", "skill-00", "skill-05"}},
	} {
		if diff := cmp.Diff(tt.want, searchtest.IDs(searchtest.Ask(t, three, tt.q).Hits)); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", tt.q, diff)
		}
	}
}

// TestRerankReads: the reranker gets the prompt and the candidates in scope, each with
// the start of its body, and nothing else.
func TestRerankReads(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	long := strings.Repeat("é", search.BodyStart)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf", "Fill forms", long), searchtest.Skill("doc", "Fill pages", ""), searchtest.Skill("secret", "Fill", "")).Refs())
	var query string
	var got []string
	x = reranked(t, x, nil, func(_ context.Context, q string, documents []string) ([]float64, error) {
		query, got = q, slices.Sorted(slices.Values(documents))
		return make([]float64, len(documents)), nil
	}, nil)
	searchtest.Ask(t, x, search.Query{Text: "fill this", Agent: &search.Agent{Exclude: search.Rules{Names: []string{"secret"}}}})
	want := []string{"doc: Fill pages", "pdf: Fill forms\n\n" + long[:search.BodyStart]}
	if diff := cmp.Diff(want, got); diff != "" || query != "fill this" {
		t.Errorf("query %q, documents (-want +got)\n%s", query, diff)
	}
}

// TestRerankWithoutChoice: where no order can change, nothing is sent.
func TestRerankWithoutChoice(t *testing.T) {
	t.Parallel()
	x := reranked(t, filled(t, 3), nil, func(context.Context, string, []string) ([]float64, error) {
		t.Error("the reranker was called")
		return nil, nil
	}, nil)
	for _, text := range []string{"", "zzz", "topic1", "the skill-00 skill, the skill-01 skill and topic2"} {
		if a := searchtest.Ask(t, x, search.Query{Text: text}); a.Mode != "text (no embedder)" {
			t.Errorf("%q: mode %q", text, a.Mode)
		}
	}
}

func TestRerankPartially(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, tt := range []struct {
		scores []float64
		want   []string
	}{
		{[]float64{nan, -1, nan, 2}, []string{"skill-03", "skill-01", "skill-00", "skill-02"}},
		{[]float64{1, 1, 2, 2}, []string{"skill-02", "skill-03", "skill-00", "skill-01"}},
		{[]float64{nan, nan, nan, nan}, []string{"skill-00", "skill-01", "skill-02", "skill-03"}},
	} {
		x := reranked(t, filled(t, 4), nil, func(context.Context, string, []string) ([]float64, error) { return tt.scores, nil }, nil)
		a := searchtest.Ask(t, x, search.Query{Text: "fruit"})
		if diff := cmp.Diff(tt.want, searchtest.IDs(a.Hits)); diff != "" {
			t.Errorf("%v (-want +got)\n%s", tt.scores, diff)
		}
		for _, h := range a.Hits {
			i := slices.Index([]string{"skill-00", "skill-01", "skill-02", "skill-03"}, h.ID)
			if (h.RerankScore == nil) != math.IsNaN(tt.scores[i]) {
				t.Errorf("%v: %s has the score %v", tt.scores, h.ID, h.RerankScore)
			}
		}
	}
}

// TestRerankFails: the order of the first stage stays, and the answer says why.
func TestRerankFails(t *testing.T) {
	t.Parallel()
	x := filled(t, 4)
	want := searchtest.IDs(searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}).Hits)
	refused := errors.New("refused")
	for _, tt := range []struct {
		scores          []float64
		err             error
		mode, rerankErr string
	}{
		{nil, refused, "text (no embedder), reranker failed", "refused"},
		{[]float64{1, 2, 3, 4}, refused, "text (no embedder), reranker failed", "refused"},
		{nil, context.DeadlineExceeded, "text (no embedder), reranker timed out", "deadline"},
		{nil, nil, "text (no embedder), reranker failed", "0 scores for 4 documents"},
		{[]float64{1, 2, 3, 4, 5}, nil, "text (no embedder), reranker failed", "5 scores for 4 documents"},
		{[]float64{1, 2, 3, math.Inf(1)}, nil, "text (no embedder), reranker failed", "infinite"},
	} {
		x := reranked(t, x, nil, func(context.Context, string, []string) ([]float64, error) { return tt.scores, tt.err }, nil)
		a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"})
		if a.Mode != tt.mode || a.RerankError == nil || !strings.Contains(a.RerankError.Error(), tt.rerankErr) {
			t.Errorf("%v, %v: mode %q, error %v; want %q, %q", tt.scores, tt.err, a.Mode, a.RerankError, tt.mode, tt.rerankErr)
		}
		if diff := cmp.Diff(want, searchtest.IDs(a.Hits)); diff != "" || a.Hits[0].RerankScore != nil {
			t.Errorf("%v, %v: score %v, (-want +got)\n%s", tt.scores, tt.err, a.Hits[0].RerankScore, diff)
		}
	}
}

// TestRerankerHangs: a search returns though the reranker ignores its deadline.
func TestRerankerHangs(t *testing.T) {
	release := make(chan struct{})
	x := reranked(t, filled(t, 4), nil, func(context.Context, string, []string) ([]float64, error) {
		<-release
		return nil, nil
	}, func(o *search.Options) { o.RerankDeadline = time.Millisecond })
	before := runtime.NumGoroutine()
	a := searchtest.Ask(t, x, search.Query{Text: "fruit"})
	if a.Mode != "text (no embedder), reranker timed out" || a.Hits[0].ID != "skill-00" ||
		a.RerankError == nil || a.RerankError.Error() != "the reranker did not answer within 1ms: context deadline exceeded" {
		t.Errorf("mode %q, error %v, best %q", a.Mode, a.RerankError, a.Hits[0].ID)
	}
	close(release)
	for runtime.NumGoroutine() > before { // or the test times out
		runtime.Gosched()
	}
}

func TestRerankCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	x := reranked(t, filled(t, 4), nil, func(ctx context.Context, _ string, _ []string) ([]float64, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	if _, err := x.Search(ctx, search.Query{Text: "fruit"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestRerankAfterVectors: both stages are in the mode.
func TestRerankAfterVectors(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := reranked(t, embeddedIndex(t, e, 0), e, backwards, nil)
	if a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}); a.Mode != "hybrid, reranked" || a.Hits[0].ID != "skill-04" {
		t.Errorf("mode %q, best %q", a.Mode, a.Hits[0].ID)
	}
}

func TestWhyReranked(t *testing.T) {
	t.Parallel()
	x := reranked(t, filled(t, 4), nil, backwards, func(o *search.Options) { o.RerankCandidates = 2 })
	for _, tt := range []struct {
		id    string
		rank  int
		score float64 // 0 means none
	}{{"skill-01", 1, -4}, {"skill-00", 2, -5}, {"skill-02", 3, 0}} {
		e, err := x.Why(t.Context(), tt.id, search.Query{Text: "fruit"})
		must.Do(t, err)
		if e.Rank != tt.rank || e.Best != "skill-01" || e.Mode != "text (no embedder), reranked" ||
			(e.RerankScore == nil) != (tt.score == 0) || e.RerankScore != nil && *e.RerankScore != tt.score {
			t.Errorf("%s: rank %d, best %s, mode %s, score %v", tt.id, e.Rank, e.Best, e.Mode, e.RerankScore)
		}
	}
	broken := reranked(t, x, nil, func(context.Context, string, []string) ([]float64, error) { return nil, errors.New("refused") }, nil)
	e, err := broken.Why(t.Context(), "skill-02", search.Query{Text: "fruit"})
	if err != nil || e.RerankError == nil || e.Mode != "text (no embedder), reranker failed" || e.Rank != 3 {
		t.Errorf("%+v, %v", e, err)
	}
}
