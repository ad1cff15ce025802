package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Var is set in the environment of a hook that is tried: to its deadline, 0 for its own, and
// explained if the hook should say what its answer follows from.
const Var = "REPERTOIRE_TRIAL"

// A call is what came of running the command of a hook.
type call struct {
	stdout, stderr output
	took           time.Duration
	err            error  // of the command
	told           string // what the model is told
	wrong          error  // why the client cannot read the answer
	log            []logLine
	report         report
}

// callHook runs the command of a hook with a sample of an event: as it stands in the settings,
// through the client's shell, unless flags are added. mode is the value of Var.
func callHook(ctx context.Context, env *setup.Env, c client.Client, r setup.Registration, e event.Event, mode string, flags []string) (*call, error) {
	sample, err := event.Sample(c.Name, e)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, r.Words[0], slices.Concat(r.Words[1:], flags)...)
	if r.Line != "" && len(flags) == 0 {
		if cmd, err = shell(ctx, env.Shell(c.Hook), r.Line); err != nil {
			return nil, err
		}
	}
	a := &call{}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ(Var+"="+mode), bytes.NewReader(sample), &a.stdout, &a.stderr
	start := time.Now()
	a.err = run(cmd)
	a.took = time.Since(start)
	a.told, a.wrong = event.Told(c.Name, e, a.stdout.text)
	a.read()
	return a, nil
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

// A logLine is a warning or an error in the log of a hook.
type logLine struct {
	message, cause string
	failed         bool // an error
}

// field matches a field of a line of a log.
var field = lazyregexp.New(`(\w+)=("(?:[^"\\]|\\.)*"|\S*)`)

// read reads what a hook has written to standard error: its log, and its report.
func (a *call) read() {
	for line := range strings.Lines(string(a.stderr.text)) {
		if text, ok := strings.CutPrefix(line, reportMark); ok {
			_ = json.Unmarshal([]byte(text), &a.report) // without one the hook has not answered
			continue
		}
		l := logLine{failed: strings.Contains(line, " level=ERROR ")}
		if !l.failed && !strings.Contains(line, " level=WARN ") {
			continue
		}
		var causes []string
		for _, m := range field().FindAllStringSubmatch(line, -1) {
			value := m[2]
			if text, err := strconv.Unquote(value); err == nil {
				value = text
			}
			switch m[1] {
			case "time", "level", "client": // all lines have them
			case "msg":
				l.message = value
			default:
				causes = append(causes, value)
			}
		}
		l.cause = strings.Join(causes, ": ")
		a.log = append(a.log, l)
	}
}

// failure returns the first error in the log of the hook, or else ""; that a server refuses the
// token comes before all others.
func (a *call) failure() (first string) {
	for _, l := range a.log {
		switch text := cmp.Or(l.cause, l.message); {
		case isRefusal(text):
			return text
		case l.failed:
			first = cmp.Or(first, text)
		}
	}
	return first
}

// isRefusal reports whether a problem is that a server refuses the token.
func isRefusal(problem string) bool { return strings.HasPrefix(problem, endpoint.RefusedBy) }

// ending says how a command that failed has ended.
func (a *call) ending() string {
	return fmt.Sprintf("it ends with %v%s", a.err, cmp.Or(a.stderr.printed(), a.stdout.printed()))
}

// environ returns the environment of a command: that of this process without what clients
// set for the hooks of others, and more variables.
func environ(more ...string) []string {
	list := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(client.All(), func(c client.Client) bool {
			return name == c.ProjectVar || c.Hook != nil && name == c.Hook.RunsVar
		})
	})
	return append(list, more...)
}

// output keeps the start of what a command prints.
type output struct{ text []byte }

const maxOutput = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.text = append(o.text, p[:min(len(p), maxOutput-len(o.text))]...)
	return len(p), nil
}

// printed returns the first lines of what a command printed, after a colon; "" if there is
// nothing.
func (o *output) printed() string {
	const most = 300 // runes
	text := []rune(tidy.Line(strings.TrimSpace(string(o.text))))
	switch {
	case len(text) == 0:
		return ""
	case len(text) > most:
		text = append(text[:most], '…')
	}
	return ": " + string(text)
}
