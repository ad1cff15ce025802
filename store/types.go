package store

import (
	"path"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Generation is one state of a catalog that readers can see. Its number is one
// more than that of the generation before. Its token is random, so that a catalog
// that was restored, copied or made again never takes a foreign generation for its
// own. A new catalog has the zero Generation.
type Generation struct {
	Number int64 `json:"number"`
	Token  int64 `json:"token"`
}

// A State says how far a catalog has come.
type State struct {
	Catalog    string // identifies this catalog; random
	Generation Generation
	Found      int // number of SKILL.md files, the refused ones too
}

// A Source is where skills come from.
type Source struct {
	Row      int64
	Label    string
	Root     string // absolute path; "" when it is not on disk
	Priority int    // of two skills with one name, the one of the higher priority is offered
	Walked   int64  // time of the last complete walk in Unix nanoseconds; 0 means none yet
}

// A Known is what a catalog knows of one SKILL.md without reading it.
type Known struct {
	Row    int64
	Stamp  string // "" means that the file must be read
	Digest string
}

// An Entry is the row of one SKILL.md without its text: all that ranking, listing
// and scopes need.
type Entry struct {
	skill.Meta
	Row        int64
	NameKey    string
	Refused    bool
	ShadowedBy int64 // row of the skill that is offered under its name; 0 means none
}

// Offered reports whether the skill is found under its name.
func (e *Entry) Offered() bool { return !e.Refused && e.ShadowedBy == 0 }

// SetID sets the ID, which names this skill and no other: its name when it is
// offered, else "source/folder".
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

// A Record is what a catalog keeps of one SKILL.md.
type Record struct {
	Path    string       // of the SKILL.md in its source, slash-separated
	Stamp   string       // see skill.Ref; "" means that the file must be read again
	Skill   *skill.Skill // engines keep of a refused skill its Meta and Problems
	Refused bool
	NameKey string       // two names with the same key are the same name
	Fields  skill.Fields // for engines that rank by text
	Ranked
	Texts [][]byte // hashes of the texts that get a vector each; the first is the description

	// Pack makes these of Skill. Body is nil when the skill is refused.
	Body, Problems []byte
}

// Ranked is what ranking by text reads of a skill.
type Ranked struct {
	Terms  skill.Terms // of its Fields
	Sketch []byte      // of its body, by which copies are found
}

// A Text is one text of a skill, which gets a vector of its own.
type Text struct {
	Row     int64 // of the skill
	Ordinal int   // 0 is the description
	Hash    []byte
}

// A Vector is the vector of one text of a skill.
type Vector struct {
	Ordinal int // 0 is the description
	Values  []float32
}

// A Model is an embedder that made vectors of the catalog.
type Model struct {
	Name string
	Dim  int // values of each vector; 0 means that the catalog has no vector of it
}

// A Reported problem belongs to one skill of one source.
type Reported struct {
	Source string
	Row    int64 // of the skill
	skill.Problem
}

// A Match is one skill that a TextSearcher found.
type Match struct {
	Row   int64
	Score float64 // BM25, higher is better
}
