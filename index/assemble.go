package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// assembled makes the view of the present generation from the database: the
// newest compiled file and what changed since, or, while there is none, all but
// the full text. A compiled file that is damaged is as good as none.
func (x *Index) assembled(ctx context.Context, old *view) (v *view, err error) {
	if old != nil {
		now, err := x.db.State(ctx)
		if err != nil || old.Generation == now.Generation && old.Catalog == now.Catalog {
			return old, err
		}
	}
	err = x.db.View(ctx, func(db *store.DB) error {
		a, err := x.assembler(ctx, db)
		if err != nil {
			return err
		}
		if base := x.openBase(a, old); base != nil {
			if v, err = a.since(ctx, base); err == nil {
				return nil
			}
			closeNew([]*snapshot.Snapshot{base}, old)
			if !errors.Is(err, snapshot.ErrDamaged) {
				return err
			}
			x.spoilFile(base.Path())
		}
		v, err = a.all(ctx)
		return err
	})
	return v, err
}

// An assembler makes snapshots of one generation.
type assembler struct {
	about
	x        *Index
	db       *store.DB // a view
	feed     int64     // see store.State
	embedder embed.Embedder
	model    string
	dim      int
}

func (x *Index) assembler(ctx context.Context, db *store.DB) (*assembler, error) {
	state, err := db.State(ctx)
	if err != nil {
		return nil, err
	}
	a := &assembler{x: x, db: db, feed: state.Feed}
	a.Catalog, a.Generation = state.Catalog, state.Generation
	sources, err := db.Sources(ctx)
	if err != nil {
		return nil, err
	}
	a.Sources = make([]knownSource, len(sources))
	for i, s := range sources {
		a.Sources[i] = knownSource{s.Label, s.Root, s.Priority, !s.Walked.IsZero()}
	}
	if a.Found, err = db.Count(ctx); err != nil {
		return nil, err
	}
	var own coverage
	if a.embedder, a.Mode, own, err = x.answering(ctx, db); err != nil {
		return nil, err
	}
	a.Texts, a.Embedded = own.texts, own.embedded
	if a.embedder != nil {
		a.model = a.embedder.Model()
		a.dim, err = db.Dim(ctx, a.model)
	}
	return a, err
}

const hybrid = "hybrid" // a mode, see Answer

// answering returns the embedder whose vectors rank, and the mode that this
// makes: the vectors of two are never mixed in one answer. It is nil when
// ranking is by text.
func (x *Index) answering(ctx context.Context, db *store.DB) (embed.Embedder, string, coverage, error) {
	if x.embedder == nil {
		return nil, "text (no embedder)", coverage{}, nil
	}
	own, err := x.coverage(ctx, db)
	if err != nil || own.complete() {
		return x.embedder, hybrid, own, err
	}
	if old := x.opts.Fallback; old != nil {
		c, err := coverageBy(ctx, db, old.Model())
		if err != nil || c.complete() {
			return old, fmt.Sprintf("hybrid (%s; %s)", old.Model(), own), own, err
		}
	}
	return nil, fmt.Sprintf("text (%s)", own), own, nil
}

// meta describes a snapshot of this generation.
func (a *assembler) meta(extra about) (snapshot.Meta, error) {
	data, err := json.Marshal(extra)
	w := a.x.opts.Weights
	return snapshot.Meta{
		Generation: a.Generation, Model: a.model, Dim: a.dim, Extra: data,
		Weights: snapshot.Weights{Name: w.Name, Description: w.Description, Tags: w.Tags, Body: w.Body},
	}, err
}

// all makes a view of all skills in memory, without their full text.
func (a *assembler) all(ctx context.Context) (*view, error) {
	entries, err := a.db.Entries(ctx)
	if err != nil {
		return nil, err
	}
	meta, err := a.meta(a.about)
	if err != nil {
		return nil, err
	}
	s, err := inMemory(meta, a.documents(ctx, entries, false))
	if err != nil {
		return nil, err
	}
	v, err := newView(s)
	if err == nil {
		v.embedder = a.embedder
	}
	return v, err
}

// since makes a view of a compiled snapshot and what has changed since, in
// memory.
func (a *assembler) since(ctx context.Context, base *snapshot.Snapshot) (*view, error) {
	snaps := []*snapshot.Snapshot{base}
	if base.Meta().Generation < a.Generation {
		c, err := a.changes(ctx, base)
		if err != nil {
			return nil, err
		}
		meta, docs, err := a.delta(ctx, base, c)
		if err != nil {
			return nil, err
		}
		delta, err := inMemory(meta, docs)
		if err != nil {
			return nil, err
		}
		snaps = append(snaps, delta)
	}
	v, err := newView(snaps...)
	if err == nil {
		v.embedder, v.bodies = a.embedder, true
	}
	return v, err
}

// changes are what has changed since a base was compiled.
type changes struct {
	ids     []int64       // of all rows
	entries []store.Entry // of those that are there
}

func (a *assembler) changes(ctx context.Context, base *snapshot.Snapshot) (c changes, err error) {
	if c.ids, err = a.db.Changes(ctx, base.Meta().Generation, a.model); err == nil {
		c.entries, err = a.db.EntriesByID(ctx, c.ids)
	}
	return c, err
}

