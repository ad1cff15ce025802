package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Set is one generation of a catalog as searches see it: a base with all skills, and
// perhaps a delta with the skills that have changed since. Skills have numbers: their
// ordinals in the base, continued in the delta. A Set never changes, except for what Cached
// keeps.
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
	files    fs.FileInfo // the manifest that named the snapshots; nil if they are not files
	notes    sync.Map    // see Cached
}

// A segment is a snapshot of some of the skills.
type segment struct {
	*Snapshot
	first   int    // number of its first skill
	live    Bitmap // documents that no later segment replaces
	gone    Bitmap // replaced documents; nil means none
	offered Bitmap // live documents that are offered under their names
	away    Bitmap // live documents that would be offered if their sources were not away
}

// at returns the segment of a skill and its ordinal there.
func at(segments []segment, i int) (n, doc int) {
	n = len(segments) - 1
	for n > 0 && i < segments[n].first {
		n--
	}
	return n, i - segments[n].first
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
	Embedded   int              `json:"embedded"` // how many of Texts the configured embedder has embedded
	Found      int              `json:"found"`    // number of SKILL.md files
}

// NewSet returns the set of a base, and of a delta if there is one. The set owns the
// snapshots unless NewSet returns an error.
func NewSet(snaps ...*Snapshot) (*Set, error) {
	s := &Set{}
	newest := snaps[len(snaps)-1]
	if err := json.Unmarshal(newest.Meta().Extra, &s.Info); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", newest.Path(), ErrDamaged, err)
	}
	first := 0
	for _, snap := range snaps {
		replaced := s.Replaced
		if snap == newest {
			replaced = nil
		}
		g := segment{Snapshot: snap, first: first}
		if err := g.fill(replaced, s.Sources); err != nil {
			return nil, err
		}
		s.segments = append(s.segments, g)
		first += snap.Len()
	}
	s.all = s.whole()
	return s, nil
}

// fill computes which documents of the segment count. Skills in replaced do not, and
// those of sources that are away are not offered. Nobody sees those of a source that was
// copied.
func (g *segment) fill(replaced []int64, sources []store.Source) error {
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
		g.offered, g.away = g.live.AndNot(hidden), g.NewBitmap()
		for _, s := range sources {
			if !s.Away {
				continue
			}
			own, ok, err := r.Source(s.Label)
			if err != nil {
				return err
			}
			if ok && s.Walked == store.Copied {
				g.live, g.offered = g.live.AndNot(own), g.offered.AndNot(own)
			} else if ok {
				g.away = g.away.Or(g.offered.And(own))
				g.offered = g.offered.AndNot(own)
			}
		}
		return nil
	})
}

// fits reports whether the delta, if there is one, was made for the base.
func (s *Set) fits() bool {
	if len(s.segments) < 2 {
		return s.Base == store.Generation{}
	}
	base, delta := s.segments[0].Meta(), s.segments[1].Meta()
	return s.Base == base.Generation && delta.Model == base.Model && delta.Dim == base.Dim
}

// InFiles reports whether the set was opened from published files; else it is in memory.
func (s *Set) InFiles() bool { return s.files != nil }

// Model returns the model that made the vectors; "" means there are none.
func (s *Set) Model() string { return s.segments[0].Meta().Model }

// Weights returns the weights of the fields in text scores.
func (s *Set) Weights() skill.Weights { return s.segments[0].Meta().Weights }

// Dim returns the dimension of the vectors; 0 means there are none.
func (s *Set) Dim() int { return s.segments[0].Meta().Dim }

// Size returns the number of skills, including shadowed ones.
func (s *Set) Size() int { return s.count(func(g *segment) Bitmap { return g.live }) }

// Offered returns the number of offered skills.
func (s *Set) Offered() int { return s.count(func(g *segment) Bitmap { return g.offered }) }

func (s *Set) count(of func(*segment) Bitmap) int {
	all := 0
	for n := range s.segments {
		all += of(&s.segments[n]).Count()
	}
	return all
}

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
	return s.enter(&View{Set: s, scope: s.all, readers: make([]*Reader, 0, len(s.segments)), err: new(error)}, f)
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
