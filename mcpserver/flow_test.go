package mcpserver_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// TestFlow replays one conversation through every door, by two users at once in each: a prompt is
// offered a skill, a search finds it, its instructions and one of its files are read, and what is
// wrong is answered. All doors answer with the same texts.
func TestFlow(t *testing.T) {
	files := few()
	files["pdf-atlas/SKILL.md"] = doc("pdf-atlas", "Draws maps of PDF files. Use when a map of a PDF is wanted.") +
		strings.Repeat("\n## Chapter\n\n"+strings.Repeat("Look at each page and note what it shows. ", 30)+"\n", 40) + "\n## Legend\n\nRed marks a bookmark.\n"
	k := serve(t, files, "")
	url := k.serveHTTP(t, mcpserver.HTTPOptions{})
	a, err := agent.New(agent.Config{Catalog: k.catalog, Long: mcpserver.DefaultLong})
	must.Do(t, err)
	library := func(name string, args object) string {
		data, err := json.Marshal(args)
		must.Do(t, err)
		return a.Call(t.Context(), name, string(data)).Text
	}
	doors := map[string][2]talk{
		"library": {library, library}, "pipes": {k.over(t), k.over(t)}, "HTTP": {overHTTP(t, url), overHTTP(t, url)},
		"HTTP without sessions": {stateless(t, url), stateless(t, url)},
	}
	calls := []struct {
		name string
		args object
		want string
	}{
		{"search_skills", object{"query": "fill in a PDF form"}, "- pdf-forms ("},
		{"list_skills", object{"tag": "office"}, "Skills 1-1 of 1, by name:\n- pdf-forms: Fills in"},
		{"read_skill", object{"name": "pdf-forms"}, "Skill pdf-forms from team"},
		{"read_skill", object{"skill_id": "pdf-forms", "name": nil}, "Its other files (read_skill_resource reads one): empty.txt, logo.png"},
		{"use_skill", object{"skill_name": "pdf-forms"}, "written by its author.\n\n---\nname: pdf-forms"},
		{"get_skill", object{"skill": "pdf-base"}, `{"name":"pdf-base","description":"Reads PDF files`},
		{"read_skill_resource", object{"id": "pdf-forms", "path": "references/fields.md", "lines": "2"}, "Lines 2-2 of 4 of references/fields.md:\ntwo\n"},
		{"read_skill", object{"name": "pdf-atlas"}, "It is long: only its opening, lines 1-"},
		{"search_skill_files", object{"query": "what does red mean", "skill": "pdf-atlas"}, "section How > Chapter and Legend; from line "},
		{"read_skill", object{"name": "pdf-atlas", "section": "legend"}, "Red marks a bookmark."},
		{"search_skill_files", object{"query": "what does a red mark in a map of a PDF mean"}, "Skill pdf-atlas, SKILL.md, lines "},
		{"read_skill", object{"name": "pdf-atlas", "section": "legends"}, "did you mean Legend"},
		{"read_skill", object{"name": "pdf-form"}, "Skill 'pdf-form' not found; did you mean pdf-forms?"},
		{"read_skill_resource", object{"name": "pdf-forms"}, "Argument path is missing; give a JSON object with name"},
		{"suggest_skills", object{"prompt": "thanks!"}, "none of them stands out for this prompt. search_skills finds them"},
	}
	var mu sync.Mutex
	texts := make(map[int]string) // by call
	var users sync.WaitGroup
	for door, two := range doors {
		for _, call := range two {
			users.Go(func() {
				for i, c := range calls {
					got := call(c.name, c.args)
					mu.Lock()
					if texts[i] == "" {
						texts[i] = got
					}
					if got != texts[i] || !strings.Contains(got, c.want) {
						t.Errorf("%s: %s %v: %q, want %q with %q", door, c.name, c.args, got, texts[i], c.want)
					}
					mu.Unlock()
				}
			})
		}
	}
	users.Wait()
}
