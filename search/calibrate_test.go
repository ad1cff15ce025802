package search_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/gloss"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/source"
)

// elsewhere is the built-in embedder in another space: a cosine c becomes .7 + .3·c.
type elsewhere struct{ embed.Embedder }

func (elsewhere) Model() string { return "elsewhere" }

func (e elsewhere) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors, err := e.Embedder.Embed(ctx, kind, texts)
	for i, v := range vectors {
		w := make(embed.Vector, 2*len(v))
		for k, x := range v {
			w[k] = float32(math.Sqrt(.7 / float64(len(v))))
			w[len(v)+k] = float32(math.Sqrt(.3)) * x
		}
		vectors[i] = w
	}
	return vectors, err
}

func builtIn(t *testing.T) embed.Embedder {
	t.Helper()
	e, err := static.Default()
	must.Do(t, err)
	return e
}

// bare returns weights without a prior, so that a catalog's own figures decide.
func bare() *rank.Params {
	p := rank.Defaults()
	p.Gate.Needless, p.Gate.Unfit = nil, nil
	return &p
}

// ownSkills returns a published catalog with the skills of this project's tests.
func ownSkills(t *testing.T, e embed.Embedder, p *rank.Params) *searchtest.Catalog {
	t.Helper()
	src, err := source.Dir(filepath.FromSlash("../testdata/skills"), nil)
	must.Do(t, err)
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Search: search.Options{Params: p}})
	searchtest.Sync(t, x, "own", src.Skills(t.Context(), nil))
	searchtest.Embed(t, x)
	searchtest.Publish(t, x, true)
	return x
}

func calibrate(t *testing.T, x *searchtest.Catalog, agents ...*search.Agent) {
	t.Helper()
	must.Do(t, x.Calibrate(t.Context(), x.Calibrator(agents)))
}

// backgroundOf returns the prompts that need no skill.
func backgroundOf(t *testing.T, x *searchtest.Catalog) []string {
	t.Helper()
	prompts, err := x.Calibrator(nil).Prompts()
	if err != nil || len(prompts) != 900 {
		t.Fatalf("%d background prompts, %v", len(prompts), err)
	}
	return prompts[:500]
}

func offers(a search.Answer) bool {
	return slices.ContainsFunc(a.Hits, func(h search.Hit) bool { return h.Relevant })
}

// TestDisturb: of the compiled-in prompts, the share that the rate allows gets an offer, by
// text and by vectors of any scale; and an answer says how many score higher.
func TestDisturb(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for name, e := range map[string]embed.Embedder{"text": nil, "built-in": builtIn(t), "elsewhere": elsewhere{builtIn(t)}} {
		x := ownSkills(t, e, bare())
		before := searchtest.Ask(t, x, search.Query{Text: "review my code"})
		if b := before.Background; b.Needless.Prompts != 0 || b.Missing == "" || b.Disturb != rank.DefaultRate || before.Threshold != .5 {
			t.Errorf("%s, not calibrated: threshold %v, background %+v", name, before.Threshold, b)
		}
		calibrate(t, x)
		prompts := backgroundOf(t, x)
		for rate, want := range map[float64]int{.02: 10, rank.DefaultRate: 50} {
			if rate == .02 && e != nil && testsize.Rounds(0, 1) == 0 {
				continue // by text there are both
			}
			offered := 0
			for _, p := range prompts {
				a := searchtest.Ask(t, x, search.Query{Text: p, Disturb: rate, Unfit: 1})
				if offers(a) {
					offered++
				}
				if might := a.Background.Needless.Higher < int(rate*500); offers(a) != might && a.Kind == "" && gloss.Read(p) == nil {
					t.Errorf("%s, rate %v: %d score higher than %q, offered %v", name, rate, a.Background.Needless.Higher, p, offers(a))
				}
			}
			if offered < want || offered > want+5 { // prompts in other languages are read, while English ones set the threshold
				t.Errorf("%s, rate %v: %d of 500 prompts are disturbed", name, rate, offered)
			}
		}
	}
}

