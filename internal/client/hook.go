package client

import (
	"slices"
	"strings"
)

// A Hook says how a client names its hooks in its settings, and what it says to
// a hook and takes as an answer. Settings with hooks are in JSON.
type Hook struct {
	Arg     string // what follows "skills hook": the client's name, or SessionStart
	Files   Places
	Also    Places // where else hooks may be; setup writes nothing there
	Top     Object // what else the file needs
	Groups  bool   // hooks are in groups with a matcher
	Windows Shell
	// Script is the program that the file with the hooks is, around its settings in JSON, see
	// edit.Script; "" means that the file is settings.
	Script  string
	Handler func(os, line string) Object
	Lines   []string // the members of a handler that may hold the command
	// Approvals is the file in TOML where the client keeps which hooks its user
	// has approved.
	Approvals Path

	// Switches are the settings that keep the client from running hooks.
	Switches []Switch

	Events []Event
	Tools  Tools
	// Mark stands before the name of a skill that a prompt tells the client to load: "/" at
	// the start of a prompt, or "$" anywhere; "": the client has no such mark.
	Mark string
	// Markdown: the client escapes angle brackets in what it is given, so that
	// Markdown is easier to read for the model.
	Markdown bool
	// RunsHooksOf names another client whose hooks this one runs too, with
	// answers in its own form. It sets the variable RunsVar then.
	RunsHooksOf, RunsVar string
	// Drops reports that an event comes from this client, which runs the hooks of
	// others and drops their answers. Nil: it does not do so.
	Drops func(name string, has func(field string) bool) bool
}

// SessionStart is the Arg of hooks that are answered at the start of a session
// only. The events show which client sent them.
const SessionStart = "sessionstart"

// A Kind is what an event is about.
type Kind int

// The kinds.
const (
	Other   Kind = iota
	Prompt       // the user has sent a prompt
	Start        // a session begins or goes on
	Compact      // the client replaces the conversation by a summary
	Tool         // the model has used a tool
)

// An Event is one event of a client.
type Event struct {
	Name string
	Kind Kind
	// Field marks the event where the client sends it without a name: the event
	// has a field of this name. "" means that events have names.
	Field string
	// Trigger is the only trigger of the event that counts; "" means that all do.
	Trigger string
	Answer  string // the form of the answer, JSON with the marks below; "": none is taken
	Sample  string // the form of the event itself, of prompts and starts, with the marks below

	SetUp   bool   // setup registers the hook for it
	Arg     string // what follows "skills hook" for it; "" means the Arg of the Hook
	Matcher string // "" for none; "%" stands for the name of the MCP server
	NoMCP   string // the matcher without an MCP server
}

// The marks in the form of an answer, and of a sample.
const (
	MarkEvent   = "$EVENT"   // the name of the event
	MarkText    = "$TEXT"    // of an answer: the text for the model
	MarkPrompt  = "$PROMPT"  // the prompt; of an answer, the field that marks the event with the text after it
	MarkSession = "$SESSION" // of a sample, as are the others: the session
	MarkTurn    = "$TURN"    // the prompt in its session
	MarkDir     = "$DIR"     // the working folder
	MarkSource  = "$SOURCE"  // what began the session
)

// Tools are the names of a client's tools with which a model can load a skill.
type Tools struct {
	Skill []string // takes the name of a skill
	Read  []string // reads a file
	Shell []string // runs a command
}

// A Shell is what a client runs the commands of hooks with.
type Shell int

// The shells. All clients use the POSIX shell but on Windows.
const (
	Posix Shell = iota
	GitBash
	CmdExe
	PowerShell
)

// HookArgs returns what can follow "skills hook": the clients that ask for
// context with each prompt, and SessionStart.
func HookArgs() []string {
	var args []string
	for _, c := range All() {
		if c.Hook != nil && c.Hook.Arg == c.Name {
			args = append(args, c.Name)
		}
	}
	return append(args, SessionStart)
}

// Args returns what may follow "skills hook" in the commands of a client.
func (h *Hook) Args() []string {
	args := []string{h.Arg}
	for _, ev := range h.Events {
		if ev.Arg != "" {
			args = append(args, ev.Arg)
		}
	}
	return args
}

// SetUp returns the events that setup registers the hook for.
func (h *Hook) SetUp() []Event {
	return slices.DeleteFunc(slices.Clone(h.Events), func(ev Event) bool { return !ev.SetUp })
}

// Event returns the first event of a kind; ok is false when there is none.
func (h *Hook) Event(k Kind) (ev Event, ok bool) {
	for _, ev := range h.Events {
		if ev.Kind == k {
			return ev, true
		}
	}
	return Event{}, false
}

// Matches returns the matcher of an event, given the name of the MCP server, ""
// for none.
func (ev Event) Matches(server string) string {
	if server == "" {
		return ev.NoMCP
	}
	return strings.ReplaceAll(ev.Matcher, "%", server)
}
