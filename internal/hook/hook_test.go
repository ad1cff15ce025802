package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
)

// A place has a catalog of one skill, and the state of hooks.
type place struct {
	dir, state string
	config     repertoire.Config
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "skills", "cat", "SKILL.md")
	must.Write(t, file, "---\nname: cat\ndescription: Feeds the cat.\n---\nFeed it.\n")
	src, err := source.Dir(filepath.Join(dir, "skills"), &source.Options{Label: "skills"})
	must.Do(t, err)
	return &place{dir, filepath.Join(dir, "state"), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(dir, "catalog.db"), Schedule: repertoire.Never, Defer: true}}
}

// open opens the catalog of the place.
func (p *place) open(ctx context.Context, _ hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
	c, err := repertoire.Open(ctx, p.config)
	return c, nil, err
}

// index brings the catalog up to date.
func (p *place) index(t *testing.T) {
	t.Helper()
	c, err := repertoire.Open(t.Context(), p.config)
	must.Do(t, err)
	defer c.Close()
	if _, err := c.Owner().Rescan(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// call is a call of a hook with much time.
func (p *place) call(arg, event string, stdout io.Writer) hook.Call {
	return hook.Call{Arg: arg, Deadline: time.Minute, Stdin: strings.NewReader(event), Stdout: stdout, Verbose: io.Discard,
		Getenv: func(string) string { return "" }, StateDir: func() (string, error) { return p.state, nil }, Open: p.open,
		Index:   func(_, _, _ string) ([]string, error) { return nil, errors.New("no index here") },
		Command: func() string { return "skills" }, Waiting: func(string) int { return 0 }}
}

func (p *place) log(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.state, "hook.log"))
	if err != nil {
		return ""
	}
	return string(data)
}

