package trial_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/source"
)

// What the test binary reads as the program of a hook.
const (
	folderVar = "TRIAL_FOLDER" // the folder with the catalog
	serverVar = "TRIAL_SERVER" // the answer of a server, as JSON; without one the server fails
	slowVar   = "TRIAL_SLOW"   // opening the catalog takes a second
)

// TestMain lets the test binary be the program of a hook.
func TestMain(m *testing.M) {
	if mode := os.Getenv(trial.Var); mode != "" {
		if err := beHook(context.Background(), mode); err != nil {
			fmt.Fprintf(os.Stderr, "skills: %v\n", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// config is the configuration of a catalog with one skill.
func config(dir string) (repertoire.Config, error) {
	src, err := source.Dir(filepath.Join(dir, "skills"), &source.Options{Label: "skills"})
	return repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(dir, "c.db"), Schedule: repertoire.Never, Embedder: embed.None{}, Defer: true}, err
}

func beHook(ctx context.Context, mode string) error {
	cfg, err := config(os.Getenv(folderVar))
	if err != nil {
		return err
	}
	deadline, _ := trial.Deadline(mode, hook.Deadline)
	call := hook.Call{Arg: os.Args[2], Deadline: deadline, Stdin: os.Stdin, Stdout: os.Stdout, Verbose: os.Stderr, Getenv: os.Getenv,
		StateDir: func() (string, error) { return "", nil }, Command: func() string { return "skills" }}
	call.Open = func(ctx context.Context, o hook.Opening) (hook.Catalog, *repertoire.Agent, error) {
		if os.Getenv(slowVar) != "" {
			time.Sleep(100 * time.Millisecond)
		}
		c, err := repertoire.Open(ctx, cfg)
		return c, nil, err
	}
	if answer, ok := os.LookupEnv(serverVar); ok {
		call.Ask = func(context.Context, api.Prompt) (*api.Suggestion, error) {
			if answer == "" {
				return nil, errors.New("connection refused")
			}
			s := new(api.Suggestion)
			return s, json.Unmarshal([]byte(answer), s)
		}
	}
	return trial.Report(ctx, os.Stderr, hook.Run(ctx, call), mode, hook.Deadline, func(ctx context.Context) (hook.Catalog, *repertoire.Agent, error) {
		return call.Open(ctx, hook.Opening{})
	})
}

// program returns an environment in which the test binary is this program, with a catalog.
func program(t *testing.T) *setup.Env {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "skills", "balcony", "SKILL.md")
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Do(t, os.WriteFile(file, []byte("---\nname: balcony\ndescription: Waters the plants on the balcony.\n---\nWater them.\n"), 0o600))
	cfg, err := config(dir)
	must.Do(t, err)
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, errors.Join(err, c.Close()))
	t.Setenv(folderVar, dir)
	self, err := os.Executable()
	must.Do(t, err)
	return &setup.Env{Program: self}
}

// water tries the prompt that the skill is for.
func water(t *testing.T, env *setup.Env, name string, deadline time.Duration) *trial.Trial {
	t.Helper()
	h, err := trial.Choose(env, nil, name)
	must.Do(t, err)
	r, err := trial.Run(t.Context(), trial.Options{Env: env, Hook: h, Prompt: "water the plants on the balcony", Dir: t.TempDir(), Deadline: deadline})
	must.Do(t, err)
	return r
}

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
			st.Registrations = append(st.Registrations, setup.Registration{Kind: setup.Hook, Scope: client.User, File: c.Name + "-hooks", Words: []string{"skills", "hook", c.Name}})
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
		h, err := trial.Choose(new(setup.Env), tt.all, tt.name)
		file := ""
		if h.Registered != nil {
			file = h.Registered.File
		}
		if err != nil || h.Client.Name != tt.client || file != tt.file || h.Any != (tt.all == nil) {
			t.Errorf("%q: %s in %q, any %t, error %v", tt.name, h.Client.Name, file, h.Any, err)
		}
	}
	for _, name := range []string{"vscode", "zed"} {
		if h, err := trial.Choose(new(setup.Env), all, name); err == nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestEveryClient: the model of every client with a hook for prompts is told of the skill, in
// whatever form the client takes that.
func TestEveryClient(t *testing.T) {
	env := program(t)
	for _, name := range trial.Clients() {
		r := water(t, env, name, time.Minute)
		if r.Outcome != trial.Offered || !r.OK() || len(r.Skills) != 1 || !strings.Contains(r.Text, "balcony") || strings.Contains(r.Text, "water the plants on") || len(r.Problems) > 0 {
			t.Errorf("%s: %+v", name, r.Result)
		}
		if said := r.Say("repertoire"); !strings.Contains(said, `("repertoire setup `+name+`" does so)`) || !strings.Contains(said, "\nRanking: text (no embedder).\n") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestLate: the result of a hook that misses its deadline says so, and what it would have
// told.
func TestLate(t *testing.T) {
	env := program(t)
	t.Setenv(slowVar, "1")
	r := water(t, env, "", time.Millisecond)
	if !r.Late || r.OK() || r.Outcome != trial.Offered || r.DeadlineMS != 1 || r.Client != "" {
		t.Errorf("%+v", r.Result)
	}
}

// TestAsking: the result of a hook that asks a server has what the server offers; when it does
// not answer, what the catalog of this machine does, and the error.
func TestAsking(t *testing.T) {
	env := program(t)
	try := func(answer string) *trial.Trial {
		t.Helper()
		t.Setenv(serverVar, answer)
		return water(t, env, "claude", time.Minute)
	}
	if r := try(""); r.Outcome != trial.Offered || len(r.Skills) != 1 || r.Skills[0].Name != "balcony" || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "connection refused") {
		t.Errorf("without an answer: %+v", r.Result)
	}
	r := try(`{"block": "garden\n", "skills": [{"id": "garden", "name": "garden", "location": "team:garden/SKILL.md", "probability": 0.9}]}`)
	if r.Outcome != trial.Offered || len(r.Skills) != 1 || r.Skills[0].ID != "garden" || r.Text != "garden\n" || len(r.Problems) > 0 || !strings.Contains(r.Say("skills"), "Ranking: by the server.") {
		t.Errorf("with an offer: %+v\n%s", r.Result, r.Say("skills"))
	}
	if r := try(`{"because": "reply"}`); r.Outcome != trial.Nothing || !r.OK() || len(r.Skills) > 0 || r.Kind != "reply" {
		t.Errorf("with nothing: %+v\n%s", r.Result, r.Say("skills"))
	}
}
