package index

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// prompts are of the length that people type to agents.
func prompts() []string {
	return []string{
		"Can you fill in the attached PDF form with the data from customers.csv and save one file per customer?",
		"The checkout page re-renders on every keystroke, find out why and fix it without changing the API of the components",
		"write a postgres migration that adds a tenant_id column to all tables and backfills it from the accounts table",
		"Our terraform state is locked since the CI job was cancelled this morning, how do I recover without losing resources?",
		"Prepare slides for the board meeting from these notes, about ten of them, with one chart on revenue by quarter",
		"I need to find which commit broke the login test, it worked in the release two weeks ago",
		"please review this pull request for security problems, especially the way the session token is stored in the browser",
		"Translate the user guide to German and Japanese, keep the headings and the code blocks as they are",
		"kubernetes pods of the payment service keep restarting with exit code 137 after the last deployment to staging",
		"why does getHTTPResponse return null when the server answers with a redirect, and where should that be handled?",
	}
}

// corpus returns n skills: of the shared corpus when it is there, else
// generated ones.
func corpus(tb testing.TB, n int) tree {
	f, err := os.Open(filepath.Join("..", "..", "shared", "corpus", "skills.jsonl.gz"))
	if err != nil {
		return generatedTree(n, 900)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	t := make(tree)
	for lines := bufio.NewReader(z); len(t) < n; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var s struct{ Repo, Path, Name, Description, Body string }
		if err := json.Unmarshal(line, &s); err != nil {
			tb.Fatal(err)
		}
		t[s.Repo+"/"+s.Path] = newSkill(s.Name, s.Description, s.Body)
	}
	return t
}

// generatedTree returns n skills with bodies of that many words, spread as in real
// texts: a few words are everywhere, most are rare. Every tenth name is there
// twice, and some words are those of prompts.
func generatedTree(n, length int) tree {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(length)))
	zipf := rand.NewZipf(rng, 1.1, 4, 20_000)
	known := words.Terms(strings.Join(prompts(), " "))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			if w := zipf.Uint64(); w%50 == 7 {
				b.WriteString(known[rng.IntN(len(known))] + " ")
			} else {
				fmt.Fprintf(&b, "w%d ", w)
			}
		}
		return b.String()
	}
	t := make(tree)
	for i := range n {
		name := fmt.Sprintf("skill-%d", i-i%10/9)
		t[fmt.Sprintf("dir-%04d", i)] = newSkill(name, text(min(30, length)), text(length), fmt.Sprintf("tag%d", i%5))
	}
	return t
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := newIndex(b, nil)
			syncTree(b, x, "a", corpus(b, n).refs())
			benchmarkSearch(b, x)
		})
	}
}

// benchmarkSearch reports the median time of a search in a resident process.
func benchmarkSearch(b *testing.B, x *Index) {
	texts := prompts()
	search(b, x, Query{Text: texts[0]})
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		search(b, x, Query{Text: texts[i%len(texts)]})
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{500, 2500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := &fakeEmbedder{dim: 256}
			x := newIndex(b, e)
			syncTree(b, x, "a", corpus(b, n).refs())
			embedAll(b, x)
			for b.Loop() {
				if _, err := x.assembled(context.Background(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSync(b *testing.B) {
	skills := corpus(b, 500)
	for b.Loop() {
		syncTree(b, newIndex(b, nil), "a", skills.refs())
	}
	b.ReportMetric(float64(b.N*len(skills))/b.Elapsed().Seconds(), "skills/s")
}
