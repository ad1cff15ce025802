package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Set is one generation of a catalog as searches see it: a base with all skills, and
// perhaps a delta with the skills that have changed since. Skills have numbers: their
// ordinals in the base, and higher ones in the delta. A Set never changes, except for what
// Cached keeps.
type Set struct {
	Info
	// Compiled means that the snapshots hold the full text of all skills. Otherwise
	// they hold only names, descriptions and tags.
	Compiled bool
	// Calibration is what was measured in this catalog; nil means nothing. It need not
	// fit the set.
	Calibration *Calibration

	segments []segment
	all      *Scope      // of all skills
	apart    Skills      // of sources that are apart
	beside   Skills      // see findBeside
	files    fs.FileInfo // the manifest that named the snapshots; nil if they are not files
	notes    sync.Map    // see Cached
}

// A segment is a snapshot of some of the skills. Nobody else but a View knows segments.
type segment struct {
	*Snapshot
	first int    // number of its first skill, a multiple of 64, so that each segment has words of its own in Skills
	gone  Skills // documents that a later segment replaces
}

// next returns the number of the first skill of a segment after one of this snapshot, which is the
// first of a set.
func (s *Snapshot) next() int { return 64 * wordsFor(s.Len()) }

// part returns the skills of the segment as documents.
func (g *segment) part(s Skills) Skills {
	from := min(g.first/64, len(s))
	return s[from:min(from+wordsFor(g.Len()), len(s))]
}

// Info is what a set knows besides its skills. Snapshots store it in Meta.Extra.
type Info struct {
	Catalog    string           `json:"catalog"` // see store.State
	Generation store.Generation `json:"generation"`
	Base       store.Generation `json:"base,omitzero"`      // generation of the base that this delta adds to
	Replaced   []int64          `json:"replaced,omitempty"` // rows of skills in the base that no longer count
	Sources    []store.Source   `json:"sources"`
	Mode       string           `json:"mode"` // what ranking is based on, for answers
	Texts      int              `json:"texts"`
	Embedded   int              `json:"embedded"`            // how many of Texts the configured embedder has embedded
	Sentences  int              `json:"sentences,omitempty"` // how many skills the contextual encoder has embedded
	Unencoded  int              `json:"unencoded,omitempty"` // how many texts it should embed, but has not yet
	Found      int              `json:"found"`               // number of SKILL.md files
}

// NewSet returns the set of a base, and of a delta if there is one. The set owns the
// snapshots unless NewSet returns an error.
func NewSet(snaps ...*Snapshot) (*Set, error) {
	s := &Set{}
	newest := snaps[len(snaps)-1]
	if err := json.Unmarshal(newest.Meta().Extra, &s.Info); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", newest.Path(), ErrDamaged, err)
	}
	all := &Scope{All: true}
	for _, snap := range snaps {
		g := segment{Snapshot: snap, first: 64 * len(all.In)}
		if snap != newest {
			if err := g.setGone(s.Replaced); err != nil {
				return nil, err
			}
		}
		part, apart, err := g.scope(s.Sources)
		if err != nil {
			return nil, err
		}
		s.apart = append(s.apart, apart...)
		all.In, all.Offered, all.Away = append(all.In, part.In...), append(all.Offered, part.Offered...), append(all.Away, part.Away...)
		all.Reserved = append(all.Reserved, part.Reserved...)
		s.segments = append(s.segments, g)
	}
	all.Visible = all.Offered.Count()
	s.all = all
	if err := s.findBeside(); err != nil {
		return nil, err
	}
	return s, nil
}

// findBeside finds the skills of a source "installed" that have the name of one in a source
// "installed:x" which is apart: they are of one kind, so that none of them is called by the name alone.
func (s *Set) findBeside() error {
	return s.Read(func(v *View) error {
		for _, src := range s.Sources {
			first, _, ok := strings.Cut(src.Label, ":")
			if !ok || !src.Apart || !slices.ContainsFunc(s.Sources, func(o store.Source) bool { return o.Label == first && !o.Apart }) {
				continue
			}
			own := v.Source(first)
			for i := range v.Source(src.Label).All() {
				for _, j := range v.Names().with(of(v, i, (*Reader).Key), own) {
					s.beside.Add(j)
				}
			}
		}
		return v.Err()
	})
}

// setGone notes the documents of replaced rows.
func (g *segment) setGone(replaced []int64) error {
	return g.Read(func(r *Reader) (err error) {
		g.gone, err = r.ordinals(replaced)
		return err
	})
}

