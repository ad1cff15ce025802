// Package skilltest runs the tests that a skill ships: files tests/*.txtar, each a command
// of the skill, or a conversation with a model that follows a script. The one rule: a test
// runs like the real thing, through the catalog, the agent and the executor, in a workspace
// of its own.
package skilltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// A Status is how a test ended.
type Status string

// The statuses.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	Broken Status = "broken" // it could not be run
)

// An Outcome is what became of one test.
type Outcome struct {
	Skill    string        `json:"skill"` // its ID
	Name     string        `json:"name"`  // path of its file in the skill
	About    string        `json:"about,omitempty"`
	Status   Status        `json:"status"`
	Message  string        `json:"message,omitempty"` // what is wrong, on one line
	Diffs    []Diff        `json:"diffs,omitempty"`
	Duration time.Duration `json:"duration_ns"`

	Unprotected []string `json:"unprotected,omitempty"` // see [sandbox.Result]
}

// A Diff is something that is not as wanted.
type Diff struct {
	What string `json:"what"` // "stdout", "want/notes.html" and so on
	Text string `json:"text"` // a unified diff from wanted to got
}

// ErrNone means that a skill has no tests.
var ErrNone = errors.New("it has no tests")

// Run runs the tests of a skill with an agent whose Model, Workspace and Allow it sets, in the
// order of their names. Each test has the files of its executors for itself. An error means that the skill
// could not be read, or that ctx ended; it wraps ErrNone if there are no tests.
func Run(ctx context.Context, cfg agent.Config, id string) ([]Outcome, error) {
	c := cfg.Catalog
	body, err := c.Body(ctx, id, cfg.Agent)
	if err != nil {
		return nil, err
	}
	var list []Outcome
	for _, r := range body.Resources {
		if ok, _ := path.Match("tests/*.txtar", r.Path); !ok {
			continue
		}
		o := runFile(ctx, cfg, &body, r.Path)
		if err := ctx.Err(); err != nil {
			return list, err
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("skill %s: %w: there is no file tests/NAME.txtar", body.ID, ErrNone)
	}
	return list, nil
}

// runFile runs the test in a file of a skill.
func runFile(ctx context.Context, cfg agent.Config, body *contextprovider.Body, name string) (o Outcome) {
	o = Outcome{Skill: body.ID, Name: name, Status: Passed}
	start := time.Now()
	defer func() { o.Duration = time.Since(start) }()
	f, err := cfg.Catalog.File(ctx, body.ID, name, cfg.Agent)
	var t *Test
	if err == nil {
		t, err = Parse(name, []byte(f.Text))
	}
	if err == nil {
		o.About = t.About
		err = o.run(ctx, cfg, body, t)
	}
	if err != nil {
		o.Status, o.Message = Broken, tidy.Line(err.Error())
	}
	return o
}

// run runs a test in a workspace of its own.
func (o *Outcome) run(ctx context.Context, cfg agent.Config, body *contextprovider.Body, t *Test) error {
	dir, err := os.MkdirTemp("", "skill-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range t.Files {
		if err := root.MkdirAll(filepath.FromSlash(path.Dir(f.Path)), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(f.Path), []byte(f.Data), 0o600); err != nil {
			return err
		}
	}
	script := agenttest.New(t.Turns...)
	cfg.Model, cfg.Workspace, cfg.Allow = script, sandbox.Workspace{Dir: dir, Write: true}, onlyFor(body)
	a, err := agent.New(cfg)
	if err != nil {
		return err
	}
	if t.Prompt != "" {
		err = o.talk(ctx, a, t, script)
	} else {
		err = o.command(ctx, a, body.ID, t)
	}
	for _, f := range t.Want {
		o.compareFile(root, f)
	}
	return err
}

// onlyFor lets scripts run of a skill and of those that it asks for. Its author wrote what the
// model says in a test, and the user who runs the tests chose this skill alone.
func onlyFor(body *contextprovider.Body) func(context.Context, contextprovider.Body, string) error {
	return func(_ context.Context, b contextprovider.Body, _ string) error {
		asked := func(q contextprovider.Requirement) bool { return q.Name == b.ID }
		if b.ID == body.ID || slices.ContainsFunc(body.Requires, asked) {
			return nil
		}
		return fmt.Errorf("a test of the skill %s runs no scripts of the skill %s, which it does not require", body.ID, b.ID)
	}
}

// command runs the command of a test.
func (o *Outcome) command(ctx context.Context, a *agent.Agent, id string, t *Test) error {
	res, err := a.NewConversation().Run(ctx, id, sandbox.Request{Command: t.Command, Stdin: strings.NewReader(t.Stdin)})
	if err != nil {
		return err
	}
	o.Unprotected = res.Unprotected
	if res.Stopped != "" {
		o.fail("the command was stopped: " + res.Stopped)
	} else if res.ExitCode != t.Exit {
		o.fail(fmt.Sprintf("the command ended with status %d, not %d", res.ExitCode, t.Exit))
	}
	o.compare("stdout", t.Stdout, string(res.Stdout))
	if t.Stderr == nil && res.ExitCode != t.Exit && len(res.Stderr) > 0 {
		t.Stderr = new(string) // it may say why
	}
	o.compare("stderr", t.Stderr, string(res.Stderr))
	return nil
}

// talk holds the conversation of a test.
func (o *Outcome) talk(ctx context.Context, a *agent.Agent, t *Test, script *agenttest.Script) error {
	answer, err := a.Chat(ctx, t.Prompt)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		o.fail(err.Error())
	case script.Rest() > 0:
		o.fail(fmt.Sprintf("the conversation ended before %d of its %d turns", script.Rest(), len(t.Turns)))
	}
	o.compare("answer", t.Answer, answer.Text)
	return nil
}

// compareFile compares a file of the workspace with what is wanted.
func (o *Outcome) compareFile(root *os.Root, want File) {
	got, err := root.ReadFile(filepath.FromSlash(want.Path))
	if err != nil {
		o.fail(fmt.Sprintf("the workspace has no file %s", want.Path))
		return
	}
	o.compare("want/"+want.Path, &want.Data, string(got))
}

// compare compares texts. Line ends do not count, nor does one at the end.
func (o *Outcome) compare(what string, want *string, got string) {
	if want == nil {
		return
	}
	wanted, got := normal(*want), normal(got)
	if wanted == got {
		return
	}
	o.fail(what + " is not as wanted")
	o.Diffs = append(o.Diffs, Diff{what, udiff.Unified("wanted", "got", wanted, got)})
}

func normal(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// fail notes that the test failed; the first reason is the message.
func (o *Outcome) fail(message string) {
	o.Status = Failed
	o.Message = cmp.Or(o.Message, tidy.Line(message))
}

// Bad reports whether any test did not pass.
func Bad(list []Outcome) bool {
	return slices.ContainsFunc(list, func(o Outcome) bool { return o.Status != Passed })
}
