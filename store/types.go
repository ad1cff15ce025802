package store

import (
	"path"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Generation is one state of a catalog that readers can see. Numbers grow by
// one; the token is random, so that a catalog that was restored, copied or made
// again never takes another's generation for its own. The zero Generation is
// before every other.
type Generation struct {
	Number int64 `json:"number"`
	Token  int64 `json:"token"`
}

// A State says how far a catalog has come.
type State struct {
	Catalog    string // tells this catalog from every other one
	Generation Generation
	Found      int // SKILL.md files, the refused ones too
}

// A Source is where skills come from.
type Source struct {
	Row      int64
	Label    string
	Root     string // absolute path, "" when not on disk
	Priority int    // the highest wins a name
	Walked   int64  // time of the last complete walk, Unix nanoseconds; 0 for none
}

// A Known is what a catalog knows of one SKILL.md without reading it.
type Known struct {
	Row    int64
	Stamp  string // "" when it must be read
	Digest string
}

// An Entry is the row of one SKILL.md without its text: all that ranking, listing
// and scopes need.
type Entry struct {
	skill.Meta
	Row        int64
	NameKey    string
	Refused    bool
	ShadowedBy int64 // the row of the skill that has its name, or 0
}

// Offered reports whether the skill is the one that is found under its name.
func (e *Entry) Offered() bool { return !e.Refused && e.ShadowedBy == 0 }

// SetID sets the ID: what names this skill and no other. That is its name when it
// is offered under it, else "source/folder".
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
	Stamp   string       // see skill.Ref; "" to have it read again
	Skill   *skill.Skill // of a refused one only Problems and Digest matter
	Refused bool
	NameKey string       // two names with the same key are the same name
	Fields  skill.Fields // what an engine that ranks by text is told
	Ranked
	Texts [][]byte // hashes of the texts that get a vector each, the first is the description's

	// What Pack made of Skill.
	Body, Problems []byte
}

// Ranked is what ranking by text reads of a skill.
type Ranked struct {
	Terms  skill.Terms // of its Fields
	Sketch []byte      // of its body, by which copies are found
}

// A Text is one text of a skill that has a vector of its own.
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

// A Model is an embedder that vectors of the catalog are from.
type Model struct {
	Name string
	Dim  int // of its vectors, 0 when there are none
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
