package agenttest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const script = `A comment.
-- turn --
want: fill the form
want tool: get_skill
not system: secret: really
call get_skill: {"skill_name": "pdf"}
call rm: {"malformed
usage: 10 20

I look
at the skill.

-- turn --
status: 429
retry-after: 1
pause: 1ms

slow down
-- turn --

Done: all of it.
-- turn --
cut: 3
hang: yes
panic: no
`

func TestParse(t *testing.T) {
	got, err := agenttest.Parse([]byte(script))
	must.Do(t, err)
	want := []agenttest.Turn{
		{
			Want: []agenttest.Want{
				{Text: "fill the form"}, {In: agenttest.Tool, Text: "get_skill"}, {In: agenttest.System, Text: "secret: really", Not: true},
			},
			Calls: []agent.Call{{Name: "get_skill", Arguments: `{"skill_name": "pdf"}`}, {Name: "rm", Arguments: `{"malformed`}},
			Usage: agent.Usage{In: 10, Out: 20},
			Text:  "I look\nat the skill.",
		},
		{Status: 429, RetryAfter: "1", Pause: time.Millisecond, Text: "slow down"},
		{Text: "Done: all of it."},
		{Cut: 3, Hang: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "script: it has no turn",
		"-- turn 1 --\n":                `there is a file "turn 1"`,
		"-- turn --\nDone.\n":           `turn 1: line 1: "Done." has no colon after its key; an empty line must stand before what the model writes`,
		"-- turn --\nwant: a\nwnt: a\n": "turn 1: line 2: wnt: there is no such key; the keys are want",
		"-- turn --\nwant here: a\n":    `there is no place "here"`,
		"-- turn --\nwant:\n":           "want: the text is missing",
		"-- turn --\ncall: {}\n":        "call: the name of the tool is missing",
		"-- turn --\nstatus: x\n":       `status: "x" is not a number from 100`,
		"-- turn --\nstatus: 700\n":     "status: it is over 599",
		"-- turn --\ncut: 0\n":          `cut: "0" is not a number from 1`,
		"-- turn --\npause: -1s\n":      "pause: it is negative",
		"-- turn --\nhang: true\n":      `hang: "true" is neither yes nor no`,
		"-- turn --\nusage: 1\n":        `usage: "" is not a number from 0`,
		"-- turn --\nhang up: yes\n":    `unexpected "up" before the colon`,
	} {
		if _, err := agenttest.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: no text breaks the parser, and what it takes can be played.
func FuzzParse(f *testing.F) {
	f.Add(script)
	f.Add("-- turn --\r\nwant all: \xff\r\n\r\ntext")
	f.Fuzz(func(t *testing.T, text string) {
		turns, err := agenttest.Parse([]byte(text))
		if (err == nil) != (len(turns) > 0) {
			t.Fatalf("%d turns, %v", len(turns), err)
		}
		for _, turn := range turns {
			if turn.Pause > 0 || turn.Hang || turn.Panic {
				continue
			}
			agenttest.New(turn).Answer(t.Context(), agent.Question{Messages: []agent.Message{{Role: agent.User, Text: text}}}, func(string) {})
		}
	})
}

// TestScript: a question that is not as wanted, and one too many, are errors that say so.
func TestScript(t *testing.T) {
	s := agenttest.New(agenttest.Say("a").Wants("form"), agenttest.Turn{Want: []agenttest.Want{{In: agenttest.All, Text: "bread", Not: true}}})
	q := agent.Question{Messages: []agent.Message{{Role: agent.User, Text: "bake bread"}}}
	for _, want := range []string{
		`script: turn 1: the text since the last answer has no "form"; it is "bake bread\n"`, `script: turn 2: the conversation has "bread"; it is "bake bread\n"`,
		"script: it has 2 turns, and the model was asked 3 times",
	} {
		if _, err := s.Answer(t.Context(), q, nil); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if s.Rest() != 0 || len(s.Asked()) != 3 {
		t.Errorf("%d turns left, asked %d times", s.Rest(), len(s.Asked()))
	}
}
