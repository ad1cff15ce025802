package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := searchtest.New(b, nil)
			searchtest.Sync(b, x, "a", searchtest.Corpus(b, n).Refs())
			benchmarkSearch(b, x)
		})
	}
}

// benchmarkSearch reports the median time of a search in a resident process.
func benchmarkSearch(b *testing.B, x *searchtest.Catalog) {
	texts := searchtest.Prompts()
	searchtest.Ask(b, x, search.Query{Text: texts[0]})
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		searchtest.Ask(b, x, search.Query{Text: texts[i%len(texts)]})
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

