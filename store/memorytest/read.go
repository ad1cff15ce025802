package memorytest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A reader implements store.Reader. It returns the catalog to read, also with an error.
type reader func() (*catalog, error)

func (r reader) at(ctx context.Context) (*catalog, error) {
	c, err := r()
	return c, cmp.Or(ctx.Err(), err)
}

func (r reader) State(ctx context.Context) (store.State, error) {
	c, err := r.at(ctx)
	return c.state(), err
}

func (c *catalog) state() store.State {
	return store.State{Catalog: c.name, Generation: c.generation, Found: len(c.skills)}
}

func (r reader) Sources(ctx context.Context) ([]store.Source, error) {
	c, err := r.at(ctx)
	return slices.SortedFunc(maps.Values(c.sources), func(a, b store.Source) int { return strings.Compare(a.Label, b.Label) }), err
}

func (r reader) Known(ctx context.Context, source int64, paths []string) (map[string]store.Known, error) {
	c, err := r.at(ctx)
	known := make(map[string]store.Known)
	for row, k := range c.skills {
		if k.source == source && (paths == nil || slices.Contains(paths, k.Path)) {
			known[k.Path] = store.Known{Row: row, Stamp: k.stamp, Digest: k.Digest, Name: k.Name, Location: k.Location}
		}
	}
	return known, err
}

// compare orders skills by precedence.
func (c *catalog) compare(a, b *kept) int {
	return cmp.Or(c.sources[a.source].ComparePrecedence(c.sources[b.source]), skill.ComparePlaces(&a.Meta, &b.Meta))
}

// find returns the skills with these rows, or all if rows is nil, by name key and
// precedence.
func (c *catalog) find(rows []int64) []*kept {
	if rows == nil {
		rows = slices.Collect(maps.Keys(c.skills))
	}
	var list []*kept
	for _, row := range rows {
		if k := c.skills[row]; k != nil {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *kept) int { return cmp.Or(strings.Compare(a.NameKey, b.NameKey), c.compare(a, b)) })
	return list
}

// entry returns a skill's complete entry.
func (c *catalog) entry(k *kept) store.Entry {
	e := k.Entry
	e.Source = c.sources[k.source].Label
	e.SetID()
	return e
}

func (r reader) Entries(ctx context.Context, rows []int64) ([]store.Entry, error) {
	c, err := r.at(ctx)
	var list []store.Entry
	for _, k := range c.find(rows) {
		list = append(list, c.entry(k))
	}
	return list, err
}

func (r reader) Skill(ctx context.Context, row int64) (*skill.Skill, bool, error) {
	c, err := r.at(ctx)
	k := c.skills[row]
	if k == nil || err != nil {
		return nil, false, err
	}
	s := &skill.Skill{Meta: c.entry(k).Meta}
	s.ID = ""
	err = store.Unpack(s, k.body, k.problems)
	return s, err == nil, err
}

func (r reader) Problems(ctx context.Context) ([]store.Reported, error) {
	c, err := r.at(ctx)
	var list []store.Reported
	for _, k := range slices.SortedFunc(maps.Values(c.skills), c.compare) {
		problems, err := store.UnpackProblems(k.problems)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			list = append(list, store.Reported{Source: c.sources[k.source].Label, Row: k.Row, Problem: p})
		}
	}
	return list, err
}

func (r reader) ranked(ctx context.Context, row int64) (store.Ranked, bool, error) {
	c, err := r.at(ctx)
	if k := c.skills[row]; k != nil && !k.Refused {
		return k.ranked, err == nil, err
	}
	return store.Ranked{}, false, err
}

func (r reader) vectors(ctx context.Context, model string, row int64) ([]store.Vector, error) {
	c, err := r.at(ctx)
	k := c.skills[row]
	if k == nil || err != nil {
		return nil, err
	}
	var list []store.Vector
	for _, t := range k.texts {
		if packed, ok := c.models[model][string(t.Hash)]; ok {
			values, err := store.UnpackVector(packed)
			if err != nil {
				return nil, err
			}
			list = append(list, store.Vector{Ordinal: t.Ordinal, Values: values})
		}
	}
	return list, nil
}

func (r reader) Changes(ctx context.Context, since store.Generation, model string) ([]int64, bool, error) {
	c, err := r.at(ctx)
	token, ok := c.generations[since.Number]
	if err != nil || !ok || token != since.Token {
		return nil, false, err
	}
	var rows []int64
	for s, generation := range c.changes {
		if generation > since.Number && (!s.vectors || s.model == model) {
			rows = append(rows, s.row)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows), true, nil
}

// in returns the texts of a skill that are in a space.
func (k *kept) in(s store.Space) (list []store.Text) {
	for _, t := range k.texts {
		if t.Ordinal >= s.From && t.Ordinal < s.End() {
			list = append(list, t)
		}
	}
	return list
}

// unembedded returns the texts of a skill in a space that have no vector.
func (c *catalog) unembedded(s store.Space, k *kept) []store.Text {
	var list []store.Text
	for _, t := range k.in(s) {
		if _, ok := c.models[s.Model][string(t.Hash)]; !ok {
			list = append(list, store.Text{Row: k.Row, Ordinal: t.Ordinal, Hash: t.Hash})
		}
	}
	return list
}

func (r reader) Unembedded(ctx context.Context, s store.Space, before int64, limit int) ([]store.Text, error) {
	c, err := r.at(ctx)
	var list []store.Text
	rows := slices.Sorted(maps.Keys(c.skills))
	for _, row := range slices.Backward(rows) {
		if before != 0 && row >= before || limit == 0 {
			continue
		}
		if texts := c.unembedded(s, c.skills[row]); len(texts) > 0 {
			slices.Reverse(texts)
			list = append(list, texts...)
			limit--
		}
	}
	return list, err
}

func (r reader) Coverage(ctx context.Context, s store.Space, rows []int64) (texts, embedded int, err error) {
	c, err := r.at(ctx)
	for _, k := range c.find(rows) {
		n := len(k.in(s))
		texts += n
		embedded += n - len(c.unembedded(s, k))
	}
	return texts, embedded, err
}

func (r reader) Models(ctx context.Context) ([]store.Model, error) {
	c, err := r.at(ctx)
	var list []store.Model
	for _, name := range slices.Sorted(maps.Keys(c.models)) {
		m := store.Model{Name: name}
		for _, packed := range c.models[name] {
			m.Dim = len(packed) - 4 // after the step
			break
		}
		list = append(list, m)
	}
	return list, err
}

func (r reader) Vectors(ctx context.Context, model string, rows []int64) (map[int64][]store.Vector, error) {
	found := make(map[int64][]store.Vector)
	for _, row := range rows {
		list, err := r.vectors(ctx, model, row)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			found[row] = list
		}
	}
	return found, nil
}

// Rankings implements store.Reader.
func (r reader) Rankings(ctx context.Context, model string, rows []int64) (map[int64]store.Ranking, error) {
	found := make(map[int64]store.Ranking)
	for _, row := range rows {
		ranked, ok, err := r.ranked(ctx, row)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		all := store.Ranking{Ranked: ranked}
		if model != "" {
			if all.Vectors, err = r.vectors(ctx, model, row); err != nil {
				return nil, err
			}
		}
		found[row] = all
	}
	return found, nil
}
