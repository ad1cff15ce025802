package searchtest_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// open returns a function that opens catalogs of a test with options.
func open(opts *index.Options) func(testing.TB, embed.Embedder) *searchtest.Catalog {
	return func(t testing.TB, e embed.Embedder) *searchtest.Catalog {
		t.Helper()
		return searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: *opts})
	}
}

// inMemory opens a catalog that has no files, in an engine that does not rank.
func inMemory(t testing.TB, e embed.Embedder) *searchtest.Catalog {
	t.Helper()
	return searchtest.Over(t, memorytest.New(), "", e, nil)
}

// merge publishes everything in one base.
func merge(t testing.TB, c *searchtest.Catalog) { searchtest.Publish(t, c, true) }

// delta publishes the changes since the last base as a delta.
func delta(t testing.TB, c *searchtest.Catalog) { searchtest.Publish(t, c, false) }

// legs are all ways to rank.
var legs = map[string]searchtest.Leg{
	"fts5":        {Open: open(&index.Options{FTS5: true})},
	"unpublished": {Open: open(&index.Options{})},
	"merged":      {Open: open(&index.Options{}), Changed: merge},
	"delta":       {Open: open(&index.Options{}), Changed: delta},
	"memory":      {Open: inMemory},
}

func TestLegs(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	for name, leg := range legs {
		leg.Skills = testsize.Rounds(50, 240)
		t.Run(name, func(t *testing.T) { t.Parallel(); searchtest.Run(t, leg) })
	}
}

// TestCompare: all legs answer alike.
func TestCompare(t *testing.T) {
	t.Parallel()
	for vectors, e := range map[string]embed.Embedder{"text": nil, "vectors": &embedtest.Fake{}} {
		for _, n := range []int{1, testsize.Rounds(30, 60), testsize.Rounds(90, 300)} {
			t.Run(fmt.Sprintf("%s-%d", vectors, n), func(t *testing.T) { compareLegs(t, e, n) })
		}
	}
}

// compareLegs compares all legs with full-text search, over n skills.
func compareLegs(t *testing.T, e embed.Embedder, n int) {
	t.Parallel()
	if n > 60 {
		testsize.Long(t)
	}
	sources := searchtest.Generate(n, uint64(n))
	queries := searchtest.Queries(sources, 7, testsize.Rounds(45, 90), searchtest.Agents()) // every kind for every agent
	truth := searchtest.NewTruth(t, legs["fts5"].New(t, e, sources), queries)
	for name, leg := range legs {
		if name == "fts5" {
			continue
		}
		t.Run(name, func(t *testing.T) { truth.Compare(t, leg.New(t, e, sources)) })
	}
}

// TestCompareNotices: the comparison finds real differences.
func TestCompareNotices(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	sources := searchtest.Generate(60, 1)
	queries := searchtest.Queries(sources, 7, 30, nil)
	for i := range queries {
		queries[i].Limit = searchtest.All
	}
	x := legs["merged"].New(t, nil, sources)
	weights := index.DefaultWeights()
	weights.Body = 2
	for name, other := range map[string]*searchtest.Catalog{
		"weights": searchtest.Leg{Open: open(&index.Options{Weights: &weights})}.New(t, nil, sources),
		"changed": legs["merged"].New(t, nil, searchtest.Generate(60, 2)),
		"vectors": legs["merged"].New(t, &embedtest.Fake{}, sources),
	} {
		differ := 0
		for _, q := range queries {
			one, err1 := x.Search(t.Context(), q)
			two, err2 := other.Search(t.Context(), q)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if searchtest.Differ(one, two, 10) != "" {
				differ++
			}
		}
		if differ < len(queries)/2 {
			t.Errorf("%s: only %d of %d answers differ", name, differ, len(queries))
		}
	}
}

// TestCorpus compares the legs on real skills, with prompts made of their own
// descriptions. All answers are alike, but the ten best skills are not always the same
// ten: a quarter of the prompts come from descriptions that hundreds of skills share
// but for one word. Which of these is tenth, or among the 64 that each leg hands to
// ranking, depends on less than 1 % of a score.
func TestCorpus(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	skills := corpus(t, testsize.Rounds(300, 1200))
	sources := []searchtest.Source{{Source: store.Source{Label: "corpus", Root: "/corpus"}, Skills: skills}}
	e, err := static.Default()
	must.Do(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	var prompts []string
	for len(prompts) < testsize.Rounds(60, 200) {
		words := strings.Fields(skills[rng.IntN(len(skills))].Description)
		if len(words) < 12 {
			continue
		}
		from := rng.IntN(len(words) - 11)
		prompts = append(prompts, strings.Join(words[from:from+12], " "))
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	searchtest.Fill(t, searchtest.Open(t, path, e, &searchtest.Options{Index: index.Options{Inline: true}}), sources)
	for name, e := range map[string]embed.Embedder{"text": nil, "vectors": e} {
		compiled := searchtest.Open(t, path, e, nil)
		merge(t, compiled)
		truth := searchtest.Open(t, path, e, &searchtest.Options{Index: index.Options{FTS5: true}})
		equal, alike := 0, 0
		for _, prompt := range prompts {
			q := search.Query{Text: prompt, Limit: searchtest.All}
			a, err1 := compiled.Search(t.Context(), q)
			b, err2 := truth.Search(t.Context(), q)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if slices.Equal(ids(a), ids(b)) {
				equal++
			}
			if diff := searchtest.Differ(a, b, 10); diff == "" {
				alike++
			} else {
				t.Logf("%s: %.60q: %s", name, prompt, diff)
			}
		}
		t.Logf("%s: %d of %d sets of ten are equal, %d alike but for what is as good as equal", name, equal, len(prompts), alike)
		if equal < len(prompts)*2/3 || alike < len(prompts)*99/100 {
			t.Errorf("%s: only %d of %d sets are equal, %d alike", name, equal, len(prompts), alike)
		}
	}
}

// ids returns the IDs of the ten best hits, sorted.
func ids(a search.Answer) []string {
	list := make([]string, min(10, len(a.Hits)))
	for i, h := range a.Hits[:len(list)] {
		list[i] = h.ID
	}
	slices.Sort(list)
	return list
}

// corpus returns the first n skills of the shared corpus.
func corpus(t *testing.T, n int) []*skill.Skill {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "corpus", "skills.jsonl.gz"))
	if err != nil {
		t.Skip("without the corpus")
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	must.Do(t, err)
	var list []*skill.Skill
	for lines := json.NewDecoder(z); len(list) < n; {
		var s struct{ Repo, Path, Name, Description, Body string }
		must.Do(t, lines.Decode(&s))
		list = append(list, searchtest.NewSkill(s.Repo+"/"+strings.TrimSuffix(s.Path, "/SKILL.md"), s.Name, s.Description, s.Body))
	}
	return list
}
