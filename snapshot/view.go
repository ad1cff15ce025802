package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A View reads the skills of a scope, for one goroutine, until the function that received
// it returns. It answers as if the set had no other skills; only what belongs to the Set,
// and Frequencies, counts all skills. If a read fails, methods return zero values; Err and
// Set.Read return the first error.
type View struct {
	*Set
	scope   *Scope
	readers []*Reader // of the segments
	err     *error    // shared by all views of one read
	ids     []uint32  // scratch
}

// In returns the view of a scope.
func (v *View) In(s *Scope) *View {
	w := *v
	w.scope = s
	return &w
}

// Whole returns the view of all skills.
func (v *View) Whole() *View { return v.In(v.all) }

// Scope returns the scope of the view.
func (v *View) Scope() *Scope { return v.scope }

// Err returns the first error of a read.
func (v *View) Err() error { return *v.err }

// note keeps the first error.
func (v *View) note(err error) {
	if *v.err == nil {
		*v.err = err
	}
}

// At returns the segment of a skill and its ordinal there.
func (v *View) At(i int) (segment, doc int) { return at(v.segments, i) }

// Number returns the number of the skill with an ordinal in a segment.
func (v *View) Number(segment, doc int) int { return v.segments[segment].first + doc }

// of returns what a method of Reader returns about a skill.
func of[T any](v *View, i int, method func(r *Reader, doc int) (T, error)) T {
	n, doc := v.At(i)
	x, err := method(v.readers[n], doc)
	v.note(err)
	return x
}

// Each calls f for every skill, segment by segment.
func (v *View) Each(f func(i int)) {
	for n := range v.segments {
		for doc := range v.scope.in[n].All() {
			f(v.segments[n].first + doc)
		}
	}
}

// IsOffered reports whether a skill is offered under its name.
func (v *View) IsOffered(i int) bool { return v.scope.Searches(i) }

// IsAway reports whether a skill is not offered only because its source is away.
func (v *View) IsAway(i int) bool { return v.scope.has(v.scope.away, i) }

// each returns what f returns for the Reader of each segment.
func each[T any](v *View, f func(*Reader) (T, error)) []T {
	list := make([]T, len(v.readers))
	for n, r := range v.readers {
		var err error
		list[n], err = f(r)
		v.note(err)
	}
	return list
}

// Doc returns the document of a skill.
func (v *View) Doc(i int) Document {
	d := of(v, i, (*Reader).Doc)
	if v.scope.promoted[i] {
		d.ID = d.Name
	}
	return d
}

// Facts returns the short fields of a skill.
func (v *View) Facts(i int) Facts { return of(v, i, (*Reader).Facts) }

// ID returns the ID of a skill: its name if it is offered, else a longer one.
func (v *View) ID(i int) string { return string(v.AppendID(nil, i)) }

// AppendID appends the ID of a skill to dst.
func (v *View) AppendID(dst []byte, i int) []byte {
	if v.scope.promoted[i] {
		return append(dst, v.Doc(i).Name...)
	}
	n, doc := v.At(i)
	dst, err := v.readers[n].AppendRef(dst, doc)
	v.note(err)
	return dst
}

// Sketch returns the sketch of a skill's body. It is valid as long as the view.
func (v *View) Sketch(i int) words.Sketch { return of(v, i, (*Reader).Sketch) }

// Similarity returns how similar the bodies of two skills are, 0 to 1. few means that one of
// them has too few words to compare.
func (v *View) Similarity(i, j int) (likeness float64, few bool) {
	one, other := v.Sketch(i), v.Sketch(j)
	return one.Likeness(other), one.TooFew() || other.TooFew()
}

// source returns the source with a label.
func (v *View) source(label string) store.Source {
	for _, s := range v.Sources {
		if s.Label == label {
			return s
		}
	}
	return store.Source{}
}

// Priority returns the priority of a source.
func (v *View) Priority(label string) int { return v.source(label).Priority }