const (
	prompt = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"feed the cat"}`
	start  = `{"hook_event_name":"SessionStart","session_id":"s"}`
)

// TestRun: a prompt gets the skill once, and a session that starts gets the number of
// skills.
func TestRun(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	for _, step := range []struct{ arg, event, want string }{
		{"claude", prompt, "cat"},
		{"claude", prompt, ""},
		{"sessionstart", start, "skills"},
		{"claude", start, ""},
		{"claude", `{"hook_event_name":"PreCompact","session_id":"s"}`, ""},
		{"claude", prompt, "cat"},
	} {
		var out bytes.Buffer
		hook.Run(t.Context(), p.call(step.arg, step.event, &out))
		if (out.Len() > 0) != (step.want != "") || !strings.Contains(out.String(), step.want) {
			t.Errorf("%s %s: %q, want %q, log:\n%s", step.arg, step.event, &out, step.want, p.log(t))
		}
	}
}

// partly is a catalog that does not hold all of its sources yet.
type partly struct{ *repertoire.Catalog }

func (partly) Glance(context.Context, time.Duration) (f repertoire.Freshness) { return f }
func (partly) Indexed(context.Context) (bool, error)                          { return false, nil }
func (partly) Unread(context.Context) (int, error)                            { return 1, nil }

// TestStartPartly: a session that starts is told that the number is of a part of the catalog.
func TestStartPartly(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	for _, partial := range []bool{true, false} {
		var out bytes.Buffer
		call := p.call("sessionstart", start, &out)
		call.Open = func(ctx context.Context, _ hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
			c, err := repertoire.Open(ctx, p.config)
			if partial {
				return partly{c}, nil, err
			}
			return c, nil, err
		}
		hook.Run(t.Context(), call)
		if text := out.String(); !strings.Contains(text, "It has 1.") || strings.Contains(text, "part of the catalog") != partial {
			t.Errorf("partial %t: %q, log:\n%s", partial, text, p.log(t))
		}
	}
}

// TestRunCaller: a client that runs the hooks of another one gets its own form of
// an answer.
func TestRunCaller(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	var out bytes.Buffer
	c := p.call("claude", prompt, &out)
	c.Getenv = func(key string) string { return map[string]string{"CURSOR_VERSION": "1"}[key] }
	hook.Run(t.Context(), c)
	if !strings.HasPrefix(out.String(), `{"continue":true,"additional_context":`) {
		t.Errorf("answer %q", &out)
	}
}

// TestRunTrouble: whatever goes wrong, nothing is answered and the log says why.
func TestRunTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*hook.Call)
		want   string
	}{
		"no event": {func(c *hook.Call) { c.Stdin = strings.NewReader("hello") }, "reading event"},
		"silent client": {func(c *hook.Call) {
			in, _ := io.Pipe() // nobody writes to it
			c.Stdin, c.Patience = in, time.Millisecond
		}, "the client has not written it within 1ms"},
		"late": {func(c *hook.Call) {
			c.Deadline = time.Millisecond
			c.Open = func(context.Context, hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
				select {} // the goroutine is left behind, and must write no log while the test reads it
			}
		}, "too late for an answer"},
		"no catalog": {func(c *hook.Call) {
			c.Open = func(context.Context, hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
				return nil, nil, errors.New("nobody is at home")
			}
		}, "nobody is at home"},
		"panic": {func(c *hook.Call) {
			c.Open = func(context.Context, hook.Opening) (hook.Catalog, *repertoire.Agent, error) { panic("a mistake") }
		}, "a mistake"},
		"no index": {func(*hook.Call) {}, "no index here"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			var out, verbose bytes.Buffer
			c := p.call("claude", prompt, &out)
			c.Verbose = &verbose
			test.change(&c)
			hook.Run(t.Context(), c)
			if out.Len() > 0 || !strings.Contains(p.log(t), test.want) || verbose.String() != p.log(t) {
				t.Errorf("answer %q, log %q, told %q", &out, p.log(t), &verbose)
			}
		})
	}
}

// TestSlowClient: the deadline starts when the client has written the event, however late
// that is.
func TestSlowClient(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	in, client := io.Pipe()
	var out bytes.Buffer
	c := p.call("claude", "", &out)
	c.Stdin, c.Deadline, c.Patience = in, 10*time.Second, time.Hour
	begun := time.Now()
	c.Open = func(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		if end, _ := ctx.Deadline(); end.Before(begun.Add(c.Deadline)) {
			t.Errorf("the answer must be there %v after the call, although the event came late", end.Sub(begun))
		}
		return p.open(ctx, o)
	}
	go func() {
		io.WriteString(client, prompt[:10]) // returns when the hook is reading
		begun = time.Now().Add(-c.Deadline / 10)
		io.WriteString(client, prompt[10:])
		client.Close()
	}()
	hook.Run(t.Context(), c)
	if !strings.Contains(out.String(), "cat") {
		t.Errorf("answer %q, log:\n%s", &out, p.log(t))
	}
}

// TestRunHomeless: without a state folder nothing is remembered, and prompts are
// answered all the same.
func TestRunHomeless(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	for range 2 {
		var out bytes.Buffer
		c := p.call("claude", prompt, &out)
		c.StateDir = func() (string, error) { return "", errors.New("no home") }
		hook.Run(t.Context(), c)
		if !strings.Contains(out.String(), "cat") {
			t.Errorf("answer %q", &out)
		}
	}
}

// TestBound: embedder and reranker share most of the time, and their own
// deadlines hold where they are shorter.
func TestBound(t *testing.T) {
	p := newPlace(t)
	c := p.call("claude", prompt, io.Discard)
	c.Deadline = 100 * time.Second
	c.Open = func(_ context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		var usual repertoire.Config
		alone := repertoire.Config{Deadline: time.Hour}
		both := repertoire.Config{Deadline: time.Second, Reranker: struct{ rerank.Reranker }{}, RerankDeadline: time.Hour}
		for _, cfg := range []*repertoire.Config{&usual, &alone, &both} {
			o.Bound(cfg)
		}
		if alone.Deadline > 54*time.Second || usual.Deadline != 250*time.Millisecond || both.Deadline != time.Second ||
			both.RerankDeadline > 27*time.Second || alone.Deadline < both.RerankDeadline {
			t.Errorf("bounds %v %v %v, reranker %v", alone.Deadline, usual.Deadline, both.Deadline, both.RerankDeadline)
		}
		return nil, nil, errors.New("enough")
	}
	hook.Run(t.Context(), c)
}

// TestRunClock: an index is started in the background, unless one was a moment ago. A
// time in the future is no moment ago: the clock was put back.
func TestRunClock(t *testing.T) {
	p := newPlace(t)
	starts := func() int {
		before := strings.Count(p.log(t), "no index here")
		hook.Run(t.Context(), p.call("claude", prompt, io.Discard))
		return strings.Count(p.log(t), "no index here") - before
	}
	if n := starts(); n != 1 {
		t.Fatalf("the first time %d indexes are started", n)
	}
	locks, err := filepath.Glob(filepath.Join(p.state, "index-*.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	const century = 100 * 365 * 24 * time.Hour
	for age, want := range map[time.Duration]int{0: 0, time.Minute: 1, century: 1, -time.Minute: 1, -century: 1} {
		at := time.Now().Add(-age)
		must.Do(t, os.Chtimes(locks[0], at, at))
		if n := starts(); n != want {
			t.Errorf("%v after an index, %d are started, want %d", age, n, want)
		}
	}
}

// TestNobodyTyped: what a client sends without a person having typed it gets no answer and is
// not remembered or noted, and is no part of a prompt that it comes with.
func TestNobodyTyped(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	var noted string
	say := func(text string) string {
		var out bytes.Buffer
		quoted, _ := json.Marshal(text)
		call := p.call("claude", `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":`+string(quoted)+`}`, &out)
		log := usage.New(filepath.Join(p.dir, "usage"), usage.Options{Prompts: true})
		call.Usage = func(string) *usage.Log { return log }
		hook.Run(t.Context(), call)
		files, _ := filepath.Glob(filepath.Join(p.dir, "usage", "*", "*"))
		noted = ""
		for _, file := range files {
			data, _ := os.ReadFile(file)
			noted += string(data)
		}
		return out.String()
	}
	for _, text := range []string{
		"<task-notification>\n<summary>feed the cat</summary>\n</task-notification>",
		"<system-reminder>\nfeed the cat\n</system-reminder>",
		"[SYSTEM NOTIFICATION - NOT USER INPUT]\nfeed the cat",
		"Another Claude session sent a message:\n<cross-session-message from=\"x\">\nfeed the cat\n</cross-session-message>",
		"<command-name>/cat</command-name>\n<command-args>feed the cat</command-args>",
		"<bash-input>feed the cat</bash-input><bash-stdout>",
		"<local-command-stdout>feed the cat</local-command-stdout>",
	} {
		if out := say(text); out != "" || noted != "" {
			t.Errorf("%q: answer %q, noted %q", text, out, noted)
		}
	}
	if kept, _ := os.ReadDir(filepath.Join(p.state, "sessions")); len(kept) > 0 {
		t.Errorf("sessions are remembered: %v", kept)
	}
	if out := say("<system-reminder>\nfeed the cat\n</system-reminder>\nWhat is the capital of France?"); out != "" {
		t.Errorf("the reminder got %q", out)
	}
	if out := say("feed the cat\n<system-reminder>\nx\n</system-reminder>"); !strings.Contains(out, "cat") || !strings.Contains(noted, `"feed the cat"`) {
		t.Errorf("answer %q, noted %q", out, noted)
	}
}

