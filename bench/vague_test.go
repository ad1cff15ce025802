package bench

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// vagueSkills reads the skills of testdata/vague.txt with the prompts that want them, by name,
// and the prompts that want none.
func vagueSkills(t *testing.T) (skills map[string]Document, prompts map[string][]string, talk []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash("testdata/vague.txt"))
	if err != nil {
		t.Fatal(err)
	}
	skills, prompts = make(map[string]Document), make(map[string][]string)
	for _, part := range strings.Split(string(data), "\n\n")[1:] {
		head, rest, _ := strings.Cut(strings.TrimSpace(part), "\n")
		if head == "small-talk" {
			talk = strings.Split(rest, "\n")
			continue
		}
		name, about, _ := strings.Cut(head, ": ")
		fields := append(strings.Split(about, " | "), "")
		keywords, verbs, _ := strings.Cut(fields[2], "; ")
		s := &skill.Skill{Meta: skill.Meta{Name: name, Description: fields[0], Digest: name}, Body: "# " + name + "\n\n" + fields[1] + "\n"}
		if keywords != "" {
			s.Triggers.Keywords = strings.Split(keywords, ", ")
		}
		if verbs != "" {
			s.Triggers.Verbs = strings.Split(verbs, ", ")
		}
		skills[name] = Document{ID: name, Skill: s}
		prompts[name] = strings.Split(rest, "\n")
	}
	return skills, prompts, talk
}

// TestVagueSkills: skills that say hardly anything of themselves are offered for prompts that
// want them, alone and among hundreds of others, and for hardly any small talk. The shares are
// what is reached, rounded down: prompts that share no word with their skill need a better model.
func TestVagueSkills(t *testing.T) {
	testsize.Long(t)
	skills, prompts, talk := vagueSkills(t)
	names := slices.Sorted(maps.Keys(skills))
	t.Run("each alone", func(t *testing.T) {
		var all offers
		for _, name := range names {
			all.count(t, []Document{skills[name]}, map[string][]string{name: prompts[name]}, talk)
		}
		all.check(t, .88)
	})
	var list []Document
	for _, name := range names {
		list = append(list, skills[name])
	}
	t.Run("twelve", func(t *testing.T) {
		var all offers
		all.count(t, list, prompts, talk)
		all.check(t, .75)
	})
	t.Run("among 400", func(t *testing.T) {
		for i, s := range publishedSkills(t, 400) {
			list = append(list, Document{ID: fmt.Sprint("other-", i), Skill: s})
		}
		var all offers
		all.count(t, list, prompts, talk)
		all.check(t, .6)
	})
}

// greetings are prompts that a skill's triggers must find in any catalog: two have a keyword, and
// two a verb with an object.
var greetings = []string{"greet Bob", "say hello to Ann", "wave at the crowd", "Please greet John for me"}

// offers counts prompts, and how many of them are offered what they want.
type offers struct{ right, wanting, disturbed, talk int }

// count asks prompts in a catalog whose triggers are certain.
func (o *offers) count(t *testing.T, list []Document, prompts map[string][]string, talk []string) {
	t.Helper()
	c := indexed(t, &Dataset{Name: "vague", Corpus: func(yield func(Document, error) bool) {
		for _, d := range list {
			one := *d.Skill // indexing renames a skill whose name is taken
			if d.Skill = &one; !yield(d, nil) {
				return
			}
		}
	}})
	x := c.search.(*search.Searcher)
	x.SetPolicy(&search.Policy{Triggers: map[string]string{"": "certain"}}, nil)
	if err := c.index.Calibrate(t.Context(), x.Calibrator(nil)); err != nil {
		t.Fatal(err)
	}
	provider := contextprovider.New(c.search, nil)
	offered := func(prompt string) (names []string) {
		b, err := provider.Block(t.Context(), prompt, contextprovider.Budget{Command: "skills"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range b.Skills {
			names = append(names, h.Name)
		}
		return names
	}
	for name, list := range prompts {
		for _, p := range list {
			o.wanting++
			if got := offered(p); slices.Contains(got, name) {
				o.right++
			} else if slices.Contains(greetings, p) {
				t.Errorf("%s is not offered: %s", name, p)
			} else {
				t.Logf("%s: %s: offered %q", name, p, got)
			}
		}
	}
	for _, p := range talk {
		o.talk++
		if len(offered(p)) > 0 {
			o.disturbed++
		}
	}
}

// check compares the shares with what they must be at the default rate.
func (o *offers) check(t *testing.T, least float64) {
	t.Helper()
	share := float64(o.right) / float64(o.wanting)
	t.Logf("offered for %d of %d prompts, and for %d of %d that are small talk", o.right, o.wanting, o.disturbed, o.talk)
	if share < least || float64(o.disturbed) > rank.DefaultRate*float64(o.talk) {
		t.Errorf("offered for %.2f of the prompts, want %.2f; disturbed %d of %d", share, least, o.disturbed, o.talk)
	}
}