// Find returns the skill that is offered under a name with this key.
func (v *View) Find(key string) (i int, ok bool) {
	found := v.Prefixed(key, func(k string) bool { return k == key })
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

// First returns the first skill by precedence of a name with this key: the skill that is
// offered, or else one whose source is away.
func (v *View) First(key string) (i int, ok bool) {
	if i, ok = v.Find(key); ok {
		return i, true
	}
	found := v.prefixed(key, func(k string) bool { return k == key }, v.scope.away)
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

// Prefixed returns the offered skills whose keys begin with prefix. In each segment it
// stops at the first key for which more returns false.
func (v *View) Prefixed(prefix string, more func(key string) bool) []int {
	return v.prefixed(prefix, more, v.scope.offered)
}

// prefixed is Prefixed for another set of skills, by segment.
func (v *View) prefixed(prefix string, more func(key string) bool, set []Bitmap) []int {
	var list []int
	for n, r := range v.readers {
		g := &v.segments[n]
		first, last, err := r.Prefixed(prefix)
		v.note(err)
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			v.note(err)
			if err != nil || !more(key) {
				break
			}
			if set[n].Has(doc) {
				list = append(list, g.first+doc)
			}
		}
	}
	return list
}

// ByRow returns the skill at a row of the catalog.
func (v *View) ByRow(row int64) (i int, ok bool) {
	for n := len(v.readers) - 1; n >= 0; n-- {
		doc, ok, err := v.readers[n].Ordinal(row)
		v.note(err)
		if ok && v.segments[n].live.Has(doc) {
			return v.segments[n].first + doc, true
		}
	}
	return 0, false
}

// Sorted returns the skills for which allowed is true, sorted by name; among skills with the
// same name, the offered one is first.
func (v *View) Sorted(allowed func(i int) bool) []Listed {
	var list []Listed
	v.Each(func(i int) {
		if allowed(i) {
			list = append(list, Listed{v.Doc(i), i})
		}
	})
	if len(v.segments) > 1 {
		slices.SortStableFunc(list, func(a, b Listed) int {
			return cmp.Or(strings.Compare(a.Key, b.Key), v.precedence(&a.Document, &b.Document))
		})
	}
	return list
}

// precedence compares two skills of one name: the one that comes first is offered.
func (v *View) precedence(a, b *Document) int {
	return cmp.Or(v.source(a.Source).ComparePrecedence(v.source(b.Source)), skill.ComparePlaces(&a.Meta, &b.Meta))
}

// precedes reports whether skill i comes before skill j, which has the same name.
func (v *View) precedes(i, j int) bool {
	a, b := v.Doc(i), v.Doc(j)
	return v.precedence(&a, &b) < 0
}

// A Listed is a skill in a sorted list.
type Listed struct {
	Document
	I int // number in the set
}

// Segments calls f for each segment with its number, its Reader and its live documents.
func (v *View) Segments(f func(n int, r *Reader, live Bitmap) error) {
	for n, r := range v.readers {
		v.note(f(n, r, v.segments[n].live))
	}
}

// best calls f for the k best hits of each segment and merges them into the k best.
func (v *View) best(k int, f func(n int, r *Reader) ([]Hit, error)) []Hit {
	var all []Hit
	for n, r := range v.readers {
		hits, err := f(n, r)
		v.note(err)
		for i := range hits {
			hits[i].Doc += v.segments[n].first
		}
		all = append(all, hits...)
	}
	if len(v.readers) > 1 {
		slices.SortFunc(all, func(a, b Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
		})
	}
	return all[:min(k, len(all))]
}

// Frequencies returns how many skills have each term; found is the result of Lookup.
func (v *View) Frequencies(found [][]Term) []int {
	docs := make([]int, len(found[0]))
	for n, r := range v.readers {
		known := found[n]
		for i := range known {
			docs[i] += known[i].Docs
		}
		if gone := v.segments[n].gone; gone != nil {
			// Otherwise the terms of a changed skill would count twice.
			counts, err := r.Among(known, gone)
			v.note(err)
			for i := range counts {
				docs[i] -= counts[i]
			}
		}
	}
	return docs
}

// HeadTerms is Reader.HeadTerms for a skill. The slice is valid until the next call.
func (v *View) HeadTerms(i, lists int) (ids []uint32, ends [3]int) {
	n, doc := v.At(i)
	ids, ends, err := v.readers[n].HeadTerms(v.ids[:0], doc, lists)
	v.note(err)
	v.ids = ids
	return ids, ends
}

// A Vector is a prompt's vector, prepared for each segment.
type Vector []*Prompt

// Prepare prepares a prompt's vector for each segment; nil means no vector.
func (v *View) Prepare(prompt []float32) Vector {
	if prompt == nil {
		return nil
	}
	return each(v, func(r *Reader) (*Prompt, error) { return r.Prompt(prompt) })
}

// Cosines returns the similarities of a prompt to a skill; ok is false if the skill has no
// vectors.
func (v *View) Cosines(prompt Vector, i int) (description, full float64, ok bool) {
	n, doc := v.At(i)
	if prompt == nil || prompt[n] == nil {
		return 0, 0, false
	}
	description, full, ok, err := v.readers[n].Cosines(prompt[n], doc)
	v.note(err)
	return description, full, ok
}

// DescriptionVector returns the vector of a skill's description, rounded as the snapshot
// keeps it; nil if the skill has none.
func (v *View) DescriptionVector(i int) []float32 { return of(v, i, (*Reader).descriptionVector) }

// Nearest returns the k skills in a scope that are nearest to a prompt.
func (v *View) Nearest(prompt Vector, s *Scope, k int) []Hit {
	return v.best(k, func(n int, r *Reader) ([]Hit, error) {
		if prompt == nil || prompt[n] == nil {
			return nil, nil
		}
		return r.Nearest(prompt[n], s.offered[n], k)
	})
}

// Search returns the k skills in a scope whose text matches best; terms are the result of
// Lookup.
func (v *View) Search(terms [][]Term, s *Scope, k int) []Hit {
	return v.best(k, func(n int, r *Reader) ([]Hit, error) { return r.Search(terms[n], s.offered[n], k) })
}

// Lookup returns, for each segment, what its snapshot knows about the terms.
func (v *View) Lookup(terms []string) [][]Term {
	return each(v, func(r *Reader) ([]Term, error) { return r.Lookup(nil, terms) })
}
