// Package embed turns text into unit vectors whose dot product is the
// similarity of the texts. It holds the interface; the implementations are in
// its subfolders.
package embed

import (
	"context"
	"errors"
	"math"
)

// Kind tells an embedder what a text is for; many models prefix queries and
// documents differently.
type Kind int

// The kinds of text.
const (
	Query    Kind = iota // a user's prompt
	Document             // a part of a skill
)

// A Vector has length 1 (L2 norm) and the dimension of its model.
type Vector []float32

// An Embedder turns texts into vectors. It may be called from several
// goroutines.
type Embedder interface {
	// Model identifies the vectors: two vectors may be compared only when
	// their models are equal, so it names everything that changes them (model,
	// dimension, prefixes).
	Model() string

	// Embed returns one vector for each text, in the order of texts. It splits
	// large inputs into batches itself. On an error the result holds the
	// vectors of the texts before the one that failed, so that a caller can
	// keep them; it is never longer than texts.
	Embed(ctx context.Context, kind Kind, texts []string) ([]Vector, error)
}

// None is the embedder that embeds nothing: it says so where leaving an embedder
// out means the usual one. It has no model, and Embed fails.
type None struct{}

// Model implements Embedder.
func (None) Model() string { return "" }

// Embed implements Embedder.
func (None) Embed(context.Context, Kind, []string) ([]Vector, error) {
	return nil, errors.New("the embedder is none")
}

// ErrVector says that a server answered with a vector that has no direction.
var ErrVector = errors.New("vector is zero or not finite")

// Unit scales v to length 1 in place. It fails with ErrVector when v is zero
// or holds a NaN or an infinity.
func Unit(v Vector) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
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

// Dot returns the dot product of a and b, which have the same length. For
// unit vectors it is the cosine of the angle between them.
func Dot(a, b Vector) float64 {
	var sum float32
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}

// Calibrated is implemented by embedders whose cosines may be on the scale that
// the probabilities of ranking were fitted to. Those of other models mean
// something else by the same number.
type Calibrated interface {
	Calibrated() bool
}
