package usage

import (
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
)

// A Kind says what happened.
type Kind string

// The kinds that the log has.
const (
	Offered  Kind = "offered"  // a prompt got these skills, or none, without asking
	Searched Kind = "searched" // a model or a person searched and was shown these skills
	Loaded   Kind = "loaded"   // the instructions of a skill were read
	Read     Kind = "read"     // a file of a skill was read
	Ran      Kind = "ran"      // a command of a skill ran
)

// The other kinds.
const (
	Listed    Kind = "listed"    // skills or files were listed
	Proposed  Kind = "proposed"  // a change of a skill was proposed, shown or decided on
	Asked     Kind = "asked"     // a model answered: one iteration of an agent
	Failed    Kind = "failed"    // what a model asked for could not be done, or the model did not answer
	Compacted Kind = "compacted" // old messages of a conversation were shortened
)

// logged reports whether the log has events of the kind.
func (k Kind) logged() bool {
	switch k {
	case Offered, Searched, Loaded, Read, Ran:
		return true
	}
	return false
}

// An Event is one thing that happened with skills. Its JSON is what an agent tells of it.
type Event struct {
	Time     time.Time     `json:"time,omitzero"`
	Kind     Kind          `json:"kind"`
	Skills   []Skill       `json:"skills,omitempty"`      // none for a prompt that got nothing
	What     string        `json:"what,omitempty"`        // the file that was read, relative to the skill's folder; the command that ran; the name that was not found
	Exit     int           `json:"exit,omitempty"`        // status of a command that ran
	Duration time.Duration `json:"duration_ns,omitempty"` // of a run, of an answer of the model, or of a request
	Tokens   int           `json:"tokens,omitempty"`      // that it added to a conversation, estimated; 0 means none, or unknown; Compacted: that it saved
	Error    string        `json:"error,omitempty"`       // of Err

	Unprotected []string `json:"unprotected,omitempty"` // of a run: what nothing kept it from, see sandbox.Result

	Prompt  string `json:"-"` // that skills were offered or searched for
	Because string `json:"-"` // why a prompt wants no skill: "reply", "log" and so on; "" for all others
	Wording string `json:"-"` // how certain an offer was of its best skill, see contextprovider.Wording; "" for nothing offered

	Err    error `json:"-"` // why it failed
	Failed bool  `json:"-"` // a request was answered with an error
	Stale  bool  `json:"-"` // of Loaded: the skill has changed since it was indexed

	// Who it was, and how it came.
	Client   string `json:"-"` // the program: "claude", "mcp", "command" and so on
	Session  string `json:"-"` // of the client; "" means unknown
	Agent    string `json:"-"` // whose scope it was; "" means the whole catalog
	Caller   string `json:"-"` // the name of who asks a server, see package internal/access; "" means that it has none
	Address  string `json:"-"` // of who asks a server over HTTP: an address, a network or a caller; "" means the owner of this machine
	Call     string `json:"-"` // the tool, method or page of a server that was called
	Proposal string `json:"-"` // ID of the proposal that was made, shown or decided on
}

// Answered returns the event that a prompt got an answer, of kind Offered or Searched, without the
// skills.
func Answered(kind Kind, prompt string, r *search.Ranking) Event {
	return Event{Kind: kind, Prompt: prompt, Because: r.Kind}
}

// A Skill is a skill as a client named it: by ID, by the path of its SKILL.md, or both.
type Skill struct {
	ID       string `json:"-"`
	Location string `json:"-"`
}

// MarshalText implements encoding.TextMarshaler: in an event, a skill is its ID.
func (s Skill) MarshalText() ([]byte, error) { return []byte(s.ID), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Skill) UnmarshalText(id []byte) error { s.ID = string(id); return nil }

// Named returns skills by their IDs.
func Named(ids ...string) []Skill {
	list := make([]Skill, len(ids))
	for i, id := range ids {
		list[i].ID = id
	}
	return list
}

// IDs returns the IDs of the skills of the event.
func (e *Event) IDs() []string {
	var ids []string
	for _, s := range e.Skills {
		ids = append(ids, s.ID)
	}
	return ids
}

// A line is an event in the log.
type line struct {
	Time    time.Time   `json:"time"`
	Kind    Kind        `json:"kind"`
	Client  string      `json:"client,omitempty"`
	Caller  string      `json:"caller,omitempty"`
	Session string      `json:"session,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Skills  []lineSkill `json:"skills,omitempty"`
	File    string      `json:"file,omitempty"`
	Prompt  string      `json:"prompt,omitempty"` // shortened; only if the user wants prompts in the log
	Because string      `json:"because,omitempty"`
	Wording string      `json:"wording,omitempty"`
	Exit    int         `json:"exit,omitempty"`
	Took    float64     `json:"seconds,omitempty"`
	Tokens  int         `json:"tokens,omitempty"`
}

type lineSkill struct {
	ID       string `json:"id,omitempty"`
	Location string `json:"location,omitempty"`
}

// lineOf returns the line of an event, without a time. It cuts what clients chose.
func lineOf(e *Event) line {
	cut := func(s string) string { return tidy.Cut(s, maxText) }
	l := line{Kind: e.Kind, Client: cut(e.Client), Caller: cut(e.Caller), Session: cut(e.Session), Agent: cut(e.Agent), File: cut(e.What), Because: cut(e.Because), Wording: cut(e.Wording), Exit: e.Exit,
		Prompt: tidy.Clean(tidy.Shorten(e.Prompt, maxPrompt)), Tokens: e.Tokens}
	switch e.Kind {
	case Ran:
		l.Took = e.Duration.Seconds()
	case Offered:
		l.Tokens = 0 // they are of the whole list, not of each skill
	}
	for _, s := range e.Skills[:min(len(e.Skills), maxSkills)] {
		l.Skills = append(l.Skills, lineSkill{cut(s.ID), s.Location[:min(len(s.Location), 4096)]})
	}
	return l
}

// event returns the event of a line.
func (l *line) event() Event {
	e := Event{Time: l.Time, Kind: l.Kind, Client: l.Client, Caller: l.Caller, Session: l.Session, Agent: l.Agent, What: l.File, Prompt: l.Prompt, Because: l.Because, Wording: l.Wording, Exit: l.Exit,
		Duration: time.Duration(l.Took * float64(time.Second)), Tokens: l.Tokens}
	for _, s := range l.Skills {
		e.Skills = append(e.Skills, Skill(s))
	}
	return e
}