// TestDisturbElsewhere: an embedder on another scale ranks and offers as the built-in one
// does, once its scale is known; before that, text decides what is offered.
func TestDisturbElsewhere(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	own, other := ownSkills(t, builtIn(t), nil), ownSkills(t, elsewhere{builtIn(t)}, nil)
	weights := func(x *searchtest.Catalog) (list []float64) {
		for _, term := range searchtest.Ask(t, x, search.Query{Text: "fill in a pdf form"}).Demand.Terms {
			list = append(list, term.Weight)
		}
		return list
	}
	if slices.Equal(weights(other), weights(own)) {
		t.Error("before it is calibrated, the gate weighs the cosines")
	}
	calibrate(t, own)
	calibrate(t, other)
	if got, want := weights(other), weights(own); !slices.Equal(got, want) {
		t.Errorf("calibrated, the gate has the weights %v, want %v", got, want)
	}
	first, same, off := 0, 0, 0.0
	for _, p := range backgroundOf(t, own) {
		a, b := searchtest.Ask(t, own, search.Query{Text: p}), searchtest.Ask(t, other, search.Query{Text: p})
		if len(a.Hits) > 0 && len(b.Hits) > 0 && a.Hits[0].ID == b.Hits[0].ID {
			first++
		}
		if offers(a) == offers(b) {
			same++
		}
		off = max(off, math.Abs(a.Demand.Probability-b.Demand.Probability))
	}
	if first < 450 || same < 485 || off > .5 {
		t.Errorf("of 500 prompts, %d have the same first hit, %d the same decision; demands differ by up to %.2f", first, same, off)
	}
}

// TestReference: the cosines of the built-in embedder are on the scale that rank says. In
// a catalog of few and similar skills they are a little higher than in the corpus.
func TestReference(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	x := ownSkills(t, struct{ embed.Embedder }{builtIn(t)}, nil) // without its method Calibrated
	calibrate(t, x)
	set, err := x.Current(t.Context())
	must.Do(t, err)
	c, want := set.Calibration, rank.Reference()
	for i, got := range c.Cosines {
		if s := want[rank.Description+rank.Leg(i)]; math.Abs(got.Mean-s.Mean) > .06 || math.Abs(got.Deviation/s.Deviation-1) > .25 {
			t.Errorf("%v; rank.Reference says %v", got, s)
		}
	}
}

// TestDisturbAgents: each agent has figures of its own scope. The figures of the catalog
// hold for an agent that has none yet, also after its rules were edited.
func TestDisturbAgents(t *testing.T) {
	t.Parallel()
	x := ownSkills(t, nil, bare())
	few := &search.Agent{Name: "few", Include: search.Rules{Names: []string{"*-c*", "*-r*"}}}
	all := &search.Agent{Name: "all", Pinned: []string{"git-bisect-regression"}}
	threshold := func(a *search.Agent) float64 {
		return searchtest.Ask(t, x, search.Query{Text: "review my code", Agent: a}).Threshold
	}
	calibrate(t, x)
	whole := threshold(nil)
	if threshold(few) != whole || threshold(all) != whole {
		t.Errorf("an agent without figures has the threshold %v, the catalog %v", threshold(few), whole)
	}
	calibrate(t, x, few, all)
	own := threshold(few)
	if own >= whole || threshold(all) != whole || threshold(nil) != whole {
		t.Errorf("thresholds: few %v, all %v, catalog %v", own, threshold(all), threshold(nil))
	}
	due := func(a *search.Agent) bool {
		t.Helper()
		return searchtest.Ask(t, x, search.Query{Text: "review my code", Agent: a}).Background.Due
	}
	edited := &search.Agent{Name: "few", Include: few.Include, Exclude: search.Rules{Names: []string{"git-*"}}}
	if !due(edited) || due(few) || due(all) || due(nil) {
		t.Errorf("due: edited %v, few %v, all %v, catalog %v", due(edited), due(few), due(all), due(nil))
	}
	if threshold(edited) != whole {
		t.Errorf("edited rules have the threshold %v, the catalog %v", threshold(edited), whole)
	}
	calibrate(t, x, edited) // as another program with another configuration does
	if threshold(few) != own || threshold(edited) == whole {
		t.Errorf("another agent was added: few %v after %v, edited %v", threshold(few), own, threshold(edited))
	}
}

// TestDisturbDelta: a delta and even a new base go by what was measured in the base before,
// until somebody calibrates again; another catalog does not.
func TestDisturbDelta(t *testing.T) {
	t.Parallel()
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), nil, nil)
	tree := searchtest.Many(40)
	sync := func(n int) {
		t.Helper()
		for i := range n {
			name := string(rune('a'+i)) + "-topic"
			tree[name] = searchtest.Skill(name, "renames a variable in a function", "")
		}
		searchtest.Sync(t, x, "a", tree.Refs())
		searchtest.Publish(t, x, false)
	}
	due := func() bool {
		t.Helper()
		s, err := x.Current(t.Context())
		must.Do(t, err)
		return x.Calibrator(nil).Due(s)
	}
	prompts := func() int { return searchtest.Ask(t, x, search.Query{Text: "rename it"}).Background.Needless.Prompts }
	sync(0)
	if !due() || prompts() != 0 {
		t.Errorf("a new catalog: due %v, %d prompts", due(), prompts())
	}
	calibrate(t, x)
	sync(1)
	if due() || prompts() != 500 {
		t.Errorf("after a delta: due %v, %d prompts", due(), prompts())
	}
	sync(20)
	if !due() || prompts() != 0 {
		t.Errorf("after a large delta: due %v, %d prompts", due(), prompts())
	}
	calibrate(t, x)
	tree["long"] = searchtest.Skill("long", "is long", longBody())
	sync(0)
	if !due() || prompts() != 500 {
		t.Errorf("after a new base: due %v, %d prompts", due(), prompts())
	}
	calibrate(t, x)
	if due() {
		t.Error("still due")
	}
}

