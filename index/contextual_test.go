package index_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An understanding encoder knows that two words mean the same.
type understanding struct{ embedtest.Fake }

func (u *understanding) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	same := strings.NewReplacer("movie", "film", "shorten", "cut")
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = same.Replace(text)
	}
	return u.Fake.Embed(ctx, kind, list)
}

var films = searchtest.TreeOf(
	searchtest.Skill("scissors", "Cut a film", "Takes parts out."),
	searchtest.Skill("bread", "Bake a loaf", "Flour and water."),
	searchtest.Skill("taxes", "File a return", "Numbers and forms."))

const movie = "shorten my movie"

// openFilms returns a catalog with films in a file, in which only the word vectors are there.
func openFilms(t *testing.T, path string, opts *searchtest.Options) *searchtest.Catalog {
	x := searchtest.Open(t, path, &embedtest.Fake{Name: "words"}, opts)
	searchtest.Sync(t, x, "home", films.Refs())
	searchtest.Embed(t, x)
	searchtest.Publish(t, x, false)
	return x
}

func wantMode(t *testing.T, x *searchtest.Catalog, want string) search.Answer {
	t.Helper()
	a := searchtest.Ask(t, x, search.Query{Text: movie})
	if a.Mode != want {
		t.Errorf("mode %q, want %q", a.Mode, want)
	}
	return a
}

func TestContextual(t *testing.T) {
	t.Parallel()
	path, u := filepath.Join(t.TempDir(), "catalog.db"), &understanding{embedtest.Fake{Name: "sentences"}}
	x := openFilms(t, path, &searchtest.Options{Index: index.Options{Contextual: u}})
	wantMode(t, x, "hybrid")
	must.Do(t, x.Calibrate(t.Context(), x.Calibrator(nil)))
	must.Do(t, x.Contextual.Embed(t.Context(), nil))
	searchtest.Publish(t, x, false)
	if u.Texts() != 3 {
		t.Errorf("the encoder got %d texts, want the name and description of each skill", u.Texts())
	}
	a := wantMode(t, x, "hybrid, contextual")
	if len(a.Hits) == 0 || a.Hits[0].Name != "scissors" || !slices.ContainsFunc(a.Hits[0].Terms, func(term rank.Term) bool { return term.Name == "sentence vector" && term.Value > .5 }) {
		t.Errorf("the skill that the encoder understands is not first: %+v", a.Hits)
	}
	if !a.Background.Due {
		t.Error("the threshold of a ranking without the encoder holds for one with it")
	}
	must.Do(t, x.Calibrate(t.Context(), x.Calibrator(nil)))
	if a := wantMode(t, x, "hybrid, contextual"); a.Background.Due || a.Background.Needless.Prompts == 0 {
		t.Errorf("calibrated with the encoder: %+v", a.Background)
	}

	more := maps.Clone(films)
	maps.Copy(more, searchtest.TreeOf(searchtest.Skill("garden", "Plant a tree", "Dig.")))
	searchtest.Sync(t, x, "home", more.Refs())
	searchtest.Embed(t, x)
	searchtest.Publish(t, x, false)
	if a := wantMode(t, x, "hybrid, contextual for 3 of 4 skills"); a.Hits[0].Name != "scissors" {
		t.Errorf("first of skills of which one lacks a vector: %s", a.Hits[0].Name)
	}

	late := &understanding{embedtest.Fake{Name: "sentences", Delay: time.Hour}}
	y := x.Another(t, &embedtest.Fake{Name: "words"}, &searchtest.Options{
		Index: index.Options{Contextual: late}, Search: search.Options{ContextualDeadline: time.Millisecond},
	})
	wantMode(t, y, "hybrid, encoder late")

	other := &understanding{embedtest.Fake{Name: "other"}}
	z := x.Another(t, &embedtest.Fake{Name: "words"}, &searchtest.Options{Index: index.Options{Contextual: other}})
	searchtest.Publish(t, z, false)
	wantMode(t, z, "hybrid")
	must.Do(t, z.Contextual.Embed(t.Context(), nil))
	searchtest.Embed(t, z)
	searchtest.Publish(t, z, false)
	wantMode(t, z, "hybrid, contextual")
	models, err := x.Store.Models(t.Context())
	must.Do(t, err)
	if len(models) != 2 || models[0].Name != "other" || models[1].Name != "words" {
		t.Errorf("models %v: the encoder that is in use no more is to go", models)
	}
}

