package search_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// counted is a text leg that knows frequencies only, in a catalog of all skills.
type counted struct {
	all  int
	docs map[string]int
}

func (c counted) frequencies(_ context.Context, _ *reading, terms []string, _ []segmentTerms) ([]int, int, error) {
	docs := make([]int, len(terms))
	for i, t := range terms {
		docs[i] = c.docs[t]
	}
	return docs, c.all, nil
}

func (counted) match(context.Context, *reading, *prompt, *scope, int) ([]snapshot.Hit, error) {
	return nil, nil
}

// promptOf returns the prompt of a text in a catalog without skills.
func promptOf(t *testing.T, text string, leg textLeg) *prompt {
	t.Helper()
	return promptIn(t, text, &reading{view: &view{}}, leg)
}

func promptIn(t *testing.T, text string, in *reading, leg textLeg) *prompt {
	t.Helper()
	p, err := newPrompt(t.Context(), new(words.Analyzer), text, in, leg)
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
		if got := promptOf(t, text, counted{100, docs}).query(); got != want {
			t.Errorf("%q: query %s, want %s", text, got, want)
		}
	}
}

// TestFewSkills: in a catalog of one, every word is in all of its skills.
func TestFewSkills(t *testing.T) {
	p := promptOf(t, "fill pdf form", counted{1, map[string]int{"fill": 1, "pdf": 1}})
	if p.query() != `"fill" OR "pdf"` {
		t.Errorf("query %s", p.query())
	}
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf-forms", "Fill PDF forms", "body")).Refs())
	for text, want := range map[string]bool{"fill this pdf form": true, "bake me a cake": false} {
		hits := searchtest.Ask(t, x, search.Query{Text: text}).Hits
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
	p := promptOf(t, strings.Join(words, " "), counted{1000, docs})
	if got := strings.Join(want, " OR "); p.query() != got {
		t.Errorf("query %s, want %s", p.query(), got)
	}
	sum := 0.0
	for _, s := range p.shares {
		sum += s
	}
	if sum <= 0 || sum >= 1 {
		t.Errorf("shares of the kept terms add up to %v", sum)
	}
}

func TestCoverage(t *testing.T) {
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Tree{
		"1": searchtest.Skill("other", "other", "pdf form"),
		"2": searchtest.Skill("other 2", "other form", "body"),
		"3": searchtest.Skill("pdf merging", "a form for a form", "body"),
		"4": searchtest.Skill("pdf unknown", "x", "body", "form"),
	}.Refs())
	err := x.read(t.Context(), nil, func(in *reading, _ *scope) error {
		p := promptIn(t, "pdf form unknown", in, counted{1000, map[string]int{"pdf": 1, "form": 1}})
		for id, want := range map[string]struct{ name, share float64 }{
			"other": {0, 0}, "other 2": {0, 1.0 / 3}, "pdf merging": {.5, 2.0 / 3}, "pdf unknown": {1, 2.0 / 3},
		} {
			i, err := in.lookup(id, func(int) bool { return true })
			if err != nil {
				return err
			}
			name := p.nameCoverage(in, i)
			share, evidence := p.coverage(in, i)
			if math.Abs(share-want.share) > 1e-9 || name != want.name || math.Abs(evidence-3*share) > 1e-9 {
				t.Errorf("%s covers %v of the prompt (%v words), and the prompt %v of its name; want %+v", id, share, evidence, name, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
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
