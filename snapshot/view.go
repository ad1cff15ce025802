package snapshot

import (
	"cmp"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/store"
)

// A View reads the skills of a scope, for one goroutine, until the function that received
// it returns. It tells the facts of a skill by its number; Names finds numbers by names, and
// a Retriever by what a prompt says. A View answers as if the set had no other skills; only
// what belongs to the Set, and the Retriever, counts all skills. If a read fails, methods
// return zero values; Err and Set.Read return the first error.
type View struct {
	Set     *Set
	Scope   *Scope
	readers []*Reader // of the segments
	err     *error    // shared by all views of one read
	ids     []uint32  // scratch
}

// In returns the view of a scope.
func (v *View) In(s *Scope) *View {
	w := *v
	w.Scope, w.ids = s, nil
	return &w
}

// Whole returns the view of all skills.
func (v *View) Whole() *View { return v.In(v.Set.all) }

// Err returns the first error of a read.
func (v *View) Err() error { return *v.err }

// note keeps the first error.
func (v *View) note(err error) {
	if *v.err == nil {
		*v.err = err
	}
}

// at returns the segment of a skill and its ordinal there.
func (v *View) at(i int) (n, doc int) {
	n = len(v.Set.segments) - 1
	for n > 0 && i < v.Set.segments[n].first {
		n--
	}
	return n, i - v.Set.segments[n].first
}

// of returns what a method of Reader returns about a skill.
func of[T any](v *View, i int, method func(r *Reader, doc int) (T, error)) T {
	n, doc := v.at(i)
	x, err := method(v.readers[n], doc)
	v.note(err)
	return x
}

// skills returns the skills of the set for which f returns the documents of a segment,
// whatever the scope.
func (v *View) skills(f func(*Reader) (Skills, error)) Skills {
	found := make(Skills, len(v.Set.all.In))
	for n, r := range v.readers {
		part, err := f(r)
		v.note(err)
		copy(found[v.Set.segments[n].first/64:], part)
	}
	return found.And(v.Set.all.In)
}

// Source returns the skills of a source, whatever the scope.
func (v *View) Source(label string) Skills {
	return v.skills(func(r *Reader) (Skills, error) { return r.Source(label) })
}

// Tag returns the skills with a tag, which is compared as names are, whatever the scope.
func (v *View) Tag(name string) Skills {
	return v.skills(func(r *Reader) (Skills, error) { return r.Tag(name) })
}

// Doc returns the document of a skill.
func (v *View) Doc(i int) Document {
	d := of(v, i, (*Reader).Doc)
	if id, ok := v.idHere(i, &d); ok {
		d.ID = id
	}
	return d
}

// isFull reports whether a skill goes by its full name where several are offered under its name.
func (s *Set) isFull(i int) bool { return s.apart.Has(i) || s.beside.Has(i) }

// idHere returns the ID of a skill of the scope if it may have another one in the whole set; d
// may be nil.
func (v *View) idHere(i int, d *Document) (id string, ok bool) {
	several := v.Set.isFull(i) && (v.Scope.Offered.Has(i) || v.Scope.Away.Has(i)) && v.Names().clash(i)
	if !several && !v.Scope.promoted[i] {
		return "", false
	}
	if d == nil {
		own := of(v, i, (*Reader).Doc)
		d = &own
	}
	if several {
		return d.FullName(), true
	}
	return d.Name, true
}

// Facts returns the short fields of a skill.
func (v *View) Facts(i int) Facts { return of(v, i, (*Reader).Facts) }

// ID returns the ID of a skill: its name if it is offered, else a longer one. Of several skills
// that are offered under one name, the one of a source that is not apart, nor beside one of its kind, has the name as its ID,
// and each other one its full name.
func (v *View) ID(i int) string { return string(v.AppendID(nil, i)) }

// AppendID appends the ID of a skill to dst.
func (v *View) AppendID(dst []byte, i int) []byte {
	if id, ok := v.idHere(i, nil); ok {
		return append(dst, id...)
	}
	n, doc := v.at(i)
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
	for _, s := range v.Set.Sources {
		if s.Label == label {
			return s
		}
	}
	return store.Source{}
}

// CompareSources orders sources by their labels: of the skills with one name, the skill of the first
// source is offered.
func (v *View) CompareSources(a, b string) int { return v.source(a).ComparePrecedence(v.source(b)) }

// ByRow returns the skill at a row of the catalog.
func (v *View) ByRow(row int64) (i int, ok bool) {
	for n := len(v.readers) - 1; n >= 0; n-- {
		doc, ok, err := v.readers[n].Ordinal(row)
		v.note(err)
		if i := v.Set.segments[n].first + doc; ok && v.Set.all.In.Has(i) {
			return i, true
		}
	}
	return 0, false
}

