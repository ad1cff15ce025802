package index

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A snapshot is one generation of the catalog in memory: everything but the
// full text. It is immutable, except that it remembers what it has worked out.
type snapshot struct {
	generation int64
	entries    []store.Entry // by name, the offered one of each name first
	byRow      map[int64]int // row ID to index in entries
	byName     map[string]int
	sources    []string // labels of all sources, those without skills too
	priorities map[string]int

	vectors  vectors
	analysed []atomic.Pointer[names] // by index in entries, filled as needed
	scopes   sync.Map                // *Agent to *scope
	compared sync.Map                // [2]int, rising indexes in entries, to whether they are copies
}

// vectors are the two vectors of each skill that has any, as one matrix each,
// so that a scan reads memory in order.
type vectors struct {
	embedder    embed.Embedder // whose they are, nil when there are too few of any
	mode        string         // of an answer by them, or why it is by text
	dim         int
	rows        []int       // index in entries of each row of the matrices
	rowOf       map[int]int // and back
	description []float32
	full        []float32
}

func (x *Index) readSnapshot(ctx context.Context, generation int64) (*snapshot, error) {
	entries, err := x.db.Entries(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{
		generation: generation,
		entries:    entries,
		byRow:      make(map[int64]int, len(entries)),
		byName:     make(map[string]int, len(entries)),
		analysed:   make([]atomic.Pointer[names], len(entries)),
		priorities: make(map[string]int),
	}
	for i, e := range entries {
		s.byRow[e.ID] = i
		if e.Offered() {
			s.byName[e.NameKey] = i
		}
	}
	sources, err := x.db.Sources(ctx)
	if err != nil {
		return nil, err
	}
	for _, src := range sources {
		s.sources = append(s.sources, src.Label)
		s.priorities[src.Label] = src.Priority
	}
	s.vectors.embedder, s.vectors.mode, err = x.answering(ctx)
	if err != nil || s.vectors.embedder == nil {
		return s, err
	}
	return s, s.readVectors(ctx, x.db)
}

// priority returns that of the source of entry i.
func (s *snapshot) priority(i int) int { return s.priorities[s.entries[i].Source] }

// answering returns the embedder whose vectors rank, and the mode that this
// makes: the vectors of two are never mixed in one answer. It is nil when
// ranking is by text.
func (x *Index) answering(ctx context.Context) (embed.Embedder, string, error) {
	if x.embedder == nil {
		return nil, "text (no embedder)", nil
	}
	own, err := x.coverage(ctx)
	if err != nil || own.complete() {
		return x.embedder, "hybrid", err
	}
	if old := x.opts.Fallback; old != nil {
		c, err := x.coverageBy(ctx, old.Model())
		if err != nil || c.complete() {
			return old, fmt.Sprintf("hybrid (%s; %s)", old.Model(), own), err
		}
	}
	return nil, fmt.Sprintf("text (%s)", own), nil
}

func (s *snapshot) readVectors(ctx context.Context, db *store.DB) error {
	s.vectors.rowOf = make(map[int]int)
	var group []store.Vector // of one skill
	err := db.Vectors(ctx, s.vectors.embedder.Model(), func(next store.Vector) error {
		if len(group) > 0 && group[0].Skill != next.Skill {
			s.addVectors(group)
			group = group[:0]
		}
		group = append(group, next)
		return nil
	})
	if len(group) > 0 && err == nil {
		s.addVectors(group)
	}
	return err
}

// addVectors adds the vectors of one skill: that of its description, and the
// mean of all of them. A skill whose description has none is left out, and so
// is one with vectors of another dimension: its embedder changed under the same
// name, and the skill ranks by text.
func (s *snapshot) addVectors(group []store.Vector) {
	i, ok := s.byRow[group[0].Skill]
	if !ok || group[0].Ordinal != 0 {
		return
	}
	v := &s.vectors
	if v.dim == 0 {
		v.dim = len(group[0].Values)
	}
	sum := make(embed.Vector, v.dim)
	for _, g := range group {
		if len(g.Values) != v.dim {
			return
		}
		for j, x := range g.Values {
			sum[j] += x
		}
	}
	if embed.Unit(sum) != nil {
		return // opposite vectors cancel out; the skill ranks by text
	}
	v.rowOf[i] = len(v.rows)
	v.rows = append(v.rows, i)
	v.description = append(v.description, group[0].Values...)
	v.full = append(v.full, sum...)
}

// cosines returns the similarities of a prompt to the skill in row r.
func (v *vectors) cosines(prompt embed.Vector, r int) (description, full float64) {
	at := r * v.dim
	return embed.Dot(prompt, v.description[at:at+v.dim]), embed.Dot(prompt, v.full[at:at+v.dim])
}

// nearest returns the indexes in entries of the n skills nearest to the prompt
// among those that allowed lets through.
func (s *snapshot) nearest(prompt embed.Vector, allowed func(i int) bool, n int) []int {
	type near struct {
		i   int
		cos float64
	}
	v := &s.vectors
	var list []near
	for r, i := range v.rows {
		if !allowed(i) {
			continue
		}
		description, full := v.cosines(prompt, r)
		list = append(list, near{i, description + full})
	}
	slices.SortFunc(list, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.cos, a.cos), cmp.Compare(a.i, b.i))
	})
	out := make([]int, 0, n)
	for _, x := range list[:min(n, len(list))] {
		out = append(out, x.i)
	}
	return out
}