// TestContextualAlone ranks by text and the encoder, without an embedder.
func TestContextualAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	x := searchtest.Open(t, path, nil, &searchtest.Options{Index: index.Options{Contextual: new(understanding)}})
	searchtest.Sync(t, x, "home", films.Refs())
	must.Do(t, x.Contextual.Embed(t.Context(), nil))
	searchtest.Publish(t, x, false)
	if a := wantMode(t, x, "text (no embedder), contextual"); len(a.Hits) == 0 || a.Hits[0].Name != "scissors" {
		t.Errorf("hits %+v, want scissors first", a.Hits)
	}
}

// TestEmbedFor: when the time is over a batch ends, what it has made ranks, and the next call
// goes on.
func TestEmbedFor(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { now = now.Add(time.Second); return now }
	u := &understanding{embedtest.Fake{Name: "sentences"}}
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), nil, &searchtest.Options{Index: index.Options{Contextual: u, Now: clock}})
	const skills = 40
	searchtest.Sync(t, x, "home", searchtest.Many(skills).Refs())
	calls := 0
	for done := false; !done; calls++ {
		if calls > 9 {
			t.Fatal("it does not end")
		}
		var err error
		_, done, err = x.Contextual.EmbedFor(t.Context(), 1, nil)
		must.Do(t, err)
		searchtest.Publish(t, x, false)
		want := "text (no embedder), contextual"
		if n := u.Texts() - calls; n < skills { // each question is a text, too
			want = fmt.Sprintf("%s for %d of %d skills", want, n, skills)
		}
		if a := searchtest.Ask(t, x, search.Query{Text: "topic3 fruit"}); a.Mode != want {
			t.Errorf("after call %d: mode %q, want %q", calls, a.Mode, want)
		}
	}
	if n := u.Texts() - calls; n != skills || calls < 2 {
		t.Errorf("%d calls embedded %d texts, want several and %d", calls, n, skills)
	}
}

// TestEmbedAdded: skills that are added while others are embedded get their vectors, too.
func TestEmbedAdded(t *testing.T) {
	t.Parallel()
	u := &understanding{embedtest.Fake{Name: "sentences"}}
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), nil, &searchtest.Options{Index: index.Options{Contextual: u}})
	searchtest.Sync(t, x, "home", searchtest.Many(20).Refs())
	added := false
	must.Do(t, x.Contextual.Embed(t.Context(), func(int, int) {
		if !added {
			added = true
			searchtest.Sync(t, x, "more", films.Refs())
		}
	}))
	if u.Texts() != 23 {
		t.Errorf("%d texts embedded, want those of 20 skills and of 3 that were added", u.Texts())
	}
}

// A fitted encoder comes with vectors of queries, and takes each query for a task.
type fitted struct {
	understanding
	fit string
}

func (f *fitted) Fit() string { return f.fit }

// Reads implements embed.Fitted.
func (*fitted) Reads(query string) bool { return !strings.Contains(query, "龘") }

func (*fitted) Prepared(queries []string) []embed.Vector {
	vectors, _ := new(understanding).Embed(context.Background(), embed.Query, queries) // a fake without an error
	return vectors
}

func (*fitted) Subjects() []embed.Vector { return nil }

func (*fitted) Request(embed.Vector, float64) (float64, bool) { return 5, true }

// TestContextualThreshold: a prompt is compared with prompts that were ranked as it was, with the
// encoder or, when it is late, without. The vectors of those prompts come with the encoder.
func TestContextualThreshold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	with := func(delay time.Duration) *fitted {
		return &fitted{understanding: understanding{embedtest.Fake{Name: "sentences", Delay: delay}}}
	}
	f := with(0)
	x := openFilms(t, path, &searchtest.Options{Index: index.Options{Contextual: f}})
	must.Do(t, x.Contextual.Embed(t.Context(), nil))
	searchtest.Publish(t, x, false)
	calibrate(t, x)
	if f.Texts() != 3 {
		t.Errorf("the encoder got %d texts, want those of the skills and no prompts", f.Texts())
	}
	set, err := x.Current(t.Context())
	must.Do(t, err)
	c := set.Calibration
	if slices.Equal(c.Demands[""].Needless, c.Contextual[""].Needless) {
		t.Error("the encoder makes no difference to the demands")
	}
	late := x.Another(t, &embedtest.Fake{Name: "words"}, &searchtest.Options{
		Index: index.Options{Contextual: with(time.Hour)}, Search: search.Options{ContextualDeadline: time.Millisecond},
	})
	for _, tt := range []struct {
		x       *searchtest.Catalog
		mode    string
		demands snapshot.Demands
	}{{x, "hybrid, contextual", c.Contextual[""]}, {late, "hybrid, encoder late", c.Demands[""]}} {
		a := wantMode(t, tt.x, tt.mode)
		if want := searchtest.UsualThreshold(tt.demands); a.Threshold != want || a.Background.Needless.Prompts != 500 || a.Background.Due {
			t.Errorf("%s: threshold %v, want %v; %+v", tt.mode, a.Threshold, want, a.Background)
		}
		request := slices.IndexFunc(a.Demand.Terms, func(term rank.Term) bool { return term.Name == "request" })
		if got := a.Demand.Terms[request].Value == 5; got != (tt.x == x) {
			t.Errorf("%s: the encoder tells what the prompt asks for: %v", tt.mode, got)
		}
	}
	other := searchtest.Ask(t, x, search.Query{Text: "龘靐 film"})
	if want := searchtest.UsualThreshold(c.Demands[""]); other.Mode != "hybrid, not contextual (other script)" || other.Threshold != want {
		t.Errorf("a prompt that the encoder cannot read: mode %q, threshold %v, want %v", other.Mode, other.Threshold, want)
	}
	if x.Calibrator(nil).Due(set) {
		t.Error("a calibrated set is due")
	}
	refitted := with(0)
	refitted.fit = "again"
	y := x.Another(t, &embedtest.Fake{Name: "words"}, &searchtest.Options{Index: index.Options{Contextual: refitted}})
	if !y.Calibrator(nil).Due(set) || !wantMode(t, y, "hybrid, contextual").Background.Due {
		t.Error("a calibration holds for an encoder that was fitted again")
	}
}

