package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// holding returns a catalog of two sources in which skills cannot be had for several reasons.
func holding(t *testing.T) *repertoire.Catalog {
	t.Helper()
	var sources []source.Source
	var dirs []string
	for i, list := range []string{"bread bun tart lonely gone", "bread brioche"} {
		dir := t.TempDir()
		for name := range strings.FieldsSeq(list) {
			text := "---\nname: " + name + "\ndescription: Bakes " + name + " for source " + string('a'+rune(i)) + ".\n---\nRecipe " + string('a'+rune(i)) + ".\n"
			if name == "lonely" {
				text = strings.Replace(text, "\n---\n", "\nrequires: {commands: [no-such-oven]}\n---\n", 1)
			}
			writeSkillFile(t, filepath.Join(dir, name, "SKILL.md"), []byte(text))
		}
		s, err := source.Dir(dir, &source.Options{Label: string('a' + rune(i)), Kind: []string{"user", source.KindProject}[i], Priority: 9 - i})
		must.Do(t, err)
		sources, dirs = append(sources, s), append(dirs, dir)
	}
	writeSkillFile(t, filepath.Join(dirs[0], "tart", "large.md"), []byte(strings.Repeat("word ", 30_000)))
	c := catalogtest.Open(t, repertoire.Config{
		Sources: sources,
		Policy: &repertoire.Policy{
			Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"bun"}}, Place: repertoire.Place{File: "/etc/secret.yaml", Line: 7}}},
			Ask:      []string{source.KindProject}, Trusted: func(digest string) bool { return false },
		},
	})
	must.Do(t, os.RemoveAll(filepath.Join(dirs[0], "gone")))
	return c
}

// TestRefusals asks for skills that cannot be had. The model reads no more than an agent may
// know, also if no agent is set.
func TestRefusals(t *testing.T) {
	c := holding(t)
	for _, test := range []struct{ answer, want, not string }{
		{"<use_skill>bun</use_skill>", "Skill 'bun' not found", "disabled secret held"},
		{"<use_skill>brioche</use_skill>", "Skill 'brioche' is held back\nOnly the user can release it, after a review; go on without it.", "trusted project"},
		{"<read_resource skill='brioche'>SKILL.md</read_resource>", "Skill 'brioche' is held back", "Recipe"},
		{"<use_skill>bread</use_skill>", "Recipe a.", "held"}, // of two the first source
		{"<use_skill>a/bread</use_skill>", "Recipe a.", ""},
		{"<use_skill>b/bread</use_skill>", "Skill 'b/bread' is held back", "Recipe"},
		{"<use_skill>lonely</use_skill>", "This machine may lack something: the skill needs the command no-such-oven", ""},
		{"<use_skill>gone</use_skill>", "<skill_error skill=\"gone\">\nreading skill gone: ", ""},
		{"<read_resource skill=tart>large.md</read_resource>", "File 'large.md' is too large: 150000 bytes of text, and a message holds at most 100000.\nRead a smaller file", "word word"},
	} {
		for _, who := range []*repertoire.Agent{nil, {Name: "baker"}} {
			model := agenttest.New(agenttest.Say(test.answer), agenttest.Say("Done."))
			a := newAgent(t, agent.Config{Model: model, Catalog: c, Agent: who, Instructions: true})
			_, err := a.Chat(t.Context(), "bake something")
			must.Do(t, err)
			messages := model.Asked()[1].Messages
			got := messages[len(messages)-1].Text
			if !strings.Contains(got, test.want) {
				t.Errorf("%s: %s\nwant %s", test.answer, got, test.want)
			}
			for word := range strings.FieldsSeq(test.not) {
				if strings.Contains(got, word) {
					t.Errorf("%s says %q: %s", test.answer, word, got)
				}
			}
		}
	}
}

// TestFullMessage reads a file so often that the results do not fit into one message.
func TestFullMessage(t *testing.T) {
	dir := t.TempDir()
	writeSkillFile(t, filepath.Join(dir, "tart", "SKILL.md"), []byte("---\nname: tart\ndescription: Bakes a tart.\n---\nText.\n"))
	writeSkillFile(t, filepath.Join(dir, "tart", "long.md"), []byte(strings.Repeat("word ", 19_000)))
	model := agenttest.New(agenttest.Say(strings.Repeat("<read_resource skill=tart>long.md</read_resource>\n", 10)), agenttest.Say("Done."))
	a := newAgent(t, agent.Config{Model: model, Catalog: openFolder(t, dir), Instructions: true})
	_, err := a.Chat(t.Context(), "bake a tart")
	must.Do(t, err)
	messages := model.Asked()[1].Messages
	got := messages[len(messages)-1].Text
	if n := strings.Count(got, "<resource_content"); n != 5 || !strings.HasSuffix(got, "if you still need them.\n") {
		t.Errorf("%d results, then %q", n, got[len(got)-100:])
	}
}
