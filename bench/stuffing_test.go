package bench

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestStuffing: a skill that repeats the words of a prompt ranks hardly higher than one that
// says each of them once, and below the skill that is about it. Triggers and examples gain no more
// than their weight.
func TestStuffing(t *testing.T) {
	testsize.Long(t)
	const prompt = "repair the leaking garden hose and water the tomatoes"
	keywords := []string{"repair", "leaking", "garden", "hose", "water", "tomatoes"}
	rng := rand.New(rand.NewPCG(1, 2))
	repeated := func(times int) string { // never in the same order, so that no run of words is repeated
		var list []string
		for range times {
			list = append(list, keywords...)
		}
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return strings.Join(list, " ")
	}
	docs := everyday(everydayNames(t)[:testsize.Rounds(20, 60)])
	honest, other := docs[0].Skill, docs[1].Skill
	honest.Description = "Repairs a leaking garden hose and plans when to water tomatoes. Use it in the garden."
	honest.Body = "Find the leak of the hose, cut it out and join the ends. Water tomatoes in the morning."
	encoder, err := contextual.Default()
	must.Do(t, err)
	// score returns the score of the other skill after an edit.
	score := func(t *testing.T, e embed.Embedder, edit func(d *Document)) float64 {
		list, one := slices.Clone(docs), *other
		list[1].Skill = &one
		edit(&list[1])
		c := indexedBy(t, e, with(&Dataset{Name: "stuffed", Queries: []Query{{ID: "q", Text: prompt}}, Corpus: func(func(Document, error) bool) {}}, list))
		a, ids, err := c.Search(t.Context(), search.Query{Text: prompt, Limit: 100, Threshold: search.Always})
		must.Do(t, err)
		at := slices.Index(ids, docs[1].ID)
		if ids[0] != docs[0].ID || at < 0 {
			t.Fatalf("found %q", ids)
		}
		return a.Hits[at].Score
	}
	for _, tt := range []struct {
		field string
		edit  func(d *Document, text string)
		gain  float64 // most that a repetition adds to the score, which for the prompt's own skill is above 3
	}{
		{"description", func(d *Document, text string) { d.Skill.Description = text + ". " + d.Skill.Description }, .01},
		{"when to use", func(d *Document, text string) { d.Skill.WhenToUse = text }, .01},
		{"tags", func(d *Document, text string) { d.Skill.Tags = strings.Fields(text) }, .01},
		{"triggers", func(d *Document, text string) { d.Skill.Triggers.Keywords = strings.Fields(text) }, .01},
		{"examples", func(d *Document, text string) { stuff(&d.Skill.Meta, text) }, .1},
		{"body", func(d *Document, text string) { d.Skill.Body += strings.Repeat("And so on.\n", 400) + text }, .7}, // BM25 saturates
	} {
		e := embed.Embedder(nil)
		if tt.field == "examples" {
			e = encoder // without one they say nothing
		}
		once := score(t, e, func(d *Document) { tt.edit(d, repeated(1)) })
		p := rank.Defaults()
		most := map[string]float64{"triggers": p.Trigger, "examples": (1 - rank.ExampleFloor) * p.Legs[rank.Example]}
		if gain := once - score(t, e, func(*Document) {}); most[tt.field] > 0 && gain > most[tt.field]+.01 {
			t.Errorf("%s: %+.3f for words of the prompt", tt.field, gain)
		}
		for _, n := range []int{3, 40} {
			gain := score(t, e, func(d *Document) { tt.edit(d, repeated(n)) }) - once
			t.Logf("%s: %.3f, %+.3f for the words %d times", tt.field, once, gain, n)
			if gain > tt.gain {
				t.Errorf("%s: %.3f, %+.3f for the words %d times", tt.field, once, gain, n)
			}
		}
	}
}

// stuff gives a skill the text as an example, and as many parts of it as there is room for.
func stuff(m *skill.Meta, text string) {
	list := strings.Fields(text)
	for n := len(list); n > 0; n = n * 3 / 4 {
		m.AddExample(strings.Join(list[:n], " "))
	}
}
