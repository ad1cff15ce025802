package index_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// TestCompileSkills: skills that are compiled into an empty catalog rank like skills
// that were indexed, also for the next process that opens the catalog.
func TestCompileSkills(t *testing.T) {
	t.Parallel()
	var skills []*skill.Skill
	for i := range 40 {
		s := searchtest.Skill(fmt.Sprintf("%03d-pdf", i), fmt.Sprintf("Fills form %d in.", i%7), strings.Repeat("Open the form. ", i), "office")
		s.Path = s.Name + "/SKILL.md"
		skills = append(skills, s)
	}
	for _, e := range []embed.Embedder{nil, &searchtest.Embedder{}} {
		want := searchtest.New(t, e)
		src := store.Source{Label: "src", Root: "/x"}
		if _, err := want.Sync(t.Context(), src, searchtest.TreeOf(skills...).Refs()); err != nil {
			t.Fatal(err)
		}
		must.Do(t, errors.Join(want.Embed(t.Context(), nil), want.Publish(t.Context(), false)))
		made := searchtest.New(t, e)
		must.Do(t, made.Compile(t.Context(), src, yielding(skills, nil)))
		must.Do(t, errors.Join(made.Close(), made.Store.Close()))
		x := searchtest.Open(t, made.Path, e, nil)
		if !x.Published(t.Context(), []store.Source{src}) {
			t.Error("what was compiled is not current")
		}
		for _, prompt := range []string{"fill the form 3 in", "pdf office", "open"} {
			wanted, found := scores(t, want, prompt), scores(t, x, prompt)
			if len(wanted) < 2 {
				t.Errorf("%q finds nothing", prompt)
			}
			// Scores differ a little: the database rounds vectors, Compile does not.
			if d := cmp.Diff(wanted, found, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < .02 })); d != "" {
				t.Errorf("%q: %s", prompt, d)
			}
		}
	}
}

// scores returns the scores of all skills that a prompt finds.
func scores(t *testing.T, x *searchtest.Catalog, prompt string) map[string]float64 {
	t.Helper()
	a, err := x.Search(t.Context(), search.Query{Text: prompt, Limit: 100})
	must.Do(t, err)
	scores := map[string]float64{a.Mode: 0}
	for _, h := range a.Hits {
		scores[h.ID] = h.Score
	}
	return scores
}

// yielding returns an iterator over skills that ends with err, unless that is nil.
func yielding(skills []*skill.Skill, err error) iter.Seq2[*skill.Skill, error] {
	return func(yield func(*skill.Skill, error) bool) {
		for _, s := range skills {
			if !yield(s, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// TestCompileSkillsBeside: Compile refuses a catalog that holds skills, and leaves
// its published files alone.
func TestCompileSkillsBeside(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "src", searchtest.TreeOf(searchtest.Skill("a", "A.", "a")).Refs())
	err := x.Compile(t.Context(), store.Source{Label: "src"}, yielding(nil, nil))
	if err == nil || !strings.Contains(err.Error(), "holds 1 skills of its own") {
		t.Errorf("error %v", err)
	}
}

// TestCompileSkillsErrors: a failed Compile leaves no file.
func TestCompileSkillsErrors(t *testing.T) {
	t.Parallel()
	list := func(names ...string) (skills []*skill.Skill) {
		for _, name := range names {
			skills = append(skills, &skill.Skill{Meta: skill.Meta{Name: name, Description: "x"}})
		}
		return skills
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		ctx    context.Context
		skills iter.Seq2[*skill.Skill, error]
		want   string
	}{
		"order":  {t.Context(), yielding(list("b", "a"), nil), `"a" does not come after "b"`},
		"twice":  {t.Context(), yielding(list("a", "A"), nil), `"a" does not come after "a"`},
		"broken": {t.Context(), yielding(list("a", "b"), broken), "broken"},
		"ended":  {ended, yielding(slices.Repeat(list("a"), 1000), nil), "context canceled"},
	} {
		x := searchtest.New(t, nil)
		err := x.Compile(c.ctx, store.Source{Label: "src"}, c.skills)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if left := append(beside(t, x.Path, ".base"), beside(t, x.Path, ".current")...); len(left) > 0 {
			t.Errorf("%s: left behind: %q", name, left)
		}
	}
}
