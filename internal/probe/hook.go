package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// starting is how long a hook takes at most until it has the event, when its deadline starts.
const starting = 200 * time.Millisecond

// tryHook sends the sample to a hook in the form of its client, through the client's shell.
func (s Sample) tryHook(ctx context.Context, env *setup.Env, c client.Client, r setup.Registration) setup.Answer {
	again := fmt.Sprintf("%q registers it anew", "skills setup "+c.Name+" --hook")
	if !r.Asks(c.Hook) {
		return setup.Answer{Problem: "it is not registered for the event with which " + c.Title + " asks for skills", Hint: again}
	}
	e := event.Event{Kind: client.Start, Prompt: s.Prompt, Session: "probe", Turn: "1", Source: "startup"}
	if _, ok := c.Hook.Event(client.Prompt); ok {
		e.Kind = client.Prompt
	}
	e.Dir, _ = os.Getwd() // without one the event names none
	data, err := event.Sample(c.Name, e)
	if err != nil {
		return setup.Answer{Problem: err.Error()}
	}
	cmd, err := shell(ctx, env.Shell(c.Hook), r.Line())
	if err != nil {
		return setup.Answer{Problem: err.Error()}
	}
	var stdout, stderr output
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ(Var+"=1"), bytes.NewReader(data), &stdout, &stderr
	start := time.Now()
	err = run(cmd)
	a := setup.Answer{TookMS: time.Since(start).Milliseconds()}
	text, wrong := event.Told(c.Name, e, stdout.text)
	cause := logged(stderr.text)
	if strings.Contains(r.Line(), " --url ") {
		again = elsewhere(cause)
	}
	switch {
	case ctx.Err() != nil:
		a.Problem, a.Hint = fmt.Sprintf("it has not answered within %v", limit), again
	case err != nil:
		a.Problem, a.Hint = fmt.Sprintf("it ends with %v%s", err, cmp.Or(stderr.printed(), stdout.printed())), again
	case cause != "":
		a.Problem, a.Hint = cause, again
	case wrong != nil:
		a.Problem, a.Hint = fmt.Sprintf("%v%s", wrong, stdout.printed()), again
	case text == "" && s.expects(r):
		a.Problem = fmt.Sprintf("it says nothing to a prompt for which the catalog has %s%s", s.Skills[0], stderr.printed())
		a.Hint = `run "skills why SKILL PROMPT"`
	default:
		a.OK, a.Offered, a.Late = true, offered(text), time.Duration(a.TookMS)*time.Millisecond > starting+deadline(r)
	}
	return a
}

// run runs a command and waits for it. What it has started and left behind is killed.
func run(cmd *exec.Cmd) error {
	group(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 300 * time.Millisecond
	err := cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd) // nearly always there is nothing left
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it has answered; something else holds its output
		return nil
	}
	return err
}

// deadline returns how long the client has to wait for the hook at most.
func deadline(r setup.Registration) time.Duration {
	for i, word := range r.Words {
		value, ok := strings.CutPrefix(word, "--deadline=")
		if word == "--deadline" && i+1 < len(r.Words) {
			value, ok = r.Words[i+1], true
		}
		if d, err := time.ParseDuration(value); ok && err == nil {
			return d
		}
	}
	return hook.Deadline
}

// logged returns the first error in the log of a hook; "" means none.
func logged(log []byte) string {
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, " level=ERROR ") {
			continue
		}
		_, value, _ := strings.Cut(strings.TrimSpace(line), " error=")
		if quoted, err := strconv.QuotedPrefix(value); err == nil {
			value, _ = strconv.Unquote(quoted)
		}
		return cmp.Or(value, strings.TrimSpace(line))
	}
	return ""
}

// listed matches a skill in each form of a block.
var listed = lazyregexp.New(`(?m)^<name>\n(.+)\n</name>$|^<skill name="([^"]+)">|^- \*\*(.+?)\*\*:`)

// offered returns the names of the skills in a text for a model.
func offered(text string) []string {
	var names []string
	for _, m := range listed().FindAllStringSubmatch(text, -1) {
		if name := cmp.Or(m[1], m[2], m[3]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