// TestDisturbEmpty: what was measured in an empty catalog, where no prompt finds anything,
// says nothing about the first skills.
func TestDisturbEmpty(t *testing.T) {
	t.Parallel()
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), nil, nil)
	searchtest.Publish(t, x, true)
	calibrate(t, x)
	searchtest.Sync(t, x, "a", searchtest.Many(10).Refs())
	searchtest.Publish(t, x, false)
	a := searchtest.Ask(t, x, search.Query{Text: "topic3 and fruit"})
	if want := searchtest.UsualThreshold(snapshot.Demands{}); a.Threshold != want || !a.Background.Due {
		t.Errorf("threshold %v, want %v; due %v", a.Threshold, want, a.Background.Due)
	}
	if a.Background.Missing == "" {
		t.Error("nothing says why the threshold is an estimate")
	}
}

// longBody is so long that it changes the mean length of a skill.
func longBody() string {
	body := ""
	for range 400 {
		body += "Many words were added later. "
	}
	return body
}

// TestDisturbLevels: a query wins over the options, and the two kinds of levels exclude
// each other.
func TestDisturbLevels(t *testing.T) {
	t.Parallel()
	ask := func(o search.Options, q search.Query) search.Answer {
		t.Helper()
		x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), nil, &searchtest.Options{Search: o})
		searchtest.Sync(t, x, "a", searchtest.Three().Refs())
		q.Text = "fill pdf forms"
		return searchtest.Ask(t, x, q)
	}
	usual := searchtest.UsualThreshold(snapshot.Demands{})
	for _, tt := range []struct {
		name      string
		o         search.Options
		q         search.Query
		threshold float64
		disturb   float64
		offers    bool
	}{
		{"default", search.Options{}, search.Query{}, usual, rank.DefaultRate, true},
		{"only named", search.Options{Disturb: search.OnlyNamed}, search.Query{}, 1, 0, false},
		{"every prompt", search.Options{Disturb: 1, Unfit: 1}, search.Query{}, 0, 1, true},
		{"query over options", search.Options{Disturb: 1}, search.Query{Disturb: search.OnlyNamed}, 1, 0, false},
		{"threshold of the query over disturb", search.Options{Disturb: search.OnlyNamed}, search.Query{Threshold: .25}, .25, -1, true},
		{"disturb of the query over threshold", search.Options{Threshold: 1}, search.Query{Disturb: rank.DefaultRate}, usual, rank.DefaultRate, true},
		{"always", search.Options{Disturb: search.OnlyNamed}, search.Query{Threshold: search.Always}, 0, -1, true},
	} {
		a := ask(tt.o, tt.q)
		if a.Threshold != tt.threshold || a.Background.Disturb != tt.disturb || offers(a) != tt.offers {
			t.Errorf("%s: threshold %v of rate %v, offers %v", tt.name, a.Threshold, a.Background.Disturb, offers(a))
		}
	}
	x := searchtest.New(t, nil)
	for _, q := range []search.Query{{Disturb: .05, Threshold: .5}, {Disturb: 2}, {Disturb: math.NaN()}, {Unfit: .05, Threshold: .5}, {Unfit: 2}, {Threshold: 2}} {
		if _, err := x.Search(t.Context(), q); err == nil {
			t.Errorf("rates %v and %v and threshold %v are no error", q.Disturb, q.Unfit, q.Threshold)
		}
	}
}

// TestDisturbWithoutVector: figures that were measured with vectors say nothing about a
// prompt that has none.
func TestDisturbWithoutVector(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := embeddedIndex(t, e, 0)
	searchtest.Publish(t, x, true)
	must.Do(t, x.Calibrate(t.Context(), x.Calibrator(nil)))
	if b := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}).Background; b.Needless.Prompts != 500 || b.Missing != "" {
		t.Errorf("with a vector: %+v", b)
	}
	e.Answer(func(string) ([]embed.Vector, error) { return nil, searchtest.ErrEmbed })
	if b := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}).Background; b.Needless.Prompts != 0 || b.Missing == "" {
		t.Errorf("without: %+v", b)
	}
}

var _ index.Calibrator = (*search.Calibrator)(nil)
