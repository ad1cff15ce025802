package setup

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// An Answer is what came of running a registered command, see package probe.
type Answer struct {
	OK      bool     `json:"ok"`                // it works; a prompt that needs no skill gets no answer
	TookMS  int64    `json:"took_ms"`           // until it answered
	Offered []string `json:"offered,omitempty"` // by a hook: names of skills
	Tools   int      `json:"tools,omitempty"`   // of a server: how many it lists
	Problem string   `json:"problem,omitempty"` // what is wrong
	Hint    string   `json:"hint,omitempty"`    // what to do about it
	Late    bool     `json:"late,omitempty"`    // it answers, but a client does not wait so long
	Refused bool     `json:"refused,omitempty"` // a server does not accept the token
}

// command returns what the entry runs, as one line.
func (r Registration) command() string {
	if r.Kind == MCP {
		return commandOf(r.Words)
	}
	return r.Line
}

// Asks reports whether the command of a hook is registered for the event that it answers with
// skills, or with the number of skills.
func (r Registration) Asks(form *client.Hook) bool {
	ev, ok := asking(form)
	return ok && len(r.at) > 1 && r.at[1] == ev.Name
}

// asking returns the event at which a client takes skills: a prompt, or the start of a session.
func asking(form *client.Hook) (client.Event, bool) {
	for _, kind := range []client.Kind{client.Prompt, client.Start} {
		if ev, ok := form.Event(kind); ok && ev.SetUp {
			return ev, true
		}
	}
	return client.Event{}, false
}

// Flags returns the flags of a registered command that choose the catalog and the agent.
func (r Registration) Flags() []string {
	words := slices.Clone(r.Words[1:])
	for _, name := range []string{"hook", "--mcp-server"} {
		if i := slices.Index(words, name); r.Kind == Hook && i >= 0 {
			words = slices.Delete(words, i, min(i+2, len(words)))
		}
	}
	if i := slices.Index(words, "mcp"); r.Kind == MCP && i >= 0 {
		words = slices.Delete(words, i, i+1)
	}
	return words
}

// MayRun returns an error if a registered command must not be run only to try it. In the
// settings of the user any command of ours may run: the client runs it with each prompt. The
// settings of a project may be a stranger's, and whatever is in them, such as a second command
// behind ours, would run. So they count only as setup wrote them, with this very program; and
// what setup found there, such as another server or variables of ours, it has kept, not written.
func (e *Env) MayRun(r Registration) error {
	program := r.Words[0]
	switch {
	case IsTemporary(program):
		return fmt.Errorf("%s is a program that \"go run\" or \"go test\" has built", program)
	case r.Scope == client.User:
		return nil
	case r.URL == "" && (!filepath.IsAbs(program) || regular.Real(program) != regular.Real(e.Program)):
		return fmt.Errorf("the project's settings name another program, %s", program)
	}
	rec, err := readRecord(e.State)
	if err != nil {
		return err
	}
	data, err := readConfig(r.File)
	if err != nil {
		return err
	}
	switch wrote := rec.Files[regular.Real(r.File)]; {
	case wrote == nil || wrote.Wrote != digest(data):
		return fmt.Errorf("%s is not as setup wrote it", r.File)
	case len(r.Environ) > 0 || !slices.Contains(wrote.Commands, r.command()):
		return fmt.Errorf("setup has not written this entry of %s", r.File)
	}
	return nil
}

// Shell returns the shell with which a client runs the commands of its hooks.
func (e *Env) Shell(form *client.Hook) client.Shell {
	if e.OS == "windows" {
		return form.Windows
	}
	return client.Posix
}