// names are the terms of what a model is shown of a skill.
type names struct {
	name, description, tags []string
	all                     []string // each once
}

// names returns the terms of entry i, which are worked out once, by a.
func (s *snapshot) names(i int, a *analyzer) *names {
	if n := s.analysed[i].Load(); n != nil {
		return n
	}
	e := &s.entries[i]
	n := &names{name: a.terms(e.Name), description: a.terms(e.Description), tags: a.terms(strings.Join(e.Tags, " "))}
	n.all = slices.Concat(n.name, n.description, n.tags)
	slices.Sort(n.all)
	n.all = slices.Compact(n.all)
	s.analysed[i].Store(n)
	return n
}

// NameKey returns what makes two names the same name: they are compared
// without case and compatibility forms.
func NameKey(name string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(name)))
}

// lookup finds a skill by its name, by "source/name" or by "source/folder",
// among those that allowed lets through.
func (s *snapshot) lookup(id string, allowed func(i int) bool) (int, error) {
	if i, ok := s.byName[NameKey(id)]; ok && allowed(i) {
		return i, nil
	}
	found := -1
	for i := range s.entries {
		e := &s.entries[i]
		if !allowed(i) || !e.AnswersTo(id) {
			continue
		}
		// A folder names one skill only, and is the ID of shadowed copies.
		if id == e.Source+"/"+path.Dir(e.Path) {
			return i, nil
		}
		if found < 0 {
			found = i
		}
	}
	if found < 0 {
		return 0, s.notFound(id, allowed)
	}
	return found, nil
}

func (s *snapshot) notFound(id string, allowed func(i int) bool) error {
	var known []string
	for i, e := range s.entries {
		if e.Offered() && allowed(i) {
			known = append(known, e.Name)
		}
	}
	return &NotFoundError{ID: id, Similar: skill.Similar(id, known, 3), Known: len(known)}
}

// A NotFoundError says that there is no skill of that ID in the scope.
type NotFoundError struct {
	ID      string
	Similar []string // names it may be a misspelling of
	Known   int      // how many skills there are in the scope
}

func (e *NotFoundError) Error() string {
	msg := fmt.Sprintf("no skill %q among %d", e.ID, e.Known)
	if len(e.Similar) > 0 {
		msg += "; did you mean " + strings.Join(e.Similar, ", ") + "?"
	}
	return msg
}

// Unwrap makes errors.Is(err, skill.ErrNotFound) hold.
func (e *NotFoundError) Unwrap() error { return skill.ErrNotFound }
