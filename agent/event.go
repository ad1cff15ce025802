package agent

import "time"

// A Kind is what an Event tells.
type Kind string

// The kinds of events.
const (
	Asked   Kind = "asked"   // the model was asked: one iteration
	Offered Kind = "offered" // a prompt got these skills
	Loaded  Kind = "loaded"  // the instructions of a skill were given to the model
	Read    Kind = "read"    // a file of a skill was given to the model
	Ran     Kind = "ran"     // a script of a skill ran
	Failed  Kind = "failed"  // what the model asked for could not be done
)

// An Event is one thing that an agent did.
type Event struct {
	Kind     Kind          `json:"kind"`
	Skills   []string      `json:"skills,omitempty"` // IDs
	What     string        `json:"what,omitempty"`   // the file that was read, the command that ran
	Exit     int           `json:"exit,omitempty"`   // of a run
	Duration time.Duration `json:"duration,omitempty"`
	Tokens   int           `json:"tokens,omitempty"` // that it added to the conversation, estimated
	Err      error         `json:"-"`                // of Failed
}
