package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/repertoire-skills/repertoire/usage"
)

// TestLog: a message has the fields that are set, and no others.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	plain := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	s := acts{cfg: &Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: plain}))}}
	s.note(usage.Event{Kind: usage.Ran, Skills: usage.Named("a", "b"), What: "scripts/x.sh\n", Duration: time.Second, Tokens: 3})
	s.failed("", "", errors.New("no such skill"))
	want := `level=INFO msg=agent event=ran skills="a b" what="scripts/x.sh\n" exit=0 duration=1s tokens=3
level=INFO msg=agent event=failed error="no such skill"
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSumUses: the skill with most tokens comes first, and equals by their IDs.
func TestSumUses(t *testing.T) {
	got := SumUses([]usage.Event{
		{Kind: usage.Offered, Skills: usage.Named("b", "a", "c"), Tokens: 99}, {Kind: usage.Loaded, Skills: usage.Named("c"), Tokens: 5}, {Kind: usage.Asked, Tokens: 7},
		{Kind: usage.Read, Skills: usage.Named("c"), Tokens: 2}, {Kind: usage.Ran, Skills: usage.Named("c"), Tokens: 1}, {Kind: usage.Failed, Skills: usage.Named("b")}, {Kind: usage.Failed},
	})
	want := []SkillUse{
		{Skill: "c", Offered: 1, Loaded: 1, Read: 1, Ran: 1, Instructions: 5, Files: 2, Output: 1},
		{Skill: "a", Offered: 1}, {Skill: "b", Offered: 1, Failed: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
