package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// sizes are the catalogs of the benchmarks.
var sizes = []int{500, 20_000, 100_000}

// benchDim is the dimension of the built-in embedder's vectors.
const benchDim = 256

// medianOf runs f as often as the benchmark asks, and reports the median and the 99th
// percentile of its duration.
func medianOf(b *testing.B, f func(i int)) {
	b.Helper()
	b.ReportAllocs()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		f(i)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// prompts returns prompts of n terms. No term is in half of the documents, because
// ranking ignores such terms.
func prompts(b *testing.B, s *snapshot.Snapshot, n int) [][]string {
	g := newGenerator(99)
	list := make([][]string, 64)
	for i := range list {
		for len(list[i]) < n {
			term := g.terms(1)[0]
			if docs := lookup(b, s, term)[0].Docs; docs > 0 && 2*docs < s.Len() {
				list[i] = append(list[i], term)
			}
		}
	}
	return list
}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range sizes {
		docs := newGenerator(uint64(n)).documents(n, 300, benchDim)
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkSnapshot(b, docs) })
	}
}

func benchmarkSnapshot(b *testing.B, docs []document) {
	meta := snapshot.Meta{Models: model("", benchDim), Weights: weights}
	path := write(b, meta, docs)
	s := open(b, path)
	b.Run("size", func(b *testing.B) { reportSize(b, path, docs) })
	for _, terms := range []int{5, 25} {
		list := prompts(b, s, terms)
		b.Run(fmt.Sprintf("search/terms=%d", terms), func(b *testing.B) {
			medianOf(b, func(i int) { search(b, s, list[i%len(list)], s.All(), 100) })
		})
	}
	b.Run("nearest", func(b *testing.B) {
		g := newGenerator(7)
		read(b, s, func(r *snapshot.Reader) {
			medianOf(b, func(int) {
				p, err := r.Prompt(snapshot.Words, g.vector(benchDim))
				must.Do(b, err)
				if _, err := r.Nearest(p, s.All(), 100); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
	b.Run("write", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "again")
		medianOf(b, func(int) {
			must.Do(b, snapshot.Write(atomicfile.OS{}, path, meta, each(docs)))
		})
	})
	b.Run("cold", func(b *testing.B) {
		list := prompts(b, s, 12)
		medianOf(b, func(i int) {
			s, err := snapshot.Open(path)
			must.Do(b, err)
			search(b, s, list[i%len(list)], s.All(), 100)
			must.Do(b, s.Close())
		})
	})
}

// reportSize reports the size of a file, and how large it is per byte of text.
func reportSize(b *testing.B, path string, docs []document) {
	info, err := os.Stat(path)
	must.Do(b, err)
	text := 0
	for _, d := range docs {
		for _, list := range [][]string{d.Fields.Name, d.Fields.Description, d.Fields.Tags, d.Fields.Body} {
			for _, t := range list {
				text += len(t) + 1
			}
		}
	}
	b.ReportMetric(float64(info.Size())/1e6, "file-MB")
	b.ReportMetric(float64(info.Size())/float64(text), "file/text")
}