// TestExamples: the encoder embeds the examples of skills; they find them, the skill's own prompt
// aside where it is tried, and less so if its source is trusted less.
func TestExamples(t *testing.T) {
	t.Parallel()
	const prompt, other = "prune roses every spring", "roses in spring"
	tree := func(examples ...string) searchtest.Tree {
		s := searchtest.Skill("xylophone", "Play music", "Notes.")
		for _, e := range examples {
			s.AddExample(e)
		}
		s.Digest += fmt.Sprint(examples)
		all := maps.Clone(films)
		maps.Copy(all, searchtest.TreeOf(s))
		return all
	}
	u := &understanding{embedtest.Fake{Name: "sentences"}}
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), &embedtest.Fake{Name: "words"}, &searchtest.Options{Index: index.Options{Contextual: u}})
	publish := func(tree searchtest.Tree) {
		searchtest.Sync(t, x, "home", tree.Refs())
		searchtest.Embed(t, x)
		must.Do(t, x.Contextual.Embed(t.Context(), nil))
		searchtest.Publish(t, x, false)
	}
	example := func(q search.Query) float64 {
		for _, h := range searchtest.Ask(t, x, q).Hits {
			for _, term := range h.Terms {
				if h.Name == "xylophone" && term.Name == "example" {
					return term.Value
				}
			}
		}
		return 0
	}
	publish(tree())
	if got := example(search.Query{Text: prompt}); got != 0 {
		t.Errorf("without examples, one counts %.3f", got)
	}
	publish(tree(prompt, "bake bread"))
	if a := searchtest.Ask(t, x, search.Query{Text: other}); a.Mode != "hybrid, contextual" || a.Unencoded {
		t.Errorf("with examples: %s, unencoded: %t", a.Mode, a.Unencoded)
	}
	whole, part := example(search.Query{Text: prompt}), example(search.Query{Text: other})
	if !(whole > .69 && part > 0 && part < whole) {
		t.Errorf("the example counts %.3f for itself and %.3f for a prompt like it", whole, part)
	}
	if got := example(search.Query{Text: prompt, Trial: true}); got != 0 {
		t.Errorf("an example counts %.3f for itself in a trial", got)
	}
	if got := example(search.Query{Text: other, Trial: true}); got != part {
		t.Errorf("an example counts %.3f in a trial for another prompt, want %.3f", got, part)
	}
	x.SetPolicy(&search.Policy{Lower: []string{"home"}}, nil)
	if got := example(search.Query{Text: prompt}); got < whole/2-.001 || got > whole/2+.001 {
		t.Errorf("the example of a stranger counts %.3f, want half of %.3f", got, whole)
	}
	nobody := &search.Agent{Name: "nobody", Exclude: search.Rules{Names: []string{"xylophone"}}}
	if got := example(search.Query{Text: prompt, Agent: nobody}); got != 0 {
		t.Errorf("an example counts %.3f for an agent that does not see the skill", got)
	}
	before := u.Texts()
	publish(tree(prompt, "bake bread", "sow beans"))
	if n := u.Texts() - before; n != 1 {
		t.Errorf("the encoder got %d texts after one example was added", n)
	}
	publish(tree())
	if got := example(search.Query{Text: prompt}); got != 0 {
		t.Errorf("an example that is gone counts %.3f", got)
	}
}
