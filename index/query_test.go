package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// counted returns frequencies from a map, in a catalog of n skills.
func counted(n int, docs map[string]int) frequencies {
	return func(_ context.Context, terms []string) (map[string]int, int, error) {
		counts := make(map[string]int)
		for _, t := range terms {
			if docs[t] > 0 {
				counts[t] = docs[t]
			}
		}
		return counts, n, nil
	}
}

func promptOf(t *testing.T, text string, f frequencies) *prompt {
	t.Helper()
	p, err := newPrompt(t.Context(), newAnalyzer(), text, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPromptChoosesTerms(t *testing.T) {
	docs := map[string]int{"pdf": 5, "form": 9, "file": 49, "common": 50, "data": 100}
	for text, want := range map[string]string{
		"":                         "",
		"the and of":               "",
		"form pdf":                 `"pdf" OR "form"`,
		"file form pdf pdf":        `"pdf" OR "form" OR "file"`,
		"common form":              `"form"`,
		"data common":              `"common"`,
		"data":                     `"data"`,
		"unknown":                  ``,
		"unknown form NEAR( \" * ": `"form"`,
	} {
		if got := promptOf(t, text, counted(100, docs)).query; got != want {
			t.Errorf("%q: query %s, want %s", text, got, want)
		}
	}
}

// TestFewSkills: in a catalog of one, every word is in all of its skills.
func TestFewSkills(t *testing.T) {
	p := promptOf(t, "fill pdf form", counted(1, map[string]int{"fill": 1, "pdf": 1}))
	if p.query != `"fill" OR "pdf"` {
		t.Errorf("query %s", p.query)
	}
	n := &names{all: []string{"fill", "pdf"}}
	if got, _ := p.coverage(n); math.Abs(got-2.0/3) > .01 {
		t.Errorf("coverage %v, want two thirds", got)
	}
	x := newIndex(t, nil)
	syncTree(t, x, "a", treeOf(newSkill("pdf-forms", "Fill PDF forms", "body")).refs())
	for text, want := range map[string]bool{"fill this pdf form": true, "bake me a cake": false} {
		hits := search(t, x, Query{Text: text}).Hits
		if got := len(hits) > 0 && hits[0].Relevant; got != want {
			t.Errorf("%q: relevant %v, want %v; %+v", text, got, want, hits)
		}
	}
}

func TestLongPromptKeepsRarest(t *testing.T) {
	docs := make(map[string]int)
	var words, want []string
	for i := range 60 {
		w := fmt.Sprintf("w%d", i)
		docs[w] = i + 1
		words = append(words, w)
		if i < maxTerms {
			want = append(want, `"`+w+`"`)
		}
	}
	slices.Reverse(words)
	p := promptOf(t, strings.Join(words, " "), counted(1000, docs))
	if got := strings.Join(want, " OR "); p.query != got {
		t.Errorf("query %s, want %s", p.query, got)
	}
	sum := 0.0
	for _, s := range p.share {
		sum += s
	}
	if sum <= 0 || sum >= 1 {
		t.Errorf("shares of the kept terms add up to %v", sum)
	}
}

func TestCoverage(t *testing.T) {
	p := promptOf(t, "pdf form unknown", counted(1000, map[string]int{"pdf": 1, "form": 1}))
	for want, n := range map[float64]*names{
		0:       {all: []string{"other"}},
		1.0 / 3: {all: []string{"form", "other"}},
		2.0 / 3: {all: []string{"form", "pdf"}},
	} {
		if got, _ := p.coverage(n); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q cover %v, want %v", n.all, got, want)
		}
	}
	for want, name := range map[float64][]string{0: nil, .5: {"pdf", "merg"}, 1: {"pdf", "unknown"}} {
		if got := p.nameCoverage(name); got != want {
			t.Errorf("name coverage of %q: %v, want %v", name, got, want)
		}
	}
}

func TestInverseFrequency(t *testing.T) {
	for _, tt := range []struct {
		docs, all int
		want      float64
	}{{1, 100, math.Log(99.5 / 1.5)}, {0, 100, math.Log(99.5 / 1.5)}, {50, 100, 0}, {100, 100, 0}, {0, 0, 0}} {
		if got := inverseFrequency(tt.docs, tt.all); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%d of %d: %v, want %v", tt.docs, tt.all, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, filler := range []string{"x", "é", "数", "🚀", "\xff", "x数"} {
		for _, shift := range []string{"", "a", "ab", "abc"} {
			long := "head " + shift + strings.Repeat(filler, maxPrompt) + " tail"
			got := clip(long)
			if len(got) > maxPrompt+1 || !strings.HasPrefix(got, "head ") || !strings.HasSuffix(got, " tail") {
				t.Errorf("%q: %d bytes, %.10q … %q", filler, len(got), got, got[max(0, len(got)-10):])
			}
			if utf8.ValidString(long) && !utf8.ValidString(got) {
				t.Errorf("%q shifted by %q: cut within a character", filler, shift)
			}
		}
	}
	short := strings.Repeat("\xff", maxPrompt)
	if clip(short) != short {
		t.Error("a text within the limit was changed")
	}
}
