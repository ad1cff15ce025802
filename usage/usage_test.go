package usage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// A diary is a log with a clock.
type diary struct {
	*usage.Log
	state string
	now   time.Time
}

func newDiary(t *testing.T, prompts bool) *diary {
	d := &diary{state: t.TempDir(), now: time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)}
	d.Log = usage.New(d.state, usage.Options{Prompts: prompts, Now: func() time.Time { return d.now }})
	return d
}

// add notes an event: "KIND CLIENT SESSION SKILL…"; a session of "-" is unknown.
func (d *diary) add(t *testing.T, line, prompt string) {
	t.Helper()
	f := strings.Fields(line)
	e := usage.Event{Kind: usage.Kind(f[0]), Client: f[1], Session: strings.Trim(f[2], "-"), Prompt: prompt}
	for _, id := range f[3:] {
		e.Skills = append(e.Skills, usage.Skill{ID: id})
	}
	must.Do(t, d.Add(e))
	d.now = d.now.Add(time.Minute)
}

func (d *diary) stats(t *testing.T, names ...string) *usage.Stats {
	t.Helper()
	var entries []search.Entry
	for _, n := range names {
		entries = append(entries, search.Entry{Meta: skill.Meta{ID: n, Name: n, Source: "project:.lib", Location: "/lib/" + n + "/SKILL.md"}})
	}
	s, err := d.Stats(t.Context(), time.Time{}, "", entries)
	must.Do(t, err)
	return s
}

// TestStats: what was offered, followed, missed and never offered, over the end of a month.
func TestStats(t *testing.T) {
	d := newDiary(t, true)
	d.add(t, "offered claude s1 pdf cat", "merge them")
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "claude", Session: "s4", Skills: usage.Named("pdf"), Wording: "certain"}))
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "claude", Session: "s5", Skills: usage.Named("pdf", "cat"), Wording: "certain"}))
	d.add(t, "loaded claude s5 cat", "")
	d.add(t, "loaded claude s5 pdf", "")
	d.add(t, "loaded claude s1 pdf", "")
	d.add(t, "loaded claude s1 project:../../.lib/pdf", "") // again, by a label of versions before
	d.add(t, "read mcp s1 pdf", "")
	d.now = d.now.AddDate(0, 0, 1)
	d.add(t, "offered claude s1", "sharpen the knife")
	d.add(t, "searched mcp s1 knife", "knife")
	d.add(t, "loaded mcp s1 KNIFE", "")
	d.add(t, "offered codex s2", "sharpen the knife")
	d.add(t, "loaded codex s2 gone", "")
	d.add(t, "offered codex s3 cat", "feed it")
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "codex", Session: "s3", Because: "reply", Prompt: "thanks"}))
	want := &usage.Stats{From: time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC), Events: 15, Prompts: 7, Needed: 6, Silent: 2,
		Clients:  []usage.Client{{Name: "claude", Prompts: 4, Offers: 5, Loads: 4}, {Name: "codex", Prompts: 3, Offers: 1, Loads: 1}, {Name: "mcp", Loads: 1}},
		Callers:  []usage.Client{},
		Skills:   []usage.Count{{ID: "pdf", Offered: 3, Loaded: 3, Read: 1, Followed: 2}, {ID: "cat", Offered: 3, Loaded: 1, Followed: 1}, {ID: "gone", Gone: true, Loaded: 1}, {ID: "knife", Searched: 1, Loaded: 1}},
		Wordings: []usage.Wording{{Name: "certain", Offers: 2, Followed: 1}},
		Never:    []string{"knife", "other"},
		Gaps:     []usage.Gap{{Prompt: "sharpen the knife", Times: 2}},
		Misses:   []usage.Miss{{ID: "gone", Times: 1, Prompt: "sharpen the knife"}, {ID: "knife", Times: 1, Searched: 1, Prompt: "sharpen the knife"}},
	}
	if diff := cmp.Diff(want, d.stats(t, "pdf", "cat", "knife", "other")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	files, err := os.ReadDir(filepath.Join(d.state, "usage"))
	if err != nil || len(files) != 2 || files[1].Name() != "2026-04.jsonl" {
		t.Errorf("files %v, %v", files, err)
	}
	must.Do(t, d.Forget(t.Context()))
	if s := d.stats(t, "pdf"); s.Events != 0 || len(s.Never) != 1 {
		t.Errorf("after forgetting %+v", s)
	}
}

