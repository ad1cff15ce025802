package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Set is one generation of a catalog as searches see it: a base with all skills,
// and perhaps a delta with those that have changed since. Skills go by number:
// that of their document in the base, or behind all of those in the delta. A Set
// never changes, except that it remembers what was worked out of it.
type Set struct {
	Info
	// Compiled says that the full text of all skills is in the snapshots. Without
	// it they hold names, descriptions and tags only.
	Compiled bool

	segments []segment
	files    fileState // of the manifest that named the snapshots, if they are files
	notes    sync.Map  // see Note
}

// A segment is a snapshot of some of the skills.
type segment struct {
	*Snapshot
	first   int    // number of its first document
	live    Bitmap // documents that no later segment replaces
	gone    Bitmap // the others, nil for none
	count   int    // of live
	offered Bitmap // of these, those that are found under their names
}

// Info is what a set knows beside the skills. It is kept in the snapshots, as
// Meta.Extra.
type Info struct {
	Catalog    string           `json:"catalog"` // see store.State
	Generation store.Generation `json:"generation"`
	Base       store.Generation `json:"base,omitzero"` // of the snapshot that this one adds to
	Replaced   []int64          `json:"replaced,omitempty"`
	Sources    []store.Source   `json:"sources"`
	Mode       string           `json:"mode"` // what ranking is based on, for answers
	Texts      int              `json:"texts"`
	Embedded   int              `json:"embedded"` // of Texts, by the configured embedder
	Found      int              `json:"found"`    // SKILL.md files
}

// NewSet returns the set of a base, and of a delta if there is one. They are the
// set's from then on, unless it returns an error.
func NewSet(snaps ...*Snapshot) (*Set, error) {
	s := &Set{}
	newest := snaps[len(snaps)-1]
	if err := json.Unmarshal(newest.Meta().Extra, &s.Info); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", newest.Path(), ErrDamaged, err)
	}
	first := 0
	for n, snap := range snaps {
		g := segment{Snapshot: snap, first: first}
		var replaced []int64
		if n < len(snaps)-1 {
			replaced = s.Replaced
		}
		if err := g.fill(replaced); err != nil {
			return nil, err
		}
		s.segments = append(s.segments, g)
		first += snap.Len()
	}
	return s, nil
}

// fill finds out which documents of the segment count, without those rows.
func (g *segment) fill(replaced []int64) error {
	return g.Read(func(r *Reader) error {
		gone := g.NewBitmap()
		for _, row := range replaced {
			doc, ok, err := r.Ordinal(row)
			if err != nil {
				return err
			}
			if ok {
				gone.Set(doc)
				g.gone = gone
			}
		}
		hidden, err := r.Hidden()
		if err != nil {
			return err
		}
		g.live = g.All().AndNot(gone)
		g.count = g.live.Count()
		g.offered = g.live.AndNot(hidden)
		return nil
	})
}

// fits reports whether the delta of a set, if there is one, was made for its base.
func (s *Set) fits() bool {
	if len(s.segments) < 2 {
		return s.Base == store.Generation{}
	}
	base, delta := s.segments[0].Meta(), s.segments[1].Meta()
	return s.Base == base.Generation && delta.Model == base.Model && delta.Dim == base.Dim
}

// Model returns the model that the vectors are from, "" when there are none.
func (s *Set) Model() string { return s.segments[0].Meta().Model }

// Weights returns the weights of the fields that text scores are made with.
func (s *Set) Weights() skill.Weights { return s.segments[0].Meta().Weights }

// Dim returns the dimension of the vectors, 0 when there are none.
func (s *Set) Dim() int {
	dim := 0
	for n := range s.segments {
		dim = max(dim, s.segments[n].Meta().Dim)
	}
	return dim
}

// Size returns how many skills there are, shadowed ones too.
func (s *Set) Size() int {
	all := 0
	for n := range s.segments {
		all += s.segments[n].count
	}
	return all
}

// Offered returns how many skills are found under their names.
func (s *Set) Offered() int {
	all := 0
	for n := range s.segments {
		all += s.segments[n].offered.Count()
	}
	return all
}

// Note returns what was remembered under a key, which is made by make the first
// time. An error is not remembered.
func (s *Set) Note(key any, make func() (any, error)) (any, error) {
	if v, ok := s.notes.Load(key); ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		s.notes.Store(key, v)
	}
	return v, err
}

// Close gives up the snapshots that the next set does not use; nil means all.
func (s *Set) Close(next *Set) error {
	var errs []error
	for i := range s.segments {
		if next == nil || !next.has(s.segments[i].Snapshot) {
			errs = append(errs, s.segments[i].Snapshot.Close())
		}
	}
	return errors.Join(errs...)
}

// has reports whether a snapshot is a segment of the set.
func (s *Set) has(snap *Snapshot) bool {
	return slices.ContainsFunc(s.segments, func(g segment) bool { return g.Snapshot == snap })
}

// Shares reports whether both sets have a snapshot in common.
func (s *Set) Shares(o *Set) bool {
	return slices.ContainsFunc(s.segments, func(g segment) bool { return o.has(g.Snapshot) })
}

// Read calls f with a View of the set and returns its error, or the first error of
// the View. It returns ErrClosed once the set was closed.
func (s *Set) Read(f func(*View) error) error {
	return s.enter(&View{Set: s, readers: make([]*Reader, 0, len(s.segments))}, f)
}

// enter holds the segments one after the other.
func (s *Set) enter(v *View, f func(*View) error) error {
	if n := len(v.readers); n < len(s.segments) {
		return s.segments[n].Read(func(r *Reader) error {
			v.readers = append(v.readers, r)
			return s.enter(v, f)
		})
	}
	// What could not be read makes nonsense of what f says.
	err := f(v)
	return cmp.Or(v.err, err)
}
