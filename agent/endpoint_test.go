package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/agent/openai"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// played returns an agent whose model is behind a server that plays a script.
func played(t *testing.T, script string, change func(*agent.Config)) *agent.Agent {
	t.Helper()
	turns, err := agenttest.Parse([]byte(script))
	must.Do(t, err)
	s := agenttest.New(turns...)
	model, err := openai.New(openai.Config{BaseURL: agenttest.NewServer(t, s).URL, Model: "scripted", KeyEnv: "-"}, &openai.Options{
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	must.Do(t, err)
	t.Cleanup(func() {
		if s.Rest() > 0 {
			t.Errorf("%d turns were not asked for", s.Rest())
		}
	})
	cfg := agent.Config{Model: model, Catalog: memoryCatalog(t)}
	if change != nil {
		change(&cfg)
	}
	return newAgent(t, cfg)
}

// TestEndpoint: a model that is slow, writes malformed arguments, and calls two tools at
// once, over HTTP.
func TestEndpoint(t *testing.T) {
	a := played(t, `
-- turn --
status: 429

slow down
-- turn --
want: this PDF form
want tool: read_skill_resource
want tools: pdf-forms
call get_skill: {"skill_name": "pdf-

I look at it.
-- turn --
want: malformed
call get_skill: {"skill_name": "pdf-forms"}
call read_skill_resource: {"skill_name": "pdf-forms", "path": "references/fields.md"}
usage: 100 20
-- turn --
want: # PDF forms
want: button fields
usage: 200 5

Done.
`, nil)
	var said []string
	got, err := a.NewConversation().ChatStream(t.Context(), formPrompt, func(p string) { said = append(said, p) })
	must.Do(t, err)
	if got.Text != "Done." || got.Usage != (agent.Usage{In: 300, Out: 25}) || strings.Join(said, "") != "I look at it.Done." {
		t.Errorf("%+v, said %q", got, said)
	}
	var kinds []usage.Kind
	for _, e := range got.Events {
		kinds = append(kinds, e.Kind)
	}
	if want := []usage.Kind{usage.Offered, usage.Asked, usage.Failed, usage.Asked, usage.Loaded, usage.Read, usage.Asked}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}

// TestDisconnect: a stream that ends early is an error, and the next prompt works.
func TestDisconnect(t *testing.T) {
	a := played(t, `
-- turn --
cut: 5

Once upon a time
-- turn --
not all: Hello

Back.
`, nil)
	c := a.NewConversation()
	_, err := c.ChatStream(t.Context(), "Hello", func(string) {})
	if _, ok := errors.AsType[*openai.Error](err); !ok || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("%v", err)
	}
	if got, err := c.Chat(t.Context(), "Are you there?"); err != nil || got.Text != "Back." {
		t.Errorf("%+v, %v", got, err)
	}
}