// TestAdd: what the log notes of the events of doors, and what it leaves out.
func TestAdd(t *testing.T) {
	d := newDiary(t, false)
	a := usage.Named("a")
	for _, e := range []usage.Event{
		{Kind: usage.Offered, Skills: a, Tokens: 9}, {Kind: usage.Offered}, {Kind: usage.Searched},
		{Kind: usage.Ran, What: "ls"}, {Kind: usage.Loaded, Skills: a, Failed: true},
		{Kind: usage.Asked, Tokens: 9}, {Kind: usage.Failed, Skills: a}, {Kind: usage.Listed, Skills: a}, {Kind: usage.Proposed, Skills: a}, {Skills: a},
	} {
		must.Do(t, d.Add(e))
	}
	s := d.stats(t, "a")
	if want := []usage.Count{{ID: "a", Offered: 1}}; s.Events != 3 || s.Prompts != 2 || !cmp.Equal(want, s.Skills) {
		t.Errorf("%+v", s)
	}
}

// TestRuns: commands that ran are counted with their time, and all tokens.
func TestRuns(t *testing.T) {
	d := newDiary(t, false)
	pdf := []usage.Skill{{ID: "pdf"}}
	for _, e := range []usage.Event{
		{Kind: usage.Loaded, Session: "s1", Tokens: 40},
		{Kind: usage.Ran, Session: "s1", Duration: 500 * time.Millisecond, Tokens: 2},
		{Kind: usage.Ran, Session: "s1", Duration: time.Second, Exit: 3},
	} {
		e.Client, e.Skills = "chat", pdf
		must.Do(t, d.Add(e))
	}
	want := []usage.Count{{ID: "pdf", Loaded: 1, Ran: 2, FailedRuns: 1, RunSeconds: 1.5, Tokens: 42}}
	if diff := cmp.Diff(want, d.stats(t, "pdf").Skills); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestTwice: a load of which the server and the hook of one client tell counts once.
func TestTwice(t *testing.T) {
	d := newDiary(t, false)
	d.add(t, "offered claude s1 pdf cat", "")
	d.add(t, "loaded mcp - pdf", "")
	d.now = d.now.Add(-time.Minute) // in the same second
	must.Do(t, d.Add(usage.Event{Kind: usage.Loaded, Client: "claude", Session: "s1", Skills: []usage.Skill{{Location: "/lib/pdf/SKILL.md"}}}))
	d.now = d.now.Add(time.Minute)
	d.add(t, "loaded mcp - cat", "") // of which no hook tells
	d.add(t, "loaded mcp - cat", "")
	s := d.stats(t, "pdf", "cat")
	want := []usage.Count{{ID: "cat", Offered: 1, Loaded: 2}, {ID: "pdf", Offered: 1, Loaded: 1, Followed: 1}}
	if diff := cmp.Diff(want, s.Skills); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]usage.Miss{{ID: "cat", Times: 2}}, s.Misses); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPrivate: without leave there is no prompt in the log, and nobody else can read it.
