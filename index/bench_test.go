package index_test

import (
	"fmt"
	"testing"

	"github.com/repertoire-skills/repertoire/search/searchtest"
)

func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := new(searchtest.Embedder).SetDim(256)
			x := searchtest.New(b, e)
			searchtest.Sync(b, x, "a", searchtest.Corpus(b, n).Refs())
			searchtest.Embed(b, x)
			for b.Loop() {
				if _, err := x.Assemble(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSync(b *testing.B) {
	skills := searchtest.Corpus(b, 500)
	for b.Loop() {
		searchtest.Sync(b, searchtest.New(b, nil), "a", skills.Refs())
	}
	b.ReportMetric(float64(b.N*len(skills))/b.Elapsed().Seconds(), "skills/s")
}