// delta returns what a snapshot holds that adds changed skills to a base, or
// takes them from it.
func (a *assembler) delta(ctx context.Context, base *snapshot.Snapshot, c changes) (snapshot.Meta, iter.Seq2[*snapshot.Document, error], error) {
	about := a.about
	about.Base, about.Replaced = base.Meta().Generation, c.ids
	meta, err := a.meta(about)
	meta.MeanLength = base.Meta().MeanLength // scores of both are compared
	return meta, a.documents(ctx, c.entries, true), err
}

// drift returns the mean length of a skill after the changes as a share of that
// before, as far as the tokens of the bodies tell.
func drift(base *snapshot.Snapshot, c changes) (float64, error) {
	const beside = 50 // tokens of a name, a description and tags
	before, after := mean{}, mean{}
	err := base.Read(func(r *snapshot.Reader) error {
		for doc := range base.Len() {
			f, err := r.Facts(doc)
			if err != nil {
				return err
			}
			before.add(beside+f.Tokens, 1)
		}
		after = before
		for _, id := range c.ids {
			doc, ok, err := r.Ordinal(id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			f, err := r.Facts(doc)
			if err != nil {
				return err
			}
			after.add(-beside-f.Tokens, -1)
		}
		return nil
	})
	for i := range c.entries {
		if !c.entries[i].Refused {
			after.add(beside+c.entries[i].Tokens, 1)
		}
	}
	return after.value() / before.value(), err
}

// mean is the mean of some figures.
type mean struct{ sum, n int }

func (m *mean) add(x, n int) { m.sum, m.n = m.sum+x, m.n+n }

func (m mean) value() float64 { return float64(max(m.sum, 1)) / float64(max(m.n, 1)) }

func inMemory(m snapshot.Meta, docs iter.Seq2[*snapshot.Document, error]) (*snapshot.Snapshot, error) {
	data, err := snapshot.Encode(m, docs)
	if err != nil {
		return nil, err
	}
	return snapshot.New(data)
}

// documents returns what a snapshot holds of the skills of entries, the body's
// terms only if they are asked for. Files without a usable skill are left out.
func (a *assembler) documents(ctx context.Context, entries []store.Entry, bodies bool) iter.Seq2[*snapshot.Document, error] {
	analyzer := new(words.Analyzer)
	return func(yield func(*snapshot.Document, error) bool) {
		for i := range entries {
			if entries[i].Refused {
				continue
			}
			d, err := a.document(ctx, &entries[i], analyzer, bodies)
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// ahead yields what seq does, which runs beside whoever asks for it, a little
// ahead. It does not return before seq has.
func ahead[T any](seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	type item struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		items, stop := make(chan item, 64), make(chan struct{})
		go func() {
			defer close(items)
			for v, err := range seq {
				select {
				case items <- item{v, err}:
				case <-stop:
					return
				}
			}
		}()
		defer func() {
			close(stop)
			for range items { // until seq has returned
			}
		}()
		for i := range items {
			if !yield(i.value, i.err) {
				return
			}
		}
	}
}

func (a *assembler) document(ctx context.Context, e *store.Entry, analyzer *words.Analyzer, bodies bool) (*snapshot.Document, error) {
	d := newDocument(e, analyzer)
	if bodies {
		f, ok, err := a.db.Fields(ctx, e.Row)
		if err != nil {
			return nil, err
		}
		if ok {
			d.Terms = fieldTerms(&f)
		}
	} else {
		d.Terms = snapshot.Fields{Name: analyzer.Terms(e.Name), Description: d.Shown, Tags: analyzer.Terms(strings.Join(e.Tags, " "))}
	}
	if a.embedder == nil {
		return d, nil
	}
	vectors, err := a.db.VectorsOf(ctx, a.model, e.Row)
	if err != nil {
		return nil, err
	}
	d.Vectors = vectorsOf(vectors, a.dim)
	return d, nil
}

// newDocument returns the document of a skill, without its terms and vectors.
func newDocument(e *store.Entry, analyzer *words.Analyzer) *snapshot.Document {
	d := &snapshot.Document{
		Meta: e.Meta, Row: e.Row, Key: e.NameKey, Hidden: !e.Offered(),
	}
	// What stands behind the description (when_to_use) is searched and not shown.
	d.Shown = analyzer.Terms(e.Description)
	return d
}

// fieldTerms returns the terms of what full-text search sees.
func fieldTerms(f *store.Fields) snapshot.Fields {
	return snapshot.Fields{
		Name: strings.Fields(f.Name), Description: strings.Fields(f.Description),
		Tags: strings.Fields(f.Tags), Body: strings.Fields(f.Body),
	}
}

// vectorsOf returns the two vectors of a skill: that of its description, and
// the mean of all of them. A skill whose description has none has none, and so
// has one with vectors of another dimension: its embedder changed under the same
// name, and the skill ranks by text.
func vectorsOf(list []store.Vector, dim int) snapshot.Vectors {
	if len(list) == 0 || list[0].Ordinal != 0 {
		return snapshot.Vectors{}
	}
	sum := make(embed.Vector, dim)
	for _, v := range list {
		if len(v.Values) != dim {
			return snapshot.Vectors{}
		}
		for j, x := range v.Values {
			sum[j] += x
		}
	}
	description := embed.Vector(list[0].Values)
	if embed.Unit(sum) != nil || embed.Unit(description) != nil {
		return snapshot.Vectors{} // opposite vectors cancel out; the skill ranks by text
	}
	return snapshot.Vectors{Description: description, Full: sum}
}
