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
		description, body, _ := strings.Cut(about, " | ")
		skills[name] = Document{ID: name, Skill: &skill.Skill{Meta: skill.Meta{Name: name, Description: description, Digest: name}, Body: "# " + name + "\n\n" + body + "\n"}}
		prompts[name] = strings.Split(rest, "\n")
	}
	return skills, prompts, talk
}

// TestVagueSkills: skills that say hardly anything of themselves are offered for prompts that
// want them, alone and among hundreds of others, and not for small talk.
func TestVagueSkills(t *testing.T) {
	skills, prompts, talk := vagueSkills(t)
	names := slices.Sorted(maps.Keys(skills))
	others := publishedSkills(t, 400)
	for i, s := range others {
		skills["other"+fmt.Sprint(i)] = Document{ID: fmt.Sprint("other", i), Skill: s}
	}
	all := slices.Sorted(maps.Keys(skills))
	check := func(t *testing.T, catalog, wanted []string, least float64) {
		d := &Dataset{Name: "vague", Corpus: func(yield func(Document, error) bool) {
			for _, name := range catalog {
				one := *skills[name].Skill
				if !yield(Document{ID: skills[name].ID, Skill: &one}, nil) {
					return
				}
			}
		}}
		c := indexed(t, d)
		provider := contextprovider.New(c.search, nil)
		block := func(p string) (names []string, a search.Ranking) {
			b, err := provider.Block(t.Context(), p, contextprovider.Budget{Command: "skills"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range b.Skills {
				names = append(names, h.Name)
			}
			return names, b.Ranking
		}
		offered, asked := 0, 0
		for _, name := range wanted {
			for _, p := range prompts[name] {
				asked++
				b, a := block(p)
				if slices.Contains(b, name) {
					offered++
				} else {
					t.Logf("%s: %s: %v; %s %.3f of %.3f", name, p, b, a.Kind, a.Demand.Probability, a.Threshold)
				}
			}
		}
		if got := float64(offered) / float64(asked); got < least {
			t.Errorf("offered for %d of %d prompts, want %.2f", offered, asked, least)
		} else {
			t.Logf("offered for %d of %d prompts", offered, asked)
		}
		for _, p := range talk {
			if b, a := block(p); len(b) > 0 {
				t.Errorf("%q: %v %s %.3f", p, b, a.Kind, a.Demand.Probability)
			}
		}
	}
	t.Run("each", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) { check(t, []string{name}, []string{name}, .9) })
		}
	})
	t.Run("twelve", func(t *testing.T) { check(t, names, names, .9) })
	t.Run("among 400", func(t *testing.T) { check(t, all, names, .7) })
}
