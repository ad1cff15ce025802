package store

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Generation identifies one state of a catalog that readers can see. Each generation's
// Number is the previous one's plus 1. Its Token is random, so that a catalog that was
// restored, copied or made again does not mistake another catalog's generation for its own.
// A new catalog has the zero Generation.
type Generation struct {
	Number int64 `json:"number"`
	Token  int64 `json:"token"`
}

// A State describes the current state of a catalog.
type State struct {
	Catalog    string // identifies this catalog; random
	Generation Generation
	Found      int // number of SKILL.md files, including refused ones
}

// A Source is a source of skills as the catalog knows it.
type Source struct {
	Row      int64
	Label    string
	Root     string // absolute path; "" if it is not on disk
	Priority int    // of two skills with the same name, the one with the higher priority is offered
	Walked   int64  // time of the last complete walk in Unix nanoseconds; 0 means none yet; see Copied
	Identity string `json:"-"` // which folder was at Root in the last complete walk; "" means unknown
	// Apart means that no skill of it hides one of the same name elsewhere, or is hidden by it,
	// unless their digests are equal.
	Apart  bool   `json:",omitempty"`
	Away   bool   `json:",omitempty"` // it could not be read when somebody last looked: its skills are not offered
	Origin string `json:"-"`          // who puts the source, of several machines; "" means unknown. Only a Shared engine keeps it

	// Repository is what all sources that are put from one repository have in common; "" means
	// unknown. An engine keeps it with Origin.
	Repository string `json:"-"`
}

// Copied is the Walked of a source whose skills are known from another folder, such as
// another worktree of a project, and have not been found in its own yet. Nobody sees them
// until a walk has found skills with the same digests: they need not be read anew then.
const Copied = -1

// Settled reports whether there is no more to wait for: the source has been walked, or is
// away.
func (s *Source) Settled() bool { return s.Walked > 0 || s.Away && s.Walked != Copied }

// ComparePrecedence orders sources: of the skills with one name, the skill of the first
// source is offered. A source that is away comes after all that are not.
func (s Source) ComparePrecedence(o Source) int {
	if s.Away != o.Away {
		if s.Away {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(o.Priority, s.Priority), strings.Compare(s.Label, o.Label))
}

// A Known is what a catalog knows about one SKILL.md without reading it.
type Known struct {
	Row      int64
	Stamp    string // "" means that the file must be read
	Digest   string
	Name     string // "" if the skill is refused
	Location string
}

// An Entry describes one SKILL.md without its text: all that ranking, listings and scopes
// need.
type Entry struct {
	skill.Meta
	Row        int64
	NameKey    string
	Refused    bool
	ShadowedBy int64 // row of the skill that is offered under its name; 0 means none
}

// Offered reports whether the skill is found by its name.
func (e *Entry) Offered() bool { return !e.Refused && e.ShadowedBy == 0 }

// SetID sets the ID, which is unique in the catalog: the name of an offered skill, else
// "source/folder".
func (e *Entry) SetID() {
	switch dir := path.Dir(e.Path); {
	case e.Offered():
		e.ID = e.Name
	case dir == ".":
		e.ID = e.Source + "/" + e.Name
	default:
		e.ID = e.Source + "/" + dir
	}
}

// A Record is what a catalog stores about one SKILL.md.
type Record struct {
	Path    string       // slash-separated path of the SKILL.md in its source
	Stamp   string       // see skill.Ref; "" means that the file must be read again
	Skill   *skill.Skill // of a refused skill, engines store only Meta and Problems
	Refused bool
	NameKey string       // two names with the same key are the same name
	Fields  skill.Fields // for engines that rank by text
	Ranked
	// Hashes of the texts that get a vector each, see Text: of the description and what follows it,
	// and of the examples.
	Texts, Examples [][]byte

	// Set by Pack. Body and PackedTerms are nil if the skill is refused.
	Body, Problems, PackedTerms []byte
}

// Ranked is what text ranking needs about a skill.
type Ranked struct {
	Terms  skill.Terms // the packed Fields
	Sketch []byte      // summary of the body, to find copies
}

// A Ranking is what ranking needs about a skill.
type Ranking struct {
	Ranked
	Vectors []Vector // ordered by ordinal
}

// A Text is one text of a skill. Each text has its own vector.
type Text struct {
	Row     int64 // row of the skill
	Ordinal int   // 0 is the description, what follows it has 1 and so on, the examples -1 and so on
	Hash    []byte
}

// Ordinals returns the hashes of all texts by their ordinals, in rising order of these.
func (r *Record) Ordinals() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i, hash := range slices.Backward(r.Examples) {
			if !yield(-1-i, hash) {
				return
			}
		}
		for i, hash := range r.Texts {
			if !yield(i, hash) {
				return
			}
		}
	}
}

// A Vector is the vector of one text of a skill.
type Vector struct {
	Ordinal int // see Text
	Values  []float32
}

// A Model is an embedder whose vectors the catalog has.
type Model struct {
	Name string
	Dim  int // values in each vector; 0 means that the catalog has no vectors by this model
}

// A Reported is a problem with the source and row of its skill.
type Reported struct {
	Source string
	Row    int64 // row of the skill
	skill.Problem
}

// A Match is one skill that a TextSearcher found.
type Match struct {
	Row   int64
	Score float64 // BM25, higher is better
}
