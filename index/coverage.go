package index

import (
	"context"
	"fmt"

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

// coverage returns how many texts have a vector of the embedder's model. It caches
// the counts: counting visits every text, and a process asks several times for one
// generation. If no text lacked a vector at the last count, only texts that have
// changed since can lack one; if none of these does, the counts are kept.
func (x *Index) coverage(ctx context.Context, db store.Reader) (coverage, error) {
	state, err := db.State(ctx)
	if err != nil {
		return coverage{}, err
	}
	model := x.embedder.Model()
	if c := x.covered.Load(); c != nil && c.generation == state.Generation {
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
				x.covered.Store(&same)
				return same, nil
			}
		}
	}
	c, err := coverageBy(ctx, db, model)
	if err != nil {
		return c, err
	}
	c.generation = state.Generation
	x.covered.Store(&c)
	return c, nil
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

// Coverage returns how many texts the catalog has, and how many of them have a
// vector of the model.
func (x *Index) Coverage(ctx context.Context, model string) (c Coverage, err error) {
	if c.Texts, c.Embedded, err = x.store.Coverage(ctx, model, nil); err != nil {
		return c, err
	}
	c.Dim, err = dimOf(ctx, x.store, model)
	return c, err
}

// Embedded reports whether nearly all texts have a vector of the embedder, so that
// its vectors rank. It is also true without an embedder and without texts.
func (x *Index) Embedded(ctx context.Context) (bool, error) {
	if x.embedder == nil {
		return true, nil
	}
	c, err := x.coverage(ctx, x.store)
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