// scope returns the documents of the segment that are in the set. Replaced ones are not,
// and those of sources that are away are not offered. Nobody sees those of a source that
// was copied. apart are the documents of sources that are apart.
func (g *segment) scope(sources []store.Source) (s Scope, apart Skills, err error) {
	err = g.Read(func(r *Reader) error {
		hidden, err := r.Hidden()
		if err != nil {
			return err
		}
		reserved, err := r.Reserved()
		if err != nil {
			return err
		}
		s.In = g.All().AndNot(g.gone)
		s.Offered, s.Away, apart = s.In.AndNot(hidden), make(Skills, len(s.In)), make(Skills, len(s.In))
		for _, src := range sources {
			if !src.Away && !src.Apart {
				continue
			}
			own, err := r.Source(src.Label)
			if err != nil {
				return err
			}
			if src.Apart {
				apart = apart.Or(own)
			}
			if !src.Away {
				continue
			}
			if src.Walked == store.Copied {
				s.In = s.In.AndNot(own)
			} else {
				s.Away = s.Away.Or(s.Offered.And(own))
			}
			s.Offered = s.Offered.AndNot(own)
		}
		s.Reserved = s.In.And(reserved)
		return nil
	})
	return s, apart, err
}

// fits reports whether the delta, if there is one, was made for the base.
func (s *Set) fits() bool {
	if len(s.segments) < 2 {
		return s.Base == store.Generation{}
	}
	base, delta := s.segments[0].Meta(), s.segments[1].Meta()
	return s.Base == base.Generation && delta.Models == base.Models
}

// InFiles reports whether the set was opened from published files; else it is in memory.
func (s *Set) InFiles() bool { return s.files != nil }

// Model returns the model that made the vectors of the embedder; "" means there are none.
func (s *Set) Model() string { return s.Models()[Words].Name }

// Models returns the models that made the vectors.
func (s *Set) Models() [Spaces]Model { return s.segments[0].Meta().Models }

// Weights returns the weights of the fields in text scores.
func (s *Set) Weights() skill.Weights { return s.segments[0].Meta().Weights }

// Dim returns the dimension of the vectors of the embedder; 0 means there are none.
func (s *Set) Dim() int { return s.Models()[Words].Dim }

// Size returns the number of skills, including shadowed ones.
func (s *Set) Size() int { return s.all.In.Count() }

// Offered returns the number of offered skills.
func (s *Set) Offered() int { return s.all.Visible }

// Cached returns the value that is kept under a key. At the first call it calls make and
// keeps the result, but not an error. What is kept stays as long as the set, so keys must be
// few and always the same: for values without number keep one that is bounded.
func (s *Set) Cached(key any, make func() (any, error)) (any, error) {
	if v, ok := s.notes.Load(key); ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		s.notes.Store(key, v)
	}
	return v, err
}

// Close closes the snapshots that the next set does not use; nil means all.
func (s *Set) Close(next *Set) error { return CloseNew(next, s.snapshots()...) }

// CloseNew closes the snapshots that the old set does not have open; nil means all.
func CloseNew(old *Set, snaps ...*Snapshot) error {
	var errs []error
	for _, s := range snaps {
		if old == nil || !old.has(s) {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Set) snapshots() (list []*Snapshot) {
	for n := range s.segments {
		list = append(list, s.segments[n].Snapshot)
	}
	return list
}

// has reports whether the set uses a snapshot.
func (s *Set) has(snap *Snapshot) bool {
	return slices.Contains(s.snapshots(), snap)
}

// Shares reports whether the sets have a snapshot in common.
func (s *Set) Shares(o *Set) bool {
	return slices.ContainsFunc(s.snapshots(), o.has)
}

// Read calls f with a View of all skills. It returns the first error of the View, else the
// error of f. After Close it returns ErrClosed.
func (s *Set) Read(f func(*View) error) error {
	return s.enter(&View{Set: s, Scope: s.all, readers: make([]*Reader, 0, len(s.segments)), err: new(error)}, f)
}

// enter opens a Reader for each segment, one inside the other, and then calls f.
func (s *Set) enter(v *View, f func(*View) error) error {
	if n := len(v.readers); n < len(s.segments) {
		return s.segments[n].Read(func(r *Reader) error {
			v.readers = append(v.readers, r)
			return s.enter(v, f)
		})
	}
	// A failed read may be the cause of f's error.
	err := f(v)
	return cmp.Or(*v.err, err)
}
