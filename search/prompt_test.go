package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// counted is a text leg that knows only frequencies, in a catalog with as many skills
// as its field all says.
type counted struct {
	all  int
	docs map[string]int
}

func (c counted) frequencies(_ context.Context, _ *snapshot.View, terms []string, _ *snapshot.Terms) ([]int, int, error) {
	docs := make([]int, len(terms))
	for i, t := range terms {
		docs[i] = c.docs[t]
	}
	return docs, c.all, nil
}

func (counted) match(context.Context, *snapshot.View, *prompt, int) ([]snapshot.Hit, error) {
	return nil, nil
}

// promptOf returns the prompt of a text in a catalog without skills.
func promptOf(t *testing.T, text string, leg textLeg) *prompt {
	t.Helper()
	var p *prompt
	must.Do(t, new(snapshot.Set).Read(func(v *snapshot.View) error { p = promptIn(t, text, v, leg); return nil }))
	return p
}

func promptIn(t *testing.T, text string, v *snapshot.View, leg textLeg) *prompt {
	t.Helper()
	p, err := newPrompt(t.Context(), new(words.Analyzer), text, nil, v, leg)
	must.Do(t, err)
	return p
}

func TestPromptChoosesTerms(t *testing.T) {
	t.Parallel()
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

// TestFewSkills: a catalog of one skill works, although every word is in all skills.
func TestFewSkills(t *testing.T) {
	t.Parallel()
	p := promptOf(t, "fill pdf form", counted{1, map[string]int{"fill": 1, "pdf": 1}})
	if p.query() != `"fill" OR "pdf"` {
		t.Errorf("query %s", p.query())
	}
}

func TestLongPromptKeepsRarest(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	list := []struct {
		name, description, body, tags string
		found, words                  int     // of the name
		share                         float64 // of the prompt
	}{
		{"other", "other", "pdf form", "", 0, 0, 0},
		{"other 2", "other form", "body", "", 0, 1, 1.0 / 3},
		{"pdf merging", "a form for a form", "body", "", 1, 2, 2.0 / 3},
		{"pdf unknown", "x", "body", "form", 2, 2, 2.0 / 3},
	}
	var docs []*snapshot.Document
	for i, s := range list {
		shown := words.Terms(s.description)
		f := skill.Fields{Name: words.Terms(s.name), Description: shown, Shown: len(shown), Tags: words.Terms(s.tags), Body: words.Terms(s.body)}
		docs = append(docs, &snapshot.Document{Row: int64(i + 1), Key: s.name, Terms: f.Pack()})
	}
	readSet(t, docs, func(v *snapshot.View) {
		p := promptIn(t, "pdf form unknown", v, counted{1000, map[string]int{"pdf": 1, "form": 1}})
		for i, s := range list {
			share, evidence := p.coverage(v, i)
			if math.Abs(share-s.share) > 1e-9 || math.Abs(evidence-3*share) > 1e-9 {
				t.Errorf("%s covers %v of the prompt (%v words), want %v", s.name, share, evidence, s.share)
			}
			if found, all := p.nameWords(v, i); found != s.found || all != s.words {
				t.Errorf("the prompt has %d of %d words of the name %s, want %d of %d", found, all, s.name, s.found, s.words)
			}
		}
	})
}

// readSet calls f with a view of a set of these documents.
func readSet(t *testing.T, docs []*snapshot.Document, f func(*snapshot.View)) {
	t.Helper()
	data, err := snapshot.Encode(snapshot.Meta{Extra: []byte("{}")}, func(yield func(*snapshot.Document, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	})
	must.Do(t, err)
	snap, err := snapshot.New(data)
	must.Do(t, err)
	set, err := snapshot.NewSet(snap)
	must.Do(t, err)
	if err := set.Read(func(v *snapshot.View) error { f(v); return nil }); err != nil {
		t.Error(err)
	}
}
