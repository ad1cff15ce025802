package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/session"
)

// TestLast: the last answers with skills are kept, with what they followed from, and the text of the last prompt only,
// unless the user keeps prompts.
func TestLast(t *testing.T) {
	k, here := begin(t), "/work"
	for i := range 2 * session.MaxLast {
		p := session.Prompt{Session: "s", Text: fmt.Sprintf("%s, sheet %d", totals, i), Dir: "/work", Keep: i == 2*session.MaxLast-2}
		_, err := k.m.Suggest(t.Context(), k.c, p, repertoire.Budget{}, nil)
		must.Do(t, err)
		k.m.Forget(t.Context(), "s", false)
	}
	got, err := k.m.Last("", here)
	must.Do(t, err)
	if len(got.Last) != session.MaxLast || got.ID != "s" || got.Dir != "/work" {
		t.Fatalf("%d answers of session %q in %q", len(got.Last), got.ID, got.Dir)
	}
	for i, o := range got.Last {
		if i > 0 && o.Time.After(got.Last[i-1].Time) || (o.Prompt != "") != (i < 2) {
			t.Errorf("%d: %v, prompt %q", i, o.Time, o.Prompt)
		}
		if len(o.Skills) != 1 || o.Skills[0].ID != "spreadsheet-totals" || o.Skills[0].Matched == nil || len(o.Skills[0].Terms) == 0 || o.Demand < o.Threshold || o.Follows {
			t.Errorf("%d: %+v", i, o)
		}
	}
	k.want(k.say("and the other sheet"), "spreadsheet-totals")
	if got, err = k.m.Last("s", ""); err != nil || !got.Last[0].Follows || !got.Last[0].Earlier.Equal(got.Last[1].Time) {
		t.Errorf("a follow-up: %+v, %v", got, err)
	}
	k.id = "quiet"
	k.want(k.say("thanks"))
	if got, err := k.m.Last("quiet", ""); err != nil || len(got.Last) > 0 {
		t.Errorf("a session without offers: %+v, %v", got, err)
	}
	k.m.Forget(t.Context(), "s", true)
	if _, err := k.m.Last("", here); err == nil {
		t.Error("a session that began anew says what it was offered before")
	}
}

// TestFrozen: a memory that is frozen answers as the session would be answered, and changes nothing.
func TestFrozen(t *testing.T) {
	dir := t.TempDir()
	k := begin(t)
	k.m = session.New(dir, session.Options{Frozen: true})
	k.want(k.say(totals), "spreadsheet-totals")
	k.m.Sweep()
	if list := files(t, dir); len(list) > 0 {
		t.Fatalf("it has made %v", list)
	}
	thawed := session.New(dir, session.Options{})
	_, err := thawed.Suggest(t.Context(), k.c, session.Prompt{Session: "s", Text: totals}, repertoire.Budget{}, nil)
	must.Do(t, err)
	k.want(k.say(totals))
	k.want(k.say("Fill in the fields of this PDF form"), "form-filling")
	k.want(k.say("Fill in the fields of this PDF form"), "form-filling")
}

// TestLastForeign: a file of an older version, a damaged one and one that cannot be read cost no other session, and a
// session whose own file it is says what to do.
func TestLastForeign(t *testing.T) {
	dir := t.TempDir()
	here, err := os.Getwd()
	must.Do(t, err)
	k := begin(t)
	k.m = session.New(dir, session.Options{})
	k.want(k.say(totals), "spreadsheet-totals")
	names, err := filepath.Glob(filepath.Join(dir, "sessions", "*.json"))
	must.Do(t, err)
	k.id = "good"
	k.want(k.say(totals), "spreadsheet-totals")
	for text, problem := range map[string]string{
		`{"prompts":["the totals"],"offers":[{"name":"cat","probability":1}]}`: "",
		"{": "is damaged: remove it", `{"last":[{"skills":3}]}`: "is damaged: remove it", strings.Repeat(" ", 2<<20): "is no file of a session",
	} {
		must.Do(t, os.WriteFile(names[0], []byte(text), 0o600))
		if got, err := k.m.Last("", here); err != nil || got.ID != "good" {
			t.Errorf("%.20q: another session is %v, %v", text, got, err)
		}
		if _, err := k.m.Last("s", ""); (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		return
	}
	must.Do(t, os.Chmod(names[0], 0))
	if got, err := k.m.Last("", here); err != nil || got.ID != "good" {
		t.Errorf("beside one that cannot be read: %v, %v", got, err)
	}
	if _, err := k.m.Last("s", ""); err == nil {
		t.Error("a session that cannot be read is told")
	}
}
