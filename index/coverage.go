package index

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// coverage says how many texts of a catalog have a vector of one model.
type coverage struct {
	generation store.Generation // of the catalog
	texts      int
	embedded   int // of texts
}

// complete reports whether nearly every text has its vector, so that a ranking
// by vectors is fair.
func (c coverage) complete() bool {
	return c.embedded > 0 && float64(c.embedded) >= .9*float64(c.texts)
}

// all reports whether no text lacks a vector.
func (c coverage) all() bool { return c.embedded == c.texts }

func (c coverage) String() string {
	if c.embedded == 0 {
		return "no vectors yet"
	}
	return fmt.Sprintf("%d of %d texts embedded", c.embedded, c.texts)
}

// A counter counts the texts that have vectors.
type counter struct {
	*catalog
	last atomic.Pointer[coverage] // the last count for the embedder's model
}

// learn takes over the count of a published set, unless there has been one.
func (n *counter) learn(s *snapshot.Set) {
	if n.embedder != nil && n.last.Load() == nil {
		n.last.Store(&coverage{s.Generation, s.Texts, s.Embedded})
	}
}

// count returns how many texts have a vector of the embedder's model. It caches
// the counts: counting visits every text, and a process asks several times for one
// generation. If no text lacked a vector at the last count, only texts that have
// changed since can lack one; if none of these does, the counts are kept.
func (n *counter) count(ctx context.Context, db store.Reader) (coverage, error) {
	state, err := db.State(ctx)
	if err != nil {
		return coverage{}, err
	}
	model := n.embedder.Model()
	if c := n.last.Load(); c != nil && c.generation == state.Generation {
		return *c, nil
	} else if c != nil && c.all() && c.texts > 0 {
		rows, ok, err := db.Changes(ctx, c.generation, model)
		if err != nil {
			return coverage{}, err
		}
		if ok {
			texts, embedded, err := db.Coverage(ctx, model, append([]int64{}, rows...))
			if err != nil {
				return coverage{}, err
			}
			if texts == embedded {
				same := coverage{state.Generation, c.texts, c.embedded}
				n.last.Store(&same)
				return same, nil
			}
		}
	}
	c, err := coverageBy(ctx, db, model)
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
func (n *counter) answering(ctx context.Context, r store.Reader) (embed.Embedder, string, coverage, error) {
	if n.embedder == nil {
		return nil, "text (no embedder)", coverage{}, nil
	}
	own, err := n.count(ctx, r)
	if err != nil || own.complete() {
		return n.embedder, hybrid, own, err
	}
	if old := n.opts.Fallback; old != nil {
		c, err := coverageBy(ctx, r, old.Model())
		if err != nil || c.complete() {
			return old, fmt.Sprintf("hybrid (%s; %s)", old.Model(), own), own, err
		}
	}
	return nil, fmt.Sprintf("text (%s)", own), own, nil
}

// coverageBy counts the texts that have a vector of the model.
func coverageBy(ctx context.Context, db store.Reader, model string) (c coverage, err error) {
	c.texts, c.embedded, err = db.Coverage(ctx, model, nil)
	return c, err
}

// Coverage says how much of a catalog has vectors of one model.
type Coverage struct {
	Texts    int // of all skills
	Embedded int // of Texts
	Dim      int // of the vectors; 0 means that there are none
}

// CoverageBy returns how many texts a catalog has, and how many of them have a vector of
// the model.
func CoverageBy(ctx context.Context, r store.Reader, model string) (c Coverage, err error) {
	if c.Texts, c.Embedded, err = r.Coverage(ctx, model, nil); err != nil {
		return c, err
	}
	c.Dim, err = dimOf(ctx, r, model)
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
