package trial

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// tried sets a client up with a shell script as the program, and runs what is written.
func tried(t *testing.T, name, script string, s Sample) setup.Registration {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "it's here", "skills") // the shell needs quotes for it
	must.Do(t, os.MkdirAll(filepath.Dir(program), 0o700))
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700))
	env := &setup.Env{Machine: client.Machine{OS: runtime.GOOS, Home: dir, Getenv: func(string) string { return "" }}, State: filepath.Join(dir, "state"), Program: program}
	c, _ := client.Find(name)
	plan, err := setup.NewPlan(env, setup.Request{Clients: []client.Client{c}, Hook: true, Scope: client.User})
	must.Do(t, err)
	must.Do(t, plan.Apply(env))
	statuses := setup.ScanOf(env, []client.Client{c})
	Check(t.Context(), env, statuses, s)
	if len(statuses[0].Registrations) != 1 || statuses[0].Registrations[0].Answer == nil {
		t.Fatalf("registered are %+v", statuses[0].Registrations)
	}
	return statuses[0].Registrations[0]
}

// TestHook: each way in which a hook can fail is told in words.
func TestHook(t *testing.T) {
	const answer = `printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"feed it"}}'; echo 'report: {"skills":[{"name":"cat"}]}' >&2`
	expected := Sample{Prompt: "feed the cat", Skills: []string{"cat"}}
	for name, c := range map[string]struct {
		script  string
		sample  Sample
		problem string
		offered []string
	}{
		"answers":         {"cat >/dev/null; test -n \"$REPERTOIRE_TRIAL\" && " + answer, expected, "", []string{"cat"}},
		"is silent":       {"cat >/dev/null", Sample{}, "", nil},
		"should answer":   {"cat >/dev/null", expected, "it says nothing to a prompt for which the catalog has cat", nil},
		"ends badly":      {"echo no library >&2; exit 3", expected, "it ends with exit status 3: no library", nil},
		"prints no JSON":  {"cat >/dev/null; echo hello", expected, "hello", nil},
		"logs an error":   {"cat >/dev/null; echo 'time=1 level=ERROR msg=\"no answer\" client=claude error=\"no agent \\\"x\\\": none\"' >&2", expected, `no agent "x": none`, nil},
		"other agent":     {"cat >/dev/null", Sample{Prompt: "p", Skills: []string{"cat"}, Flags: []string{"--agent", "x"}}, "", nil},
		"reads no event":  {answer, expected, "", []string{"cat"}},
		"leaves a child":  {"cat >/dev/null; sleep 60 & " + answer, expected, "", []string{"cat"}},
		"prints too much": {"cat >/dev/null; head -c 3000000 /dev/zero", expected, "reading an answer", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := tried(t, "claude", c.script, c.sample).Answer
			if a.OK != (c.problem == "") || !strings.Contains(a.Problem, c.problem) || !slices.Equal(a.Offered, c.offered) || a.OK == (a.Hint != "") {
				t.Errorf("the answer is %+v", a)
			}
		})
	}
}

// TestBounded: what never ends is killed with all that it has started.
func TestBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	cmd, err := shell(ctx, client.Posix, "sleep 60 | sleep 60")
	if err != nil {
		t.Skip(err)
	}
	if err := run(cmd); err == nil || ctx.Err() == nil {
		t.Errorf("it ended by itself: %v", err)
	}
}

// TestServer: a server that ends, or that is none, is a problem.
func TestServer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	a := tryServer(t.Context(), setup.Registration{Kind: setup.MCP, Words: []string{"/bin/sh", "-c", "echo no library >&2"}})
	if a.OK || !strings.Contains(a.Problem, ": no library") {
		t.Errorf("the answer is %+v", a)
	}
}

func TestPrinted(t *testing.T) {
	var o output
	for range 3 {
		fmt.Fprint(&o, strings.Repeat("é", 400_000))
	}
	if n := len(o.text); n != maxOutput {
		t.Errorf("%d bytes are kept", n)
	}
	if p := o.printed(); len([]rune(p)) > 310 {
		t.Errorf("printed is %d runes", len([]rune(p)))
	}
}

// TestElsewhere: what to do about a server with a URL fits what is wrong, and never puts the
// hook of this machine in the place of the one that asks the server.
func TestElsewhere(t *testing.T) {
	for problem, want := range map[string]string{
		"asking h: status 401":                               "the URL and the token",
		"environment variable T for the key is not set":      "set the variable",
		"tls: x509: certificate signed by unknown authority": "$SSL_CERT_FILE",
	} {
		if got := elsewhere(problem); !strings.Contains(got, want) {
			t.Errorf("%s: %s", problem, got)
		}
	}
}
