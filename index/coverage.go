package index

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Coverage says how much of a catalog has vectors of one model.
type Coverage struct {
	Texts    int // of all skills
	Embedded int // of Texts
	Dim      int // of the vectors; 0 means that there are none. Only CoverageBy sets it

	generation store.Generation // of the catalog
}

// complete reports whether nearly every text has its vector, so that a ranking
// by vectors is fair.
func (c Coverage) complete() bool {
	return c.Embedded > 0 && float64(c.Embedded) >= .9*float64(c.Texts)
}

// all reports whether no text lacks a vector.
func (c Coverage) all() bool { return c.Embedded == c.Texts }

func (c Coverage) String() string {
	if c.Embedded == 0 {
		return "no vectors yet"
	}
	return fmt.Sprintf("%d of %d texts embedded", c.Embedded, c.Texts)
}

// A counter counts the texts that have vectors.
type counter struct {
	*catalog
	embedder embed.Embedder           // nil when there is none
	texts    store.Space              // which of a skill it embeds, without a model
	last     atomic.Pointer[Coverage] // the last count for the embedder's model
}

// beside reports whether the embedder is the contextual encoder.
func (n *counter) beside() bool { return n.texts.To > 0 }

func (n *counter) space() store.Space {
	s := n.texts
	s.Model = n.embedder.Model()
	return s
}

// learn takes over the count of a published set, unless there has been one.
func (n *counter) learn(s *snapshot.Set) {
	if n.embedder != nil && n.last.Load() == nil {
		n.last.Store(&Coverage{Texts: s.Texts, Embedded: s.Embedded, generation: s.Generation})
	}
}

// count returns how many texts have a vector of the embedder's model. It caches
// the counts: counting visits every text, and a process asks several times for one
// generation. If no text lacked a vector at the last count, only texts that have
// changed since can lack one; if none of these does, the counts are kept.
func (n *counter) count(ctx context.Context, db store.Reader) (Coverage, error) {
	state, err := db.State(ctx)
	if err != nil {
		return Coverage{}, err
	}
	space := n.space()
	if c := n.last.Load(); c != nil && c.generation == state.Generation {
		return *c, nil
	} else if c != nil && c.all() && c.Texts > 0 {
		rows, ok, err := db.Changes(ctx, c.generation, space.Model)
		if err != nil {
			return Coverage{}, err
		}
		if ok {
			texts, embedded, err := db.Coverage(ctx, space, append([]int64{}, rows...))
			if err != nil {
				return Coverage{}, err
			}
			if texts == embedded {
				same := *c
				same.generation = state.Generation
				n.last.Store(&same)
				return same, nil
			}
		}
	}
	c, err := coverageBy(ctx, db, space)
	if err != nil {
		return c, err
	}
	c.generation = state.Generation
	n.last.Store(&c)
	return c, nil
}

const hybrid = "hybrid" // a mode, see search.Answer

// answering returns the embedder whose vectors rank, nil if text ranks alone, the
// mode (see search.Answer), and the coverage by the catalog's own embedder. The
// vectors of two embedders are never mixed in one answer.
func (n *counter) answering(ctx context.Context, r store.Reader) (embed.Embedder, string, Coverage, error) {
	if n.embedder == nil {
		return nil, "text (no embedder)", Coverage{}, nil
	}
	own, err := n.count(ctx, r)
	if err != nil || own.complete() {
		return n.embedder, hybrid, own, err
	}
	if old := n.opts.Fallback; old != nil {
		c, err := coverageBy(ctx, r, store.Space{Model: old.Model()})
		if err != nil || c.complete() {
			return old, fmt.Sprintf("hybrid (%s; %s)", old.Model(), own), own, err
		}
	}
	return nil, fmt.Sprintf("text (%s)", own), own, nil
}

// coverageBy counts the texts of a space that have a vector.
func coverageBy(ctx context.Context, db store.Reader, s store.Space) (c Coverage, err error) {
	c.Texts, c.Embedded, err = db.Coverage(ctx, s, nil)
	return c, err
}

// CoverageBy returns how many texts a catalog has, and how many of them have a vector of
// the model.
func CoverageBy(ctx context.Context, r store.Reader, model string) (c Coverage, err error) {
	if c, err = coverageBy(ctx, r, store.Space{Model: model}); err == nil {
		c.Dim, err = dimOf(ctx, r, model)
	}
	return c, err
}

// Embedded reports whether nearly all texts have a vector of the embedder, so that
// its vectors rank. It is also true without an embedder and without texts.
func (v *Vectors) Embedded(ctx context.Context) (bool, error) {
	if v.embedder == nil {
		return true, nil
	}
	c, err := v.count(ctx, v.store)
	return c.complete() || c.all(), err
}

// dimOf returns the dimension of the vectors of a model; 0 means that there are none.
func dimOf(ctx context.Context, r store.Reader, model string) (int, error) {
	models, err := r.Models(ctx)
	for _, m := range models {
		if m.Name == model {
			return m.Dim, err
		}
	}
	return 0, err
}
