package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Trial is a store as it would be with one other skill: in the place of the one that is
// there, or in addition. It is for a Mirror: it holds what ranking needs, and nothing can
// be written.
type Trial struct {
	store.Store
	source  string // label
	skill   *skill.Skill
	record  store.Record
	vectors map[string][]store.Vector // by model
}

// NewTrial returns the trial of a skill at s.Path of the source with a label. If the catalog has no such
// source, it comes before all others. The Mirror has the same three embedders: of all texts, its
// fallback, and the contextual one. Each may be nil.
func NewTrial(ctx context.Context, st store.Store, source string, s *skill.Skill, embedder, fallback, contextual embed.Embedder) (*Trial, error) {
	t := &Trial{st, source, s, store.Record{Path: s.Path, Skill: s}, make(map[string][]store.Vector)}
	fill(&t.record, new(words.Analyzer))
	all := texts(s)
	for _, e := range []embed.Embedder{embedder, fallback} {
		if err := t.embed(ctx, e, all, 1); err != nil {
			return nil, err
		}
	}
	return t, t.embed(ctx, contextual, slices.Concat(all[:1], examples(s)), -1)
}

// embed adds the vectors of texts. The first text is the description, with the ordinal 0; each text
// after it has the ordinal of the one before and a step.
func (t *Trial) embed(ctx context.Context, e embed.Embedder, list []text, step int) error {
	if e == nil {
		return nil
	}
	values, err := embedTexts(ctx, e, list)
	if err != nil {
		return fmt.Errorf("embedding %s: %w", t.skill.Name, err)
	}
	vectors := make([]store.Vector, len(values))
	for i, v := range values {
		if v, err = store.UnpackVector(store.PackVector(v)); err != nil { // as engines round it
			return err
		}
		vectors[i] = store.Vector{Ordinal: step * i, Values: v}
	}
	slices.SortFunc(vectors, func(a, b store.Vector) int { return a.Ordinal - b.Ordinal })
	t.vectors[e.Model()] = vectors
	return nil
}

// View implements store.Store.
func (t *Trial) View(ctx context.Context, f func(store.Reader) error) error {
	return t.Store.View(ctx, func(r store.Reader) error {
		in, err := t.in(ctx, r)
		if err != nil {
			return err
		}
		return f(in)
	})
}

// State implements store.Reader.
func (t *Trial) State(ctx context.Context) (store.State, error) { return after(t.Store.State(ctx)) }

// after returns the state with the trial, which no catalog ever has.
func after(s store.State, err error) (store.State, error) {
	s.Generation.Number++
	s.Generation.Token ^= math.MaxInt64
	return s, err
}

// Update implements store.Store.
func (*Trial) Update(context.Context, func(store.Tx) error) error { return store.ErrReadOnly }

// newRow is the row of an additional skill. Engines count from 1.
const newRow = math.MaxInt32

// in returns the reader with the trial.
func (t *Trial) in(ctx context.Context, r store.Reader) (*tried, error) {
	sources, err := r.Sources(ctx)
	if err != nil {
		return nil, err
	}
	in := &tried{Reader: r, t: t, sources: slices.Clone(sources), entry: store.Entry{Row: newRow}}
	var known map[string]store.Known
	if i := slices.IndexFunc(sources, func(s store.Source) bool { return s.Label == t.source }); i >= 0 {
		known, err = r.Known(ctx, sources[i].Row, []string{t.record.Path})
	} else {
		own := store.Source{Row: newRow, Label: t.source, Walked: 1}
		for _, s := range sources {
			own.Priority = max(own.Priority, s.Priority+1)
		}
		in.sources = append(in.sources, own)
		slices.SortFunc(in.sources, func(a, b store.Source) int { return strings.Compare(a.Label, b.Label) })
	}
	if err != nil {
		return nil, err
	}
	if was, ok := known[t.record.Path]; ok {
		entries, err := r.Entries(ctx, []int64{was.Row})
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		in.entry = entries[0]
	}
	in.entry.Meta, in.entry.NameKey, in.entry.Refused = t.skill.Meta, t.record.NameKey, false
	in.entry.Path, in.entry.Source = t.record.Path, t.source
	in.entry.SetID()
	return in, nil
}

// tried is a reader with a trial.
type tried struct {
	store.Reader
	t       *Trial
	sources []store.Source
	entry   store.Entry
}

// Sources implements store.Reader.
func (r *tried) Sources(context.Context) ([]store.Source, error) { return r.sources, nil }

func (r *tried) has(rows []int64) bool { return rows == nil || slices.Contains(rows, r.entry.Row) }

// State implements store.Reader.
func (r *tried) State(ctx context.Context) (store.State, error) { return after(r.Reader.State(ctx)) }

// Entries implements store.Reader.
func (r *tried) Entries(ctx context.Context, rows []int64) ([]store.Entry, error) {
	list, err := r.Reader.Entries(ctx, rows)
	if err != nil || !r.has(rows) {
		return list, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e store.Entry) bool { return e.Row == r.entry.Row })
	at, _ := slices.BinarySearchFunc(list, r.entry.NameKey, func(e store.Entry, key string) int { return strings.Compare(e.NameKey, key) })
	return slices.Insert(list, at, r.entry), nil
}

// Rankings implements store.Reader.
func (r *tried) Rankings(ctx context.Context, model string, rows []int64) (map[int64]store.Ranking, error) {
	all, err := r.Reader.Rankings(ctx, model, rows)
	if err == nil && r.has(rows) {
		all[r.entry.Row] = store.Ranking{Ranked: r.t.record.Ranked, Vectors: r.t.vectors[model]}
	}
	return all, err
}

// Vectors implements store.Reader.
func (r *tried) Vectors(ctx context.Context, model string, rows []int64) (map[int64][]store.Vector, error) {
	all, err := r.Reader.Vectors(ctx, model, rows)
	if err == nil && r.has(rows) && r.t.vectors[model] != nil {
		all[r.entry.Row] = r.t.vectors[model]
	}
	return all, err
}

// Changes implements store.Reader.
func (r *tried) Changes(ctx context.Context, since store.Generation, model string) ([]int64, bool, error) {
	rows, ok, err := r.Reader.Changes(ctx, since, model)
	if err != nil || !ok {
		return nil, ok, err
	}
	at, there := slices.BinarySearch(rows, r.entry.Row)
	if !there {
		rows = slices.Insert(slices.Clone(rows), at, r.entry.Row)
	}
	return rows, true, nil
}