func TestPrivate(t *testing.T) {
	for _, prompts := range []bool{false, true} {
		d := newDiary(t, prompts)
		d.add(t, "offered claude s1 pdf", "my secret "+strings.Repeat("ä\u202e", 2000))
		name := filepath.Join(d.state, "usage", "2026-03.jsonl")
		data, err := os.ReadFile(name)
		must.Do(t, err)
		if got := strings.Contains(string(data), "my secret"); got != prompts {
			t.Errorf("prompts %t: %s", prompts, data)
		}
		if strings.Contains(string(data), "\u202e") || len(data) > 1500 {
			t.Errorf("%d bytes: %s", len(data), data)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	var none *usage.Log
	must.Do(t, none.Add(usage.Event{Kind: usage.Loaded}))
}

// TestDamaged: a line that was cut off costs that line, and no folder no answer.
func TestDamaged(t *testing.T) {
	d := newDiary(t, false)
	if s := d.stats(t); s.Events != 0 || s.Damaged != 0 {
		t.Errorf("without a log %+v", s)
	}
	d.add(t, "offered claude s1 pdf", "")
	name := filepath.Join(d.state, "usage", "2026-03.jsonl")
	data, err := os.ReadFile(name)
	must.Do(t, err)
	for cut := range len(data) {
		must.Do(t, os.WriteFile(name, data[:cut], 0o600))
		d.add(t, "loaded claude s1 pdf", "")
		d.now = d.now.Add(-time.Minute)
		s := d.stats(t, "pdf")
		if want := min(cut, 1); s.Damaged != want && cut < len(data)-1 || len(s.Skills) != 1 || s.Skills[0].Loaded != 1 {
			t.Fatalf("cut after %d bytes: %+v", cut, s)
		}
	}
	must.Do(t, os.WriteFile(name, []byte("null\n[]\n\x00\n"+strings.Repeat("x", 3<<20)), 0o600))
	if s := d.stats(t); s.Damaged < 2 {
		t.Errorf("%+v", s)
	}
	must.Do(t, os.Remove(name))
	must.Do(t, os.Mkdir(name, 0o700))
	if err := d.Add(usage.Event{Kind: usage.Offered}); err == nil || !strings.Contains(err.Error(), "noting that skills were offered") {
		t.Errorf("a folder in place of the log: %v", err)
	}
	d.stats(t)
}

// TestTogether: events that several goroutines and logs note at once are all there.
func TestTogether(t *testing.T) {
	d := newDiary(t, false)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			l := usage.New(d.state, usage.Options{Now: func() time.Time { return time.Unix(1e9, 0) }})
			for j := range 50 {
				if err := l.Add(usage.Event{Kind: usage.Loaded, Session: fmt.Sprint(i, j), Skills: []usage.Skill{{ID: "pdf"}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if s := d.stats(t, "pdf"); s.Events != 400 || s.Damaged != 0 || s.Skills[0].Loaded != 400 {
		t.Errorf("%+v", s)
	}
}

// TestMonths: a year is kept.
func TestMonths(t *testing.T) {
	d := newDiary(t, false)
	d.now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 15 {
		d.add(t, "loaded claude s pdf", "")
		d.now = d.now.AddDate(0, 1, 0)
	}
	if s := d.stats(t); s.Events != 12 || s.From.Format("2006-01") != "2025-04" {
		t.Errorf("%d events from %v", s.Events, s.From)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Stats(ctx, time.Time{}, "", nil); err == nil {
		t.Error("no error after a cancellation")
	}
}

// TestAgent: only events of an agent count for it.
func TestAgent(t *testing.T) {
	d := newDiary(t, false)
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Agent: "bird", Skills: []usage.Skill{{ID: "a"}}}))
	d.add(t, "offered claude s1 b", "")
	s, err := d.Stats(t.Context(), time.Time{}, "bird", nil)
	if err != nil || s.Events != 1 || s.Skills[0].ID != "a" {
		t.Errorf("%+v, %v", s, err)
	}
}

func FuzzStats(f *testing.F) {
	f.Add([]byte(`{"time":"2026-03-31T23:00:00Z","kind":"offered","client":"claude","session":"s","skills":[{"id":"pdf"}]}` + "\n{\"time\":"))
	f.Add([]byte("null\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDiary(t, true)
		must.Do(t, os.Mkdir(filepath.Join(d.state, "usage"), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(d.state, "usage", "2026-03.jsonl"), data, 0o600))
		s := d.stats(t, "pdf")
		if s.Silent > s.Needed || s.Needed > s.Prompts || s.Prompts > s.Events {
			t.Errorf("%+v", s)
		}
	})
}

// TestDays: each day counts what happened on it where the reader is, and days without an event
// are there too.
func TestDays(t *testing.T) {
	d := newDiary(t, false)
	d.add(t, "offered claude s1 pdf cat", "")
	d.add(t, "offered claude s1", "")
	d.add(t, "loaded claude s1 pdf", "")
	d.now = d.now.AddDate(0, 0, 2) // 23:03
	d.add(t, "loaded mcp - cat dog", "")
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "codex", Because: "reply"}))
	must.Do(t, d.Add(usage.Event{Kind: usage.Offered, Client: "codex", Agent: "keeper", Skills: []usage.Skill{{ID: "cat"}}}))
	east := time.FixedZone("east", 3600) // where all of it is a day later
	for _, c := range []struct {
		since time.Time
		agent string
		want  string
	}{
		{time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), "", "31: 1 1 1, 1: 0 0 0, 2: 1 0 2, "},
		{time.Date(2026, 3, 31, 23, 1, 0, 0, time.UTC), "", "31: 0 1 1, 1: 0 0 0, 2: 1 0 2, "},
		{time.Date(2026, 4, 1, 0, 0, 0, 0, east), "", "1: 1 1 1, 2: 0 0 0, 3: 1 0 2, "},
		{time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), "keeper", "1: 0 0 0, 2: 1 0 0, "},
		{d.now.AddDate(0, 0, 1), "", ""},
	} {
		days, err := d.Days(t.Context(), c.since, c.agent)
		must.Do(t, err)
		got := ""
		for _, day := range days {
			got += fmt.Sprintf("%d: %d %d %d, ", day.Start.Day(), day.Got, day.Silent, day.Loads)
		}
		if got != c.want {
			t.Errorf("since %v, agent %q: %q, want %q", c.since, c.agent, got, c.want)
		}
	}
}
