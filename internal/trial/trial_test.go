package trial_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/source"
)

// TestSplit: the first argument is a client only if others follow.
func TestSplit(t *testing.T) {
	for _, tt := range []struct{ args, name, prompt string }{
		{"claude|water the plants", "claude", "water the plants"},
		{"claude|water|the", "claude", "water|the"},
		{"codex|-", "codex", "-"},
		{"claude", "", "claude"},
		{"water|the|plants", "", "water|the|plants"},
		{"Claude|is|here", "", "Claude|is|here"},
		{"generic|question", "", "generic|question"},
		{"", "", ""},
	} {
		name, prompt := trial.Split(strings.Split(tt.args, "|"))
		if name != tt.name || strings.Join(prompt, "|") != tt.prompt {
			t.Errorf("%s: client %q, prompt %q", tt.args, name, prompt)
		}
	}
}

// TestChoose: without a name it is the first client with a hook of ours, or any.
func TestChoose(t *testing.T) {
	var all []setup.Status
	for _, c := range client.All() {
		st := setup.Status{Client: c, Registrations: []setup.Registration{{Kind: setup.MCP, File: "servers"}}}
		switch c.Name {
		case "vscode", "gemini", "cursor":
			st.Registrations = append(st.Registrations, setup.Registration{Kind: setup.Hook, File: c.Name + "-hooks"})
		}
		all = append(all, st)
	}
	for _, tt := range []struct {
		name, client, file string
		all                []setup.Status
	}{
		{"", "gemini", "gemini-hooks", all},
		{"cursor", "cursor", "cursor-hooks", all},
		{"claude", "claude", "", all},
		{"", "claude", "", nil},
	} {
		h, err := trial.Choose(tt.all, tt.name)
		file := ""
		if h.Registered != nil {
			file = h.Registered.File
		}
		if err != nil || h.Client.Name != tt.client || file != tt.file || h.Any != (tt.all == nil) {
			t.Errorf("%q: %s in %q, any %t, error %v", tt.name, h.Client.Name, file, h.Any, err)
		}
	}
	for _, name := range []string{"vscode", "zed"} {
		if h, err := trial.Choose(all, name); err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// opener opens a catalog with one skill.
func opener(t *testing.T) func(context.Context, hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "skills", "balcony", "SKILL.md")
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(file), 0o700),
		os.WriteFile(file, []byte("---\nname: balcony\ndescription: Waters the plants on the balcony.\n---\nWater them.\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	src, err := source.Dir(filepath.Join(dir, "skills"), &source.Options{Label: "skills"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(dir, "c.db"), Schedule: repertoire.Never, Embedder: embed.None{}, Defer: true}
	c, err := repertoire.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Rescan(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		c, err := repertoire.Open(ctx, cfg)
		return c, nil, err
	}
}

// TestEveryClient: the model of every client with a hook for prompts is told of the skill, in
// whatever form the client takes that.
func TestEveryClient(t *testing.T) {
	open := opener(t)
	for _, c := range client.All() {
		h, err := trial.Choose(nil, c.Name)
		if err != nil {
			continue // it has no such hook
		}
		r, err := trial.Run(t.Context(), trial.Options{Hook: h, Prompt: "water the plants on the balcony", Dir: t.TempDir(),
			Call: hook.Call{Deadline: time.Minute, Open: open, Command: func() string { return "skills" }}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != trial.Offered || !r.OK() || len(r.Skills) != 1 || !strings.Contains(r.Text, "balcony") || strings.Contains(r.Text, "water the plants on") || len(r.Problems) > 0 {
			t.Errorf("%s: %+v", c.Name, r.Result)
		}
		if said := r.Say("repertoire"); !strings.Contains(said, `("repertoire setup `+c.Name+`" does so)`) || !strings.Contains(said, "\nRanking: text (no embedder).\n") {
			t.Errorf("%s: %s", c.Name, said)
		}
	}
}

// TestLate: the result of a hook that misses its deadline says so, and what it would have
// told. The first call goes on beside the second one.
func TestLate(t *testing.T) {
	open := opener(t)
	h, err := trial.Choose(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	slow := func(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		if end, _ := ctx.Deadline(); time.Until(end) < time.Second { // the first call
			<-release
			return nil, nil, errors.New("nobody listens any more")
		}
		close(release)
		return open(ctx, o)
	}
	r, err := trial.Run(t.Context(), trial.Options{Hook: h, Prompt: "water the plants on the balcony",
		Call: hook.Call{Deadline: time.Millisecond, Open: slow, Command: func() string { return "skills" }}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Late || r.OK() || r.Outcome != trial.Offered || r.DeadlineMS != 1 || r.Client != "" {
		t.Errorf("%+v", r.Result)
	}
}

// TestServer: the result of a hook that asks a server has what the server offers; when it does
// not answer, what the catalog of this machine does, and the error.
func TestServer(t *testing.T) {
	h, err := trial.Choose(nil, "claude")
	if err != nil {
		t.Fatal(err)
	}
	var answer *api.Suggestion
	call := hook.Call{Deadline: time.Minute, Open: opener(t), Command: func() string { return "skills" },
		Ask: func(context.Context, api.Prompt) (*api.Suggestion, error) {
			if answer == nil {
				return nil, errors.New("connection refused")
			}
			return answer, nil
		}}
	try := func() *trial.Trial {
		t.Helper()
		r, err := trial.Run(t.Context(), trial.Options{Hook: h, Prompt: "water the plants on the balcony", Call: call})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := try(); r.Outcome != trial.Offered || len(r.Skills) != 1 || r.Skills[0].Name != "balcony" || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "connection refused") {
		t.Errorf("without an answer: %+v", r.Result)
	}
	answer = &api.Suggestion{Block: "garden\n", Skills: []api.Skill{{ID: "garden", Name: "garden", Location: "team:garden/SKILL.md", Probability: .9}}}
	if r := try(); r.Outcome != trial.Offered || len(r.Skills) != 1 || r.Skills[0].ID != "garden" || r.Text != "garden\n" || len(r.Problems) > 0 || !strings.Contains(r.Say("skills"), "Ranking: by the server.") {
		t.Errorf("with an offer: %+v\n%s", r.Result, r.Say("skills"))
	}
	answer = &api.Suggestion{Because: "reply"}
	if r := try(); r.Outcome != trial.Nothing || !r.OK() || len(r.Skills) > 0 || r.Kind != "reply" {
		t.Errorf("with nothing: %+v\n%s", r.Result, r.Say("skills"))
	}
}
