package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/search"
)

// ask runs a hook that asks a server, and returns its answer.
func (p *place) ask(t *testing.T, arg, event string, server func(context.Context, api.Prompt) (*api.Suggestion, error)) string {
	t.Helper()
	var out bytes.Buffer
	call := p.call(arg, event, &out)
	call.Ask, call.Agent, call.Server = server, "cook", "skills"
	hook.Run(t.Context(), call)
	return out.String()
}

// TestServer: a hook tells the server about its session, and hands on the answer.
func TestServer(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	var got []api.Prompt
	server := func(_ context.Context, q api.Prompt) (*api.Suggestion, error) {
		got = append(got, q)
		at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
		return &api.Suggestion{Block: fmt.Sprintf("answer %d\n", len(got)), Skills: []api.Offer{{ID: "dog", Name: "dog", Location: "team:dog/SKILL.md", Probability: .75}}, AsOf: &at}, nil
	}
	const second = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"and the dog"}`
	first := p.ask(t, "claude", prompt, server)
	if !strings.Contains(first, `answer 1\n`) || !strings.Contains(first, "as of 2026-05-01 10:00 UTC") {
		t.Errorf("answer %s", first)
	}
	p.ask(t, "claude", second, server)
	p.ask(t, "sessionstart", start, server)
	p.ask(t, "gemini", `{"hook_event_name":"BeforeAgent","session_id":"other","prompt":"feed the cat"}`, server)
	if len(got) != 4 {
		t.Fatalf("%d requests, log:\n%s", len(got), p.log(t))
	}
	if q := got[0]; q.Text != "feed the cat" || q.Agent != "cook" || q.Server != "skills" || q.Room < 1000 || len(q.Known)+len(q.Earlier) > 0 || q.Format != "" {
		t.Errorf("first %+v", q)
	}
	if q := got[1]; len(q.Known) != 1 || q.Known[0].Name != "dog" || q.Known[0].Probability != .75 || len(q.Earlier) != 1 || q.Earlier[0] != "feed the cat" {
		t.Errorf("second %+v", q)
	}
	if q := got[2]; !q.Start || q.Text != "" {
		t.Errorf("start %+v", q)
	}
	if q := got[3]; q.Format != "markdown" {
		t.Errorf("for Gemini %+v", q)
	}
}

// TestServerSwitches: the hook tells a server what is switched off in the client. If an older server offers such
// a skill all the same, its answer is not used.
func TestServerSwitches(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	var got []api.Prompt
	ask := func(session, offered string, heeds bool, list ...search.Switch) string {
		var out bytes.Buffer
		call := p.call("claude", strings.Replace(prompt, `"s"`, `"`+session+`"`, 1), &out)
		call.Ask = func(_ context.Context, q api.Prompt) (*api.Suggestion, error) {
			got = append(got, q)
			return &api.Suggestion{Block: "from the server\n", Skills: []api.Offer{{Name: offered}}, Heeds: heeds}, nil
		}
		call.Switches = func(_ context.Context, _, client string, _ func(error)) []search.Switch {
			if client != "claude" {
				t.Errorf("asked for %q", client)
			}
			return list
		}
		call.Deadline = 10 * time.Second
		hook.Run(t.Context(), call)
		return out.String()
	}
	dog := search.Switch{Names: "dog", Use: search.Disabled}
	for i, tt := range []struct {
		offered string
		heeds   bool
		list    []search.Switch
		server  bool // its answer is used
	}{
		{"cat", false, []search.Switch{dog}, true}, {"dog", false, nil, true}, {"dog", false, []search.Switch{dog}, false},
		{"dog", true, []search.Switch{dog}, true}, // the prompt may name what only the user starts
		{"dog", false, []search.Switch{dog, {Names: "dog"}}, true}, {"cat", true, slices.Repeat([]search.Switch{dog}, 501), false},
	} {
		if answer := ask(fmt.Sprint("s", i), tt.offered, tt.heeds, tt.list...); strings.Contains(answer, "from the server") != tt.server || !tt.server && !strings.Contains(answer, "cat/SKILL.md") {
			t.Errorf("%+v: %s, log:\n%s", tt, answer, p.log(t))
		}
	}
	if q := got[0]; len(q.Switches) != 1 || q.Switches[0].Names != "dog" || q.Switches[0].Use != "disabled" || len(got) != 5 {
		t.Errorf("%d requests, the first with %+v", len(got), q.Switches)
	}
}

// TestServerHides: the model gets nothing from a server that a reader could not see.
func TestServerHides(t *testing.T) {
	p := newPlace(t)
	server := func(context.Context, api.Prompt) (*api.Suggestion, error) {
		return &api.Suggestion{Block: "ca\U000e0064\U000e006ft, d\u202eo\u200bg\x1b[31m\n"}, nil
	}
	if got := p.ask(t, "claude", prompt, server); !strings.Contains(got, `"cat, dog[31m\n"`) {
		t.Errorf("prompt: %q", got)
	}
	if got := p.ask(t, "sessionstart", start, server); !strings.Contains(got, `"cat, dog[31m\n"`) {
		t.Errorf("start: %q", got)
	}
}

// TestServerFails: when the server does not answer, or with more than there is room for,
// the catalog of this machine does, with paths to its own files.
func TestServerFails(t *testing.T) {
	p := newPlace(t)
	p.index(t)
	for name, server := range map[string]func(context.Context, api.Prompt) (*api.Suggestion, error){
		"error": func(context.Context, api.Prompt) (*api.Suggestion, error) {
			return nil, errors.New("connection refused")
		},
		"late": func(ctx context.Context, _ api.Prompt) (*api.Suggestion, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"long": func(_ context.Context, q api.Prompt) (*api.Suggestion, error) {
			return &api.Suggestion{Block: strings.Repeat("x", q.Room+1)}, nil
		},
		"long as JSON": func(_ context.Context, q api.Prompt) (*api.Suggestion, error) {
			return &api.Suggestion{Block: strings.Repeat("\n", q.Room/2+1)}, nil
		},
	} {
		event := strings.Replace(prompt, `"s"`, `"`+name+`"`, 1)
		var out bytes.Buffer
		call := p.call("claude", event, &out)
		call.Ask, call.Server, call.Deadline = server, "skills", 3*time.Second
		hook.Run(t.Context(), call)
		if got := out.String(); !strings.Contains(got, "cat/SKILL.md") || strings.Contains(got, "read_skill") {
			t.Errorf("%s: %s, log:\n%s", name, got, p.log(t))
		}
		if !strings.Contains(p.log(t), "the catalog of this machine is asked instead") {
			t.Errorf("%s: log:\n%s", name, p.log(t))
		}
		if got := p.ask(t, "claude", strings.Replace(start, `"s"`, `"`+name+`"`, 1), server); got != "" {
			t.Errorf("%s: an event that needs no answer gets %s", name, got)
		}
	}
}
