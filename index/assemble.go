package index

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A compiler makes snapshots of what the store holds.
type compiler struct {
	*catalog
	counts    *counter
	sentences *counter // of the contextual encoder: names and descriptions
	encoded   *counter // examples, too
}

func newCompiler(c *catalog) compiler {
	encoder := func(from int) *counter {
		return &counter{catalog: c, embedder: c.opts.Contextual, texts: store.Space{From: from, To: 1}}
	}
	return compiler{c, &counter{catalog: c, embedder: c.embedder}, encoder(0), encoder(-skill.MaxExamples)}
}

// assemble makes the set of the current generation: from the newest compiled base
// and what has changed since or, without a usable base, from all skills of the store.
// It returns old if that is still current. A damaged base counts as none.
func (c *compiler) assemble(ctx context.Context, old *snapshot.Set) (s *snapshot.Set, err error) {
	if old != nil {
		now, err := c.store.State(ctx)
		if err != nil || old.Generation == now.Generation && old.Catalog == now.Catalog {
			return old, err
		}
	}
	err = c.store.View(ctx, func(r store.Reader) error {
		a, err := c.begin(ctx, r)
		if err != nil {
			return err
		}
		base, since, err := a.openBase(ctx, old)
		if err != nil {
			return err
		}
		if base != nil {
			if s, err = a.since(ctx, base, since); err == nil {
				return nil
			}
			snapshot.CloseNew(old, base)
			if !errors.Is(err, snapshot.ErrDamaged) {
				return err
			}
		}
		s, err = a.all(ctx)
		return err
	})
	return s, err
}

// An assembler makes snapshots of one generation.
type assembler struct {
	snapshot.Info
	*catalog
	r     store.Reader   // a view
	ranks embed.Embedder // whose vectors rank; nil if text ranks alone

	models [snapshot.Spaces]snapshot.Model // whose vectors the snapshots hold
}

// sentences is the contextual encoder, if there are vectors of it.
func (a *assembler) sentences() *snapshot.Model { return &a.models[snapshot.Sentences] }

// model returns the model whose vectors rank; its name is "" if text ranks alone.
func (a *assembler) model() *snapshot.Model { return &a.models[snapshot.Words] }

// begin returns the assembler of the generation that r sees.
func (c *compiler) begin(ctx context.Context, r store.Reader) (*assembler, error) {
	state, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	a := &assembler{catalog: c.catalog, r: r}
	a.Catalog, a.Generation, a.Found = state.Catalog, state.Generation, state.Found
	if a.Sources, err = r.Sources(ctx); err != nil {
		return nil, err
	}
	var own Coverage
	if a.ranks, a.Mode, own, err = c.counts.answering(ctx, r); err != nil {
		return nil, err
	}
	a.Texts, a.Embedded = own.Texts, own.Embedded
	if a.ranks != nil {
		a.model().Name = a.ranks.Model()
		if a.model().Dim, err = dimOf(ctx, r, a.model().Name); err != nil {
			return nil, err
		}
	}
	return a, c.countSentences(ctx, a)
}

// countSentences finds out what the contextual encoder has embedded.
func (c *compiler) countSentences(ctx context.Context, a *assembler) error {
	e := c.opts.Contextual
	if e == nil {
		return nil
	}
	all, err := c.encoded.count(ctx, a.r)
	if err != nil {
		return err
	}
	a.Unencoded = all.Texts - all.Embedded
	covered, err := c.sentences.count(ctx, a.r)
	if err != nil || covered.Embedded == 0 {
		return err
	}
	dim, err := dimOf(ctx, a.r, e.Model())
	if err == nil && dim > 0 {
		*a.sentences(), a.Sentences = snapshot.Model{Name: e.Model(), Dim: dim}, covered.Embedded
	}
	return err
}

// meta returns the description of a snapshot of this generation.
func (a *assembler) meta(info snapshot.Info) (snapshot.Meta, error) {
	data, err := json.Marshal(info)
	return snapshot.Meta{Generation: a.Generation, Models: a.models, Extra: data, Weights: *a.opts.Weights}, err
}

// all makes a set of all skills in memory. If the engine of the store can rank text,
// the set leaves the full text to it.
func (a *assembler) all(ctx context.Context) (*snapshot.Set, error) {
	_, ranks := a.r.(store.TextSearcher)
	entries, err := a.r.Entries(ctx, nil)
	if err != nil {
		return nil, err
	}
	meta, err := a.meta(a.Info)
	if err != nil {
		return nil, err
	}
	snap, err := inMemory(meta, a.documents(ctx, entries, !ranks))
	if err != nil {
		return nil, err
	}
	s, err := snapshot.NewSet(snap)
	if err == nil {
		s.Compiled = !ranks
	}
	return s, err
}

