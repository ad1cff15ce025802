package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// everydayNames are 500 everyday words.
func everydayNames(t *testing.T) []string {
	t.Helper()
	data := must.Read(t, filepath.FromSlash("testdata/everyday.txt"))
	return strings.Fields(data)
}

// everyday returns skills that have the names and help with nothing in particular.
func everyday(names []string) []Document {
	descriptions := []string{
		"Helps with tasks.", "Useful for everyday work.", "Tools and tips for %s.", "Helps with %s.",
		"Use this skill for anything about %s.", "Handles %s for your team, quickly and reliably.",
	}
	var list []Document
	for i, name := range names {
		about := strings.ReplaceAll(name, "-", " ")
		list = append(list, Document{ID: "everyday/" + name, Skill: &skill.Skill{
			Meta: skill.Meta{Name: name, Description: strings.ReplaceAll(descriptions[i%len(descriptions)], "%s", about), Digest: name},
			Body: fmt.Sprintf("# %s\n\nFollow these steps to get the best out of %s.\n\n1. Read what the user asks.\n2. Do it well.\n3. Say what was done.\n", name, name),
		}})
	}
	return list
}

// with returns d with more skills.
func with(d *Dataset, more []Document) *Dataset {
	larger := *d
	larger.Corpus = func(yield func(Document, error) bool) {
		for doc, err := range d.Corpus {
			if !yield(doc, err) || err != nil {
				return
			}
		}
		for _, doc := range more {
			one := *doc.Skill // indexing renames a skill whose name is taken
			doc.Skill = &one
			if !yield(doc, nil) {
				return
			}
		}
	}
	return &larger
}

// indexed indexes a data set for hybrid ranking.
func indexed(t *testing.T, d *Dataset) *Catalog {
	t.Helper()
	return indexedBy(t, nil, d)
}

// indexedBy is indexed with an encoder.
func indexedBy(t *testing.T, encoder embed.Embedder, d *Dataset) *Catalog {
	t.Helper()
	embedder, err := static.Default()
	must.Do(t, err)
	c, err := NewCatalog(t.Context(), d, &Setup{Mode: Hybrid, Embedder: embedder, Contextual: encoder})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// hit1 returns the Hit@1 of a data set.
func hit1(t *testing.T, d *Dataset) float64 {
	t.Helper()
	s, err := Run(t.Context(), indexed(t, d), d, nil)
	must.Do(t, err)
	for _, m := range s.Metrics {
		if m.Name == "hit@1" {
			return m.Value
		}
	}
	t.Fatal("no prompt wants a skill")
	return 0
}

// ownSet returns the skills and prompts of this project as a data set.
func ownSet(t *testing.T) *Dataset {
	t.Helper()
	src, err := source.Dir(filepath.FromSlash("../testdata/skills"), nil)
	must.Do(t, err)
	d := &Dataset{Name: "own", Corpus: sourceCorpus(t.Context(), src)}
	for i, q := range readQueries(t, filepath.FromSlash("../testdata/queries.tsv")) {
		query := Query{ID: fmt.Sprint(i), Text: q.prompt, Kind: "none"}
		for _, name := range q.wanted {
			query.Kind, query.Wanted = "positive", append(query.Wanted, name+"/SKILL.md")
		}
		d.Queries = append(d.Queries, query)
	}
	return d
}

// TestEverydayNames: skills that are named like everyday words do not push away the
// skills that prompts with these words want.
func TestEverydayNames(t *testing.T) {
	testsize.Long(t)
	t.Run("own", func(t *testing.T) {
		d := ownSet(t)
		for i := range d.Queries {
			d.Queries[i].Text += " Keep `root` and $time as they are."
		}
		checkEveryday(t, d, []string{"time", "c", "root", "git", "e-commerce", "follow-up", "end-to-end"}, .1)
	})
	for _, name := range []string{"skill-evals", "swe-skills-bench"} {
		t.Run(name, func(t *testing.T) {
			if testsize.Rounds(0, 1) == 0 {
				t.Skip("needs REPERTOIRE_LONG=1")
			}
			d, err := readSet(filepath.Dir(sharedFile(t, "bench/"+name+"/queries.jsonl")), "")
			must.Do(t, err)
			checkEveryday(t, d, everydayNames(t), .011)
		})
	}
}

// checkEveryday checks that skills with these names lower Hit@1 by no more than most.
func checkEveryday(t *testing.T, d *Dataset, names []string, most float64) {
	t.Helper()
	alone, among := hit1(t, d), hit1(t, with(d, everyday(names)))
	t.Logf("Hit@1 %.3f, among everyday names %.3f", alone, among)
	if among < alone-most {
		t.Errorf("Hit@1 %.3f falls to %.3f", alone, among)
	}
}

// TestEverydaySmallTalk: small talk with an everyday word is not taken for the name of a
// skill, and a skill that is named for certain is offered all the same.
func TestEverydaySmallTalk(t *testing.T) {
	testsize.Long(t)
	c := indexed(t, with(ownSet(t), everyday(everydayNames(t))))
	provider := contextprovider.New(c.search, nil)
	for prompt, want := range map[string]string{
		"thanks, that follow-up was great":   "",
		"the end-to-end test is green, nice": "",
		"wow, `time` flies":                  "",
		"print $value and $time":             "",
		"/follow-up":                         "follow-up",
		"use the follow-up skill":            "follow-up",
	} {
		block, err := provider.Block(t.Context(), prompt, contextprovider.Budget{}, nil)
		must.Do(t, err)
		names := []string{}
		for _, h := range block.Skills {
			names = append(names, h.Name)
		}
		if want == "" && len(names) > 0 || want != "" && (len(names) == 0 || names[0] != want) {
			t.Errorf("%q is offered %q, want %q", prompt, names, want)
		}
	}
}
