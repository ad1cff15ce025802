package repertoire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	ranking "github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// respelt returns another spelling of a name in lower case.
func respelt(rng *rand.Rand, name string) string {
	for _, change := range []func(string) string{
		func(s string) string { return strings.ReplaceAll(s, "ß", "ss") },
		func(s string) string { return strings.Replace(s, "ss", "ß", 1) },
		func(s string) string { return strings.ReplaceAll(s, "ё", "е") },
		func(s string) string { return strings.Replace(s, "е", "ё", 1) },
		strings.ToUpper,
		norm.NFD.String,
		norm.NFC.String,
	} {
		if rng.IntN(2) == 0 {
			name = change(name)
		}
	}
	return name
}

// TestNamesInAnySpelling: whoever spells a name in another way means the same skill, tag or file, at every
// door and in every rule; and a skill that a rule keeps out stays out.
func TestNamesInAnySpelling(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(47, 11))
	for _, name := range []string{"größenmaß", "straßenplan", "отчёт-счёт", "ёлка", "passwort-prüfung"} {
		for range testsize.Rounds(3, 12) {
			spelt := func() string { return respelt(rng, name) }
			id, file := spelt(), "references/"+spelt()+".md"
			text := strings.Replace(doc(id, "Does "+spelt()+" well."), "---\nBody", fmt.Sprintf("metadata:\n  tags: [%s]\n---\nBody", spelt()), 1)
			label := "plugin:" + spelt()
			src := memory(t, label, 0, map[string]string{id + "/SKILL.md": text, id + "/" + file: "The reference.", "other/SKILL.md": doc("other", "Does other things.")})
			c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
			others := slices.DeleteFunc(list(t, c, nil, false), func(s string) bool { return s == id })
			if len(others) != 1 {
				t.Fatalf("%q: the catalog has %q", id, list(t, c, nil, false))
			}

			if hits, _ := search(t, c, repertoire.Query{Text: spelt()}); len(hits) == 0 || hits[0] != id {
				t.Errorf("a search for %q finds %q, not %q", spelt(), hits, id)
			}
			for _, as := range []string{spelt(), label + "/" + spelt()} {
				e, err := c.Lookup(t.Context(), as, nil)
				b, err2 := c.Body(t.Context(), as, nil)
				if err != nil || err2 != nil || e.ID != id || b.ID != id {
					t.Errorf("%q is looked up as %q: %q, %v; %v", id, as, e.ID, err, err2)
				}
			}
			as := "./references/" + spelt() + ".md"
			if f, err := c.File(t.Context(), spelt(), as, nil); err != nil || f.Path != file || f.Text != "The reference." {
				t.Errorf("file %q is read as %q: %+v, %v", file, as, f, err)
			}

			for what, rules := range map[string]repertoire.Rules{
				"name":      {Names: []string{spelt()}},
				"pattern":   {Names: []string{string([]rune(norm.NFC.String(spelt()))[:3]) + "*"}},
				"full name": {Names: []string{strings.TrimPrefix(label, "plugin:") + ":" + spelt()}},
				"tag":       {Tags: []string{spelt()}},
			} {
				if got := list(t, c, &repertoire.Agent{Name: "a", Exclude: rules}, false); !slices.Equal(got, others) {
					t.Errorf("%q with the tag of %q: exclude %s %+v leaves %q", id, text, what, rules, got)
				}
				if got := list(t, c, &repertoire.Agent{Name: "a", Include: rules}, false); !slices.Equal(got, []string{id}) {
					t.Errorf("%q: include %s %+v lets in %q", id, what, rules, got)
				}
				must.Do(t, c.Owner().SetRules(&repertoire.Policy{Disabled: []ranking.Ban{{Rules: rules}}}, nil))
				if got := list(t, c, nil, false); !slices.Equal(got, others) {
					t.Errorf("%q: disable %s %+v leaves %q", id, what, rules, got)
				}
				must.Do(t, c.Owner().SetRules(nil, nil))
			}
			if got := list(t, c, &repertoire.Agent{Name: "a", Exclude: repertoire.Rules{Sources: []string{respelt(rng, label)}}}, false); len(got) > 0 {
				t.Errorf("exclude the source %q leaves %q", label, got)
			}
			if e, err := c.Pinned(t.Context(), &repertoire.Agent{Name: "a", Pinned: []string{spelt()}}); err != nil || len(e) != 1 || e[0].ID != id {
				t.Errorf("%q is pinned as another: %+v, %v", id, e, err)
			}
		}
	}
}

// TestFilesInTwoSpellings: a name that is none of two files is neither of them.
func TestFilesInTwoSpellings(t *testing.T) {
	t.Parallel()
	files := docs("plan")
	files["plan/Größe.md"], files["plan/groesse.md"], files["plan/GRÖSSE.md"] = "one", "other", "two"
	c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "team", 0, files)}})
	for name, want := range map[string]string{"Größe.md": "one", "GRÖSSE.md": "two", "größe.md": ""} {
		if f, err := c.File(t.Context(), "plan", name, nil); f.Text != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v", name, f.Text, err)
		}
	}
}
