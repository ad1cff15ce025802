package evals

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		prompt, name string
		want         bool
	}{
		{"use pdf-forms for this", "pdf-forms", true},
		{"PDF-Forms!", "pdf-forms", true},
		{"fill in the pdf forms", "pdf-forms", false},
		{"my-pdf-forms", "pdf-forms", false},
		{"who changed this line in git?", "git", false},
		{"ask the git skill", "git", true},
		{"/git who changed this line?", "git", true},
	} {
		if got := names(c.prompt, c.name); got != c.want {
			t.Errorf("%q names %s: %v", c.prompt, c.name, got)
		}
	}
}

// FuzzTake: whatever a model answers, what is proposed is short, on one line, once, and read
// again as it was written.
func FuzzTake(f *testing.F) {
	for _, text := range []string{
		"```json\n{\"should_trigger\":[\"a\",\"A\",\"use my-skill\"],\"should_not_trigger\":[\"b\"]}\n```", `<think>{a}</think>{"prompts":["a\nb"]}`, `["a"]`, "}{", "{}", "\u2028",
		`{"should_trigger":["a","b","c","d","e","f","g","h"],"should_not_trigger":["1","2","3"]}`, `{"should_trigger":["\u202e<b>\u2028"]}`, `["` + strings.Repeat("é", 301) + `"]`,
	} {
		f.Add(text)
	}
	had := []Prompt{{Eval: skill.Eval{Prompt: " had\nit "}}}
	f.Fuzz(func(t *testing.T, answer string) {
		list, _, err := take(answer, "my-skill", had)
		if err != nil {
			return
		}
		seen := map[string]bool{"had it": true}
		for _, e := range list {
			if p := e.Prompt; p == "" || tidy.Line(p) != p || utf8.RuneCountInString(p) > maxPrompt || seen[strings.ToLower(p)] {
				t.Errorf("%q is proposed", p)
			}
			seen[strings.ToLower(e.Prompt)] = true
		}
		if n := Wanted(list); n < 1 || n > maxWanted || len(list)-n > maxNotWant {
			t.Errorf("%d of %d prompts should trigger", n, len(list))
		}
		byTrigger := func(a, b skill.Eval) int {
			if a.Trigger == b.Trigger {
				return 0
			} else if a.Trigger {
				return -1
			}
			return 1
		}
		slices.SortStableFunc(list, byTrigger)
		if again, err := skill.ParseEvals(encode(list)); err != nil || !slices.Equal(again, list) {
			t.Errorf("%+v are read as %+v: %v", list, again, err)
		}
	})
}
