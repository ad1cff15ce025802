package searchtest_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search/searchtest"
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

// inMemory opens a catalog that has no files.
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

// compareLegs compares all legs with the one that compiles everything anew, over n skills.
func compareLegs(t *testing.T, e embed.Embedder, n int) {
	t.Parallel()
	if n > 60 {
		testsize.Long(t)
	}
	sources := searchtest.Generate(n, uint64(n))
	queries := searchtest.Queries(sources, 7, testsize.Rounds(45, 90), searchtest.Agents()) // every kind for every agent
	truth := searchtest.NewTruth(t, legs["memory"].New(t, e, sources), queries)
	for name, leg := range legs {
		if name == "memory" {
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