// since makes a set of a compiled base and an in-memory delta of what has changed
// since.
func (a *assembler) since(ctx context.Context, base *snapshot.Snapshot, c changes) (*snapshot.Set, error) {
	snaps := []*snapshot.Snapshot{base}
	if base.Meta().Generation != a.Generation {
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
	s, err := snapshot.NewSet(snaps...)
	if err == nil {
		s.Compiled = !a.opts.FTS5
	}
	return s, err
}

// changes are what has changed since a base was compiled.
type changes struct {
	rows    []int64       // of all changed skills, removed ones too
	entries []store.Entry // of the changed skills that still exist
}

// openBase returns the newest compiled base since which the store knows all changes,
// and these changes; a nil base means that there is none.
func (a *assembler) openBase(ctx context.Context, old *snapshot.Set) (*snapshot.Snapshot, changes, error) {
	if a.dir == nil {
		return nil, changes{}, nil
	}
	for _, path := range a.dir.Bases(a.Catalog) {
		base, err := a.dir.OpenFile(path, old)
		if err != nil {
			return nil, changes{}, err
		}
		if base == nil {
			continue
		}
		m := base.Meta()
		rows, ok, err := changedRows(ctx, a.r, m.Generation, a.models)
		if err == nil && ok && m.Models == a.models {
			c := changes{rows: rows}
			c.entries, err = a.r.Entries(ctx, append([]int64{}, rows...))
			return base, c, err
		}
		snapshot.CloseNew(old, base)
		if err != nil {
			return nil, changes{}, err
		}
	}
	return nil, changes{}, nil
}

// changedRows returns the rows of the skills that have changed since a generation, or have new
// vectors by one of the models, see store.Reader.Changes.
func changedRows(ctx context.Context, r store.Reader, since store.Generation, models [snapshot.Spaces]snapshot.Model) (rows []int64, ok bool, err error) {
	for s, m := range models {
		if m.Name == "" && snapshot.Space(s) != snapshot.Words {
			continue
		}
		more, ok, err := r.Changes(ctx, since, m.Name)
		if err != nil || !ok {
			return nil, false, err
		}
		rows = append(rows, more...)
	}
	slices.Sort(rows)
	return slices.Compact(rows), true, nil
}

// delta returns the content of a snapshot that replaces the changed skills of a base
// and hides the removed ones.
func (a *assembler) delta(ctx context.Context, base *snapshot.Snapshot, c changes) (snapshot.Meta, iter.Seq2[*snapshot.Document, error], error) {
	info := a.Info
	info.Base, info.Replaced = base.Meta().Generation, c.rows
	meta, err := a.meta(info)
	meta.Beside, meta.Replaced = base, c.rows
	meta.MeanLength = base.Meta().MeanLength // so that scores of both can be compared
	return meta, a.documents(ctx, c.entries, true), err
}

// writeDelta writes a snapshot of what has changed since the newest base, if anything
// has. ok is false if there is no base, or if keep does not want to keep it.
func (a *assembler) writeDelta(ctx context.Context, keep func(*snapshot.Snapshot, changes) bool) (f snapshot.Files, ok bool, err error) {
	base, c, err := a.openBase(ctx, nil)
	if err != nil || base == nil {
		return f, false, err
	}
	defer base.Close() // it can only fail to give memory back
	f.Base = filepath.Base(base.Path())
	if base.Meta().Generation == a.Generation {
		return f, true, nil
	}
	if !keep(base, c) {
		return snapshot.Files{}, false, nil
	}
	path := a.dir.DeltaPath(a.Catalog, a.Generation)
	f.Delta = filepath.Base(path)
	meta, docs, err := a.delta(ctx, base, c)
	if err == nil {
		err = snapshot.Write(a.dir.Disk, path, meta, docs)
	}
	return f, true, err
}

// writeBase writes a snapshot of all skills.
func (a *assembler) writeBase(ctx context.Context) (f snapshot.Files, err error) {
	path := a.dir.BasePath(a.Catalog, a.Generation)
	meta, docs, err := a.base(ctx)
	if err == nil {
		err = snapshot.Write(a.dir.Disk, path, meta, docs)
	}
	return snapshot.Files{Base: filepath.Base(path)}, err
}

// base returns the content of a snapshot of all skills.
func (a *assembler) base(ctx context.Context) (snapshot.Meta, iter.Seq2[*snapshot.Document, error], error) {
	entries, err := a.r.Entries(ctx, nil)
	if err != nil {
		return snapshot.Meta{}, nil, err
	}
	meta, err := a.meta(a.Info)
	return meta, ahead(a.documents(ctx, entries, true)), err
}

// drift returns the mean length of a skill after the changes, divided by the mean
// length before. It estimates lengths from the tokens of the bodies.
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
		for _, id := range c.rows {
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

// documents returns the documents of the entries, without refused files. The terms
// of the bodies are included only if bodies is set.
func (a *assembler) documents(ctx context.Context, entries []store.Entry, bodies bool) iter.Seq2[*snapshot.Document, error] {
	return func(yield func(*snapshot.Document, error) bool) {
		for part := range slices.Chunk(entries, bulk) {
			rankings, sentences, err := a.rankings(ctx, part)
			for i := range part {
				if part[i].Refused && err == nil {
					continue
				}
				var d *snapshot.Document
				if err == nil {
					d, err = a.document(&part[i], rankings[part[i].Row], sentences[part[i].Row], bodies)
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// bulk is how many skills are read at a time.
const bulk = 256

// rankings returns what ranking needs about each of the entries, by row, and the vectors of the
// contextual encoder.
func (a *assembler) rankings(ctx context.Context, entries []store.Entry) (all map[int64]store.Ranking, sentences map[int64][]store.Vector, err error) {
	rows := make([]int64, 0, len(entries))
	for i := range entries {
		if !entries[i].Refused {
			rows = append(rows, entries[i].Row)
		}
	}
	if all, err = a.r.Rankings(ctx, a.model().Name, rows); err == nil && a.sentences().Name != "" {
		sentences, err = a.r.Vectors(ctx, a.sentences().Name, rows)
	}
	return all, sentences, err
}

// ahead runs seq in a goroutine and buffers up to 64 values ahead of the consumer.
// It returns only after seq has returned.
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
			for range items { // closed when seq has returned
			}
		}()
		for i := range items {
			if !yield(i.value, i.err) {
				return
			}
		}
	}
}

func (a *assembler) document(e *store.Entry, r store.Ranking, sentences []store.Vector, bodies bool) (d *snapshot.Document, err error) {
	d = newDocument(e)
	d.Terms, d.Sketch = r.Terms, r.Sketch
	if !bodies {
		if d.Terms, err = withoutBody(d.Terms); err != nil {
			return nil, err
		}
	}
	if a.ranks != nil {
		d.Vectors = vectorsOf(r.Vectors, a.model().Dim)
	}
	d.Vectors[snapshot.Sentence], d.Examples = sentencesOf(sentences, a.sentences().Dim)
	return d, nil
}

// newDocument returns the document of a skill, still without terms and vectors.
func newDocument(e *store.Entry) *snapshot.Document {
	return &snapshot.Document{Meta: e.Meta, Row: e.Row, Key: e.NameKey, Hidden: !e.Offered()}
}

// withoutBody removes the terms of the body: it keeps name, description and tags.
func withoutBody(t skill.Terms) (skill.Terms, error) {
	return t.Without(func(c *skill.Term) bool {
		c.Body = 0
		return c.Name+c.Description+c.Tags == 0
	})
}

// vectorsOf returns the two vectors of a skill: the vector of its description, and
// the normalised sum of all its vectors. It returns none, so that the skill ranks by
// text alone, if the description has no vector, or if a vector has another
// dimension, which happens when an embedder changes under the same name.
func vectorsOf(list []store.Vector, dim int) snapshot.Vectors {
	list = slices.DeleteFunc(list, func(v store.Vector) bool { return v.Ordinal < 0 }) // the same text as another skill's
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
	description := list[0].Values
	if embed.Unit(sum) != nil || embed.Unit(description) != nil {
		return snapshot.Vectors{} // opposite vectors cancel out; the skill ranks by text
	}
	return snapshot.Vectors{snapshot.Description: description, snapshot.Full: sum}
}

// sentencesOf returns the vectors by the contextual encoder that have this dimension: of name and
// description, nil if there is none, and of the examples.
func sentencesOf(list []store.Vector, dim int) (description embed.Vector, examples [][]float32) {
	for _, v := range list {
		switch {
		case v.Ordinal > 0 || len(v.Values) != dim || embed.Unit(v.Values) != nil:
		case v.Ordinal == 0:
			description = v.Values
		default:
			examples = append(examples, v.Values)
		}
	}
	return description, examples
}
