// Package proposal keeps proposed changes of skills until a person decides on them, makes
// the changes that are approved, and keeps the history of skills that were changed.
//
// The one rule: a skill changes only by Approve and Revert, all of its files or none.
package proposal

import (
	"context"
	"errors"
	"time"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Catalog finds skills in the scope of an agent; *repertoire.Catalog is one.
type Catalog interface {
	Lookup(ctx context.Context, id string, a *search.Agent) (search.Entry, error)
}

// Options configure a Box. A nil *Options is all zero values.
type Options struct {
	// Sources returns the sources of the catalog as they are now; nil means none, so that
	// no change can be proposed.
	Sources func() []source.Source

	UserDir   string   // folder to which new skills go; "" means that Approve needs one
	Installed string   // folder of installed skills; "" means none
	Fetched   []string // folders that are fetched anew, so that nobody should change them; nil means none

	// Check says what a change does to a skill beside what this package finds, such as to
	// the prompts that it is found by; nil means that nobody asks.
	Check func(ctx context.Context, t Trial) (Checked, error)

	Now func() time.Time // nil means time.Now
}

// A Kind is what a proposal wants.
type Kind string

// The kinds of proposals.
const (
	KindUpdate Kind = "update" // change a skill
	KindNew    Kind = "new"    // add a skill
)

// A State says whether a proposal was decided on.
type State string

// The states of a proposal.
const (
	StateOpen     State = "open" // it waits for a decision
	StateApproved State = "approved"
	StateRejected State = "rejected"
)

// A Proposal is what is known of a proposal without its text.
type Proposal struct {
	ID       string    `yaml:"id" json:"id"`
	Kind     Kind      `yaml:"kind" json:"kind"`
	Skill    string    `yaml:"skill" json:"skill"`                             // its ID, or the name of a new one
	Source   string    `yaml:"source,omitempty" json:"source,omitempty"`       // label of the source of the skill
	Base     string    `yaml:"base,omitempty" json:"base,omitempty"`           // digest of the skill that was changed
	BaseText string    `yaml:"base_text,omitempty" json:"base_text,omitempty"` // digest of its SKILL.md
	Made     time.Time `yaml:"made" json:"made"`
	Agent    string    `yaml:"agent,omitempty" json:"agent,omitempty"` // who made it; "" means that nobody said
	Why      string    `yaml:"why,omitempty" json:"why,omitempty"`     // first line of the justification, shortened; "" of older ones
	State    State     `yaml:"state" json:"state"`
	Reason   string    `yaml:"reason,omitempty" json:"reason,omitempty"` // why it was decided so
	By       string    `yaml:"by,omitempty" json:"by,omitempty"`         // who decided
	Decided  time.Time `yaml:"decided,omitempty" json:"decided,omitzero"`

	// Of a proposal in a shared catalog.
	Dir     string    `yaml:"dir,omitempty" json:"dir,omitempty"` // of the skill in its source
	Digest  string    `yaml:"-" json:"digest,omitempty"`          // of an approved skill with the change
	Applied time.Time `yaml:"-" json:"applied,omitzero"`          // when the change was made where the skill comes from
	Where   string    `yaml:"-" json:"where,omitempty"`           // it is there, for people
}

// Pending reports whether a proposal may still be rejected: it waits, or it is approved in a shared
// catalog and not applied.
func (p Proposal) Pending() bool {
	return p.State == StateOpen || p.State == StateApproved && p.Digest != "" && p.Applied.IsZero()
}

// A Who says who asks.
type Who struct {
	Agent *search.Agent // the scope; nil means the whole catalog
	Name  string        // for the record; "" means unknown
}

// ByToken returns who bears the token of a name, whatever door they come through; "" means that
// nobody knows.
func ByToken(a *search.Agent, name string) Who {
	if name != "" {
		name = "token " + name
	}
	return Who{a, name}
}

// A Change is a proposed change of a skill.
type Change struct {
	Skill         string // its ID
	Diff          string // unified, as a model writes it; "" if there is a Text
	Text          string // the whole SKILL.md as it is to be
	Seen          string // TextDigest of the SKILL.md of which somebody made Text; "" means any
	Justification string
	Evidence      string // "" means none
}

// An Addition is a proposed skill.
type Addition struct {
	Name          string
	Files         Files // with a SKILL.md
	Justification string
	Evidence      string // "" means none
}

// A Trial is a changed skill that is to be checked.
type Trial struct {
	Name   string // of the skill's folder
	Source string // label of the skill's source; "" for a new skill
	Dir    string // of the skill in its source
	Before Files  // nil for a new skill
	After  Files
}

// Checked is what a check has found.
type Checked struct {
	OK       bool            `yaml:"ok" json:"ok"`             // nothing speaks against the change
	Findings []skill.Problem `yaml:"findings" json:"findings"` // that the skill did not have before
	Bench    *Bench          `yaml:"bench,omitempty" json:"bench,omitempty"`
}

// A Bench says how often the prompts of a skill find it, before a change and after it. The
// prompts are those in the skill's evals, and its description.
type Bench struct {
	Prompts int     `yaml:"prompts" json:"prompts"`
	Evals   int     `yaml:"evals,omitempty" json:"evals"`           // prompts of the evals, also those that should not find it
	Among   string  `yaml:"among,omitempty" json:"among,omitempty"` // how many skills they were asked among, in words
	Before  Hits    `yaml:"before" json:"before"`
	After   Hits    `yaml:"after" json:"after"`
	Worse   []Worse `yaml:"worse,omitempty" json:"worse,omitempty"`
}

// Hits count prompts.
type Hits struct {
	Hit1  int `yaml:"hit1" json:"hit1"`             // the skill is found first
	Hit3  int `yaml:"hit3" json:"hit3"`             // it is among the first three
	Right int `yaml:"right,omitempty" json:"right"` // of the evals: what "skills evals" calls right
}

// Worse is a prompt that finds the skill later than before. A rank of 0 means that it is not
// among the first ten.
type Worse struct {
	Prompt string `yaml:"prompt" json:"prompt"`
	Before int    `yaml:"before" json:"rank_before"`
	After  int    `yaml:"after" json:"rank_after"`
}

// Errors that callers tell apart.
var (
	ErrNotFound = errors.New("no such proposal")
	ErrTooMany  = errors.New("too many proposals")
	ErrLocked   = errors.New("the skill must not be changed where it is")
	ErrDeclined = refuse("the change was not confirmed, so nothing was done")
	ErrFails    = errors.New("the check fails")
)