// TestLoadedByName: a skill that a prompt names for the client to load is not offered by the
// hook as well, unless the client has no such skill.
func TestLoadedByName(t *testing.T) {
	const expansion = `{"hook_event_name":"UserPromptExpansion","session_id":"s","expansion_type":"slash_command","command_name":"home:cat","prompt":"/home:cat feed the cat, please, it is hungry"}`
	prompt := func(text string) string {
		return `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"` + text + `"}`
	}
	for _, tt := range []struct {
		arg, event, folder string
		offered            bool
	}{
		{"claude", prompt("/cat feed the cat, please, it is hungry"), ".claude", false},
		{"claude", prompt("/cat feed the cat, please, it is hungry"), ".codex", true},
		{"claude", prompt("please feed the cat in /cat today"), ".claude", true},
		{"claude", prompt("feed the cat"), ".claude", true},
		{"claude", expansion, ".codex", false},
		{"codex", prompt("feed the cat with $cat, please"), ".codex", false},
		{"codex", prompt("feed the cat with $cat, please"), ".claude", true},
		{"codex", prompt("/cat feed the cat, please, it is hungry"), ".codex", true},
	} {
		p := newPlace(t)
		p.index(t)
		project := filepath.Join(p.dir, "project")
		must.Do(t, os.CopyFS(filepath.Join(project, tt.folder, "skills"), os.DirFS(filepath.Join(p.dir, "skills"))))
		cwd, _ := json.Marshal(project)
		var out bytes.Buffer
		hook.Run(t.Context(), p.call(tt.arg, strings.Replace(tt.event, "{", `{"cwd":`+string(cwd)+",", 1), &out))
		if (out.Len() > 0) != tt.offered {
			t.Errorf("%s %s in %s: %q, log:\n%s", tt.arg, tt.event, tt.folder, &out, p.log(t))
		}
	}
}
