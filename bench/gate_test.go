package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// TestGateHolds: false injections do not grow with the catalog: probabilities mean the
// same among 50 skills as among thousands.
func TestGateHolds(t *testing.T) {
	testsize.Long(t)
	prompts, err := ReadQueries(sharedFile(t, "bench/no-skill-prompts/queries.jsonl"))
	must.Do(t, err)
	more, err := ReadQueries(sharedFile(t, "bench/metatool/queries.jsonl"))
	must.Do(t, err)
	for _, q := range more {
		if q.NeedsNone() {
			prompts = append(prompts, q)
		}
	}
	skills := publishedSkills(t, testsize.Rounds(500, 2000))
	embedder, err := static.Default()
	must.Do(t, err)
	for _, n := range []int{50, len(skills)} {
		d := &Dataset{Name: "published", Queries: prompts, Corpus: func(yield func(Document, error) bool) {
			for i, s := range skills[:n] {
				if one := *s; !yield(Document{ID: fmt.Sprint(i), Skill: &one}, nil) {
					return
				}
			}
		}}
		c, err := NewCatalog(t.Context(), d, &Setup{Mode: Hybrid, Embedder: embedder})
		must.Do(t, err)
		s, err := Run(t.Context(), c, d, nil)
		must.Do(t, err)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		t.Logf("%d skills: %.3f of %d prompts", n, s.Gate.FalseInjection.Value, s.Gate.None)
		if s.Gate.FalseInjection.Value > .1 {
			t.Errorf("%d skills: %.3f of the prompts that need none got one", n, s.Gate.FalseInjection.Value)
		}
	}
}

// TestRateInSmallCatalogs: in catalogs of few skills, too, the share of the prompts that need no
// skill and get an offer is the rate that was asked for.
func TestRateInSmallCatalogs(t *testing.T) {
	testsize.Long(t)
	var prompts []string
	err := ReadLines(sharedFile(t, "prompts/none-dev.jsonl"), func(line struct{ Prompt string }) { prompts = append(prompts, line.Prompt) })
	if err != nil {
		t.Fatal(err)
	}
	more, err := ReadQueries(sharedFile(t, "bench/no-skill-prompts/queries.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range more {
		prompts = append(prompts, q.Text)
	}
	skills := publishedSkills(t, 500)
	var all, sizes float64
	for _, n := range []int{2, 5, 10, 20, 50} {
		offered, asked := 0.0, 0.0
		for at := 0; at < testsize.Rounds(1, 8)*n; at += n {
			c := indexed(t, &Dataset{Name: "published", Corpus: func(yield func(Document, error) bool) {
				for i, s := range skills[at : at+n] {
					if one := *s; !yield(Document{ID: fmt.Sprint(i), Skill: &one}, nil) {
						return
					}
				}
			}})
			for _, p := range prompts {
				a, err := c.search.Search(t.Context(), search.Query{Text: p, Relevant: true})
				if err != nil {
					t.Fatal(err)
				}
				if asked++; len(a.Hits) > 0 && a.Hits[0].Relevant {
					offered++
				}
			}
		}
		t.Logf("%d skills: %.3f", n, offered/asked)
		all, sizes = all+offered/asked, sizes+1
	}
	if mean := all / sizes; mean > rank.DefaultRate+.025 {
		t.Errorf("%.3f of the prompts that need none got one, at a rate of %.3f", mean, rank.DefaultRate)
	}
}

// sharedFile returns the path of a file outside the repository, if it is there.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s", path)
	}
	return path
}

// publishedSkills returns n skills of the corpus, the same each time.
func publishedSkills(t *testing.T, n int) []*skill.Skill {
	t.Helper()
	var list []*skill.Skill
	for d, err := range ReadCorpus(sharedFile(t, "corpus/skills.jsonl.gz")) {
		must.Do(t, err)
		if list = append(list, d.Skill); len(list) == testsize.Rounds(1500, math.MaxInt) {
			break // reading all takes most of the time of the test
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}
