// Package api declares what a server and its clients exchange over HTTP beside MCP: a
// client posts a Prompt as JSON to Path and gets a Suggestion. A request bears a token as for
// MCP ("Authorization: Bearer …"). An answer whose status is not 200 is one line of text.
//
// The one rule: the client remembers its session, so any server can answer any prompt.
// Fields that a server or a client does not know are ignored, so that they can be upgraded
// one after the other.
package api

import "time"

// The paths of a server.
const (
	Path      = "/v1/suggest"
	ReadyPath = "/readyz"
)

// A Prompt asks for the skills that fit a prompt.
type Prompt struct {
	Text  string `json:"prompt"`          // as the user wrote it
	Start bool   `json:"start,omitempty"` // instead: a session starts; the answer says how skills are found

	Agent string `json:"agent,omitempty"` // narrows the scope of the token to this configured agent
	Dir   string `json:"dir,omitempty"`   // the working folder, for a server on the same machine

	Server string `json:"server,omitempty"` // the MCP server that loads skills for the model; "" means "skills"
	Format string `json:"format,omitempty"` // "xml", "markdown" or "json"; "" means "xml"
	Room   int    `json:"room,omitempty"`   // most length of the block as a JSON string, in UTF-16 code units; 0 means no limit

	Switches []Switch `json:"switches,omitempty"` // what a person has set in the settings of the client, at most 500, each of at most 300 bytes

	Session string   `json:"session,omitempty"` // for logs only
	Earlier []string `json:"earlier,omitempty"` // the last two prompts of the session, each at most 500 bytes
	Known   []Offer  `json:"known,omitempty"`   // what the session was offered or has loaded, at most the last 256
}

// A Switch is what a person has set for some skills in the settings of a client. The last one that
// is about a skill counts.
type Switch struct {
	Names  string `json:"names,omitempty"`  // pattern for whole names: * ? [a-z] and \ are special; "" means Digest
	Digest string `json:"digest,omitempty"` // of the skill
	Full   bool   `json:"full,omitempty"`   // the client calls a skill of a plugin "plugin:name"
	Use    string `json:"use,omitempty"`    // "reserved": only the user starts it; "": as without a switch; else it is off
}

// A Suggestion is the answer to a prompt.
type Suggestion struct {
	Block   string  `json:"block"`             // for the model's context; "" when the prompt wants no skill
	Skills  []Offer `json:"skills"`            // that the block lists, best first: from now on the session knows them
	Tokens  int     `json:"tokens"`            // of the block, estimated
	Because string  `json:"because,omitempty"` // why a prompt of this kind wants no skill, such as "reply"; it is no Earlier prompt then

	// Load is the sentence of Block that says how skills are loaded, and LoadsID the only skill that it
	// is about; "" means each. The client may put its own way in the place of it.
	Load    string `json:"load,omitempty"`
	LoadsID string `json:"loads_id,omitempty"`

	Follows   bool    `json:"follows,omitempty"`   // the skills are for the prompt together with the Earlier one
	Demand    float64 `json:"demand,omitempty"`    // the probability that the prompt wants a skill, for which Threshold was enough
	Threshold float64 `json:"threshold,omitempty"` //

	Heeds bool `json:"heeds_switches,omitempty"` // the server knows Prompt.Switches

	// AsOf is the time of the catalog's state from which the answer is, if the server cannot
	// know whether it is still current; nil means that it is.
	AsOf *time.Time `json:"as_of,omitempty"`
}

// An Offer is a skill that a session knows.
type Offer struct {
	ID          string  `json:"id,omitempty"`
	Name        string  `json:"name"`
	Source      string  `json:"source,omitempty"`
	Location    string  `json:"location,omitempty"`
	Digest      string  `json:"digest,omitempty"` // of its files, in a Suggestion
	Probability float64 `json:"probability"`      // when it was offered; 1 means that it was loaded
}

// The states of a server.
const (
	Starting = "starting" // it cannot answer yet
	Current  = "current"  // it answers from the present state of the catalog
	Stale    = "stale"    // it answers from an older state, because it has lost the shared store
)

// Ready is the answer of ReadyPath. Its status is 503 for Starting, else 200.
type Ready struct {
	State string  `json:"state"`
	Age   float64 `json:"age_seconds"` // of the state that answers are from; 0 for Current
}
