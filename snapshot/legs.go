package snapshot

// A Leg is one kind of evidence that a skill's vectors give: package rank weighs it.
type Leg int

// The legs, in the order in which a file holds them.
const (
	Description Leg = iota // the vector of the description
	Full                   // the vector of the full text
	Sentence               // the contextual vector of name and description
	Legs                   // how many there are
)

// A Space is what one model makes. Its legs are compared with one vector of a prompt, and
// found by the sum of their cosines.
type Space int

// The spaces.
const (
	Words     Space = iota // the embedder's
	Sentences              // the contextual encoder's
	Spaces                 // how many there are
)

// legs returns the first leg of the space and how many follow each other.
func (s Space) legs() (first Leg, n int) {
	legs := [Spaces + 1]Leg{Words: Description, Sentences: Sentence, Spaces: Legs}
	return legs[s], int(legs[s+1] - legs[s])
}

// The sections of the space.
func (s Space) rows() section        { return vectorSections + 4*section(s) }
func (s Space) vectored() section    { return s.rows() + 1 }
func (s Space) firstCodes() section  { return s.rows() + 2 }
func (s Space) secondCodes() section { return s.rows() + 3 }

// A Model is what made the vectors of a space.
type Model struct {
	Name string // "" means no vectors
	Dim  int    // 0 means no vectors
}

// Vectors are the vectors of a document by leg: each has the dimension of its model and the
// length 1. Those of one space are there together; nil means none.
type Vectors [Legs][]float32

// of returns the vectors of a space.
func (v *Vectors) of(s Space) [][]float32 {
	first, n := s.legs()
	return v[first : int(first)+n]
}

// Cosines are the similarities of a prompt to the vectors of a skill.
type Cosines struct {
	Value [Legs]float64
	Known [Legs]bool // the prompt and the skill have vectors
}

// A Point is where a text is in each space; nil means that it has no vector there.
type Point [Spaces][]float32

// A Vector is the Point of a prompt, prepared for each segment.
type Vector [Spaces][]*Prompt
