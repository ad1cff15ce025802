// Package embed declares the Embedder, which turns text into unit vectors; the dot
// product of two vectors is the similarity of their texts. Its one rule: only vectors
// of the same model may be compared. The implementations are in its subfolders.
package embed

import (
	"context"
	"errors"
	"math"
)

// Kind tells an embedder the purpose of a text; many models put different prefixes
// before queries and documents.
type Kind int

// The kinds of text.
const (
	Query    Kind = iota // a user's prompt
	Document             // a part of a skill
)

// A Vector has length 1 (L2 norm) and its model's dimension. Rooms that know no embedder call
// it []float32.
type Vector = []float32

// An Embedder turns texts into vectors. Several goroutines may use it at once.
type Embedder interface {
	// Model identifies the model. Two vectors may be compared only if their models
	// are equal, so the identifier covers everything that changes the vectors
	// (model, dimension, prefixes).
	Model() string

	// Embed returns one vector for each text, in the order of texts. It splits
	// large inputs into batches itself. With an error, it returns the vectors of
	// the texts before the failed one, so that the caller can keep them; it never
	// returns more vectors than texts.
	Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error)
}

// None is an embedder that embeds nothing, for settings in which nil means the usual
// embedder. It has no model, and Embed fails.
type None struct{}

// Model implements Embedder.
func (None) Model() string { return "" }

// Embed implements Embedder.
func (None) Embed(context.Context, Kind, []string) ([]Vector, error) {
	return nil, errors.New("the embedder is none")
}

// ErrVector means that a server answered with a vector that has no direction.
var ErrVector = errors.New("vector is zero or not finite")

// Unit scales v to length 1 in place. It returns ErrVector if v is zero or holds a NaN
// or an infinity.
func Unit(v Vector) error {
	var sum float64
	for _, x := range v {
		sum += float64(float64(x) * float64(x)) // rounded first, so that it is the same on all processors
	}
	norm := math.Sqrt(sum)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return ErrVector
	}
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return nil
}

// Dot returns the dot product of a and b, which must have the same length. For unit
// vectors, it is the cosine of the angle between them.
func Dot(a, b Vector) float64 {
	var sum float32
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}

// Calibrated is an optional interface of embedders. Calibrated reports whether cosines
// are on the scale to which the weights of ranking were fitted. The cosines of all other
// embedders are mapped to it, once their scale was measured in the catalog.
type Calibrated interface {
	Calibrated() bool
}

// Fitted is an optional interface of embedders that come with more than a model.
type Fitted interface {
	// Fit identifies what comes with the model.
	Fit() string
	// Prepared returns the vectors of queries if all of them were embedded beforehand, so that
	// nobody need wait for them; else nil.
	Prepared(queries []string) []Vector
	// Subjects returns vectors of what the skills do for which the last of the prepared queries were
	// written, one for each.
	Subjects() []Vector
	// Reads reports whether the model knows the script of a query. For one that it does not know
	// its vector says nothing.
	Reads(query string) bool
	// Request returns how likely a query asks for a task for which instructions can help, as log
	// odds, by its vector and by the log odds that follow from its words. ok is false if this is
	// not known.
	Request(query Vector, words float64) (odds float64, ok bool)
}

// Parted is an optional interface of embedders that know what a part of a query means in it.
type Parted interface {
	// EmbedParts returns the vector of a query and then one for each of its parts, which stand in it in
	// this order; the vector of a part that the model has not read is nil.
	EmbedParts(ctx context.Context, query string, parts []string) ([]Vector, error)
}