// BaseRows returns the rows of those skills that the base of the set has, in no order: as
// long as they are the same, they are the same skills for that base.
func (v *View) BaseRows(skills Skills) (rows []int64) {
	for i := range skills.All() {
		n, _ := v.at(i)
		row, known := v.Facts(i).Row, n == 0
		if !known {
			var err error
			_, known, err = v.readers[0].Ordinal(row)
			v.note(err)
		}
		if known {
			rows = append(rows, row)
		}
	}
	return rows
}

// A Scope is a part of a set: the skills that exist for one agent. Of the skills of one
// name in the scope, the first by precedence is offered, whatever lies outside: of each source
// that is apart, and of all others together.
type Scope struct {
	All     bool   // every skill is in the scope
	In      Skills // skills in the scope
	Offered Skills // of these, the ones that a search can find
	Away    Skills // those that would be offered if their sources were not away
	Visible int    // number of offered skills
	Pinned  []int  // skills that the agent always has, in this order

	// Reserved are the skills in the scope that only the user starts: no model finds them.
	Reserved Skills

	promoted map[int]bool // first of its name here, but shadowed in the whole set
	wide     *Scope       // whose names decide which ID a skill has; nil means this scope, see Narrow
}

// NewScope returns the scope that these skills of the set make.
func (v *View) NewScope(in Skills) *Scope {
	whole := v.Whole()
	s := &Scope{In: in, Offered: in.And(whole.Scope.Offered), Away: in.And(whole.Scope.Away), Reserved: in.And(whole.Scope.Reserved)}
	s.promote(whole)
	s.Visible = s.Offered.Count()
	return s
}

// promote offers, of each name whose first skill is outside of the scope, the first one
// inside by precedence, unless its source is away: of each source that is apart, and of all
// others together. Only shadowed skills need a look: what is offered in the whole set is offered
// in each scope that has it.
func (s *Scope) promote(whole *View) {
	names := whole.Names()
	shadowed := make(map[string][]Listed) // by key
	for i := range s.In.AndNot(s.Offered).AndNot(s.Away).All() {
		if key := of(whole, i, (*Reader).Key); !whole.Set.apart.Has(i) && slices.ContainsFunc(s.named(names, key), func(j int) bool { return !whole.Set.apart.Has(j) }) {
			continue // as nearly all, so nothing else is read of it
		}
		d := whole.Doc(i)
		shadowed[d.Key] = append(shadowed[d.Key], Listed{d, i})
	}
	s.promoted = make(map[int]bool)
	for key, list := range shadowed {
		var first []Listed // of each source that is apart, and of the others
		for _, i := range s.named(names, key) {
			first = append(first, Listed{whole.Doc(i), i})
		}
		slices.SortFunc(list, func(a, b Listed) int { return names.precedence(&a.Document, &b.Document) })
		for _, l := range list {
			copied := slices.ContainsFunc(first, func(f Listed) bool { return f.Digest == l.Digest && l.Digest != "" })
			if slices.ContainsFunc(first, func(f Listed) bool { return names.together(&f, &l) }) {
				continue
			}
			if first = append(first, l); !copied {
				s.offer(whole, &l)
			}
		}
	}
}

// named returns the skills of the scope that have a name, or would have it if their sources were
// not away.
func (s *Scope) named(names Names, key string) []int {
	return append(names.with(key, s.Offered), names.with(key, s.Away)...)
}

// offer promotes a skill.
func (s *Scope) offer(whole *View, l *Listed) {
	s.promoted[l.I] = true
	if whole.source(l.Source).Away {
		s.Away.Add(l.I)
	} else {
		s.Offered.Add(l.I)
	}
}

// ForModel returns the scope of the view without the skills that only the user starts, except for
// those that he has started.
func (v *View) ForModel(started Skills) *Scope {
	if v.Scope.Reserved.Count() == 0 {
		return v.Scope
	}
	s := v.Narrow(v.Scope.In.AndNot(v.Scope.Reserved.AndNot(started)))
	s.Reserved = nil
	return s
}

// Narrow returns the part of the scope of the view that these skills make. It offers what
// the scope offers, under the same IDs: nothing else is shadowed or not.
func (v *View) Narrow(to Skills) *Scope {
	o := v.Scope
	s := &Scope{In: o.In.And(to), Offered: o.Offered.And(to), Away: o.Away.And(to), promoted: o.promoted, Pinned: o.Pinned, Reserved: o.Reserved.And(to), wide: cmp.Or(o.wide, o)}
	s.Visible = s.Offered.Count()
	return s
}
