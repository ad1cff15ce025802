package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store/memorytest"
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

func BenchmarkSnippets(b *testing.B) {
	x := searchtest.New(b, nil)
	searchtest.Sync(b, x, "a", searchtest.Corpus(b, 500).Refs())
	for _, q := range []search.Query{{Text: searchtest.Prompts()[0]}, {Text: `"pull request" OR generat*`, Syntax: true}} {
		var entries []search.Entry
		for _, h := range searchtest.Ask(b, x, q).Hits {
			entries = append(entries, h.Entry)
		}
		b.Run(fmt.Sprintf("syntax=%t/hits=%d", q.Syntax, len(entries)), func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Snippets(b.Context(), q, entries, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearchSyntax(b *testing.B) {
	for engine, x := range map[string]*searchtest.Catalog{"sqlite": searchtest.New(b, nil), "plain": searchtest.Over(b, memorytest.New(), "", nil, nil)} {
		searchtest.Sync(b, x, "a", searchtest.Corpus(b, 500).Refs())
		for _, query := range []string{`"pull request"`, `generat* AND NEAR(test case, 5)`, `name: pdf OR body: organiz*`, `a*`} {
			b.Run(engine+"/"+query, func(b *testing.B) {
				for b.Loop() {
					searchtest.Ask(b, x, search.Query{Text: query, Syntax: true})
				}
			})
		}
	}
}
