package index

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A view is one generation of the catalog as searches see it. It never changes,
// except that it remembers what it has worked out. Skills go by number: that of
// their document in the first segment, or behind all of those in the second.
type view struct {
	about
	segments []segment      // what was compiled, then what has changed since
	bodies   bool           // the segments know the full text; else SQLite ranks it
	embedder embed.Embedder // whose vectors the segments hold, nil for none
	files    stamped        // what named the segments, if they are files

	scopes   sync.Map // *Agent to *scope
	compared sync.Map // [2]int64, rising rows, to whether they are copies
}

// A segment is a snapshot of some of the skills.
type segment struct {
	*snapshot.Snapshot
	first   int             // number of its first document
	live    snapshot.Bitmap // documents that no later segment replaces
	gone    snapshot.Bitmap // the others, nil for none
	count   int             // of live
	offered snapshot.Bitmap // of these, those that are found under their names
}

// about is what a view knows beside the skills. It is kept in the snapshots.
type about struct {
	Catalog    string        `json:"catalog"` // see store.State
	Generation int64         `json:"generation"`
	Base       int64         `json:"base,omitempty"` // generation of the snapshot that this one adds to
	Replaced   []int64       `json:"replaced,omitempty"`
	Sources    []knownSource `json:"sources"`
	Mode       string        `json:"mode"` // see Answer
	Texts      int           `json:"texts"`
	Embedded   int           `json:"embedded"` // of Texts
	Found      int           `json:"found"`    // SKILL.md files
}

// knownSource is a source of the catalog, one without skills too.
type knownSource struct {
	Label    string `json:"label"`
	Root     string `json:"root"`
	Priority int    `json:"priority"`
	Walked   bool   `json:"walked"` // completely, at least once
}

// newView makes a view of one or two snapshots, the newest last.
func newView(snaps ...*snapshot.Snapshot) (*view, error) {
	v := &view{}
	newest := snaps[len(snaps)-1]
	if err := json.Unmarshal(newest.Meta().Extra, &v.about); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", newest.Path(), snapshot.ErrDamaged, err)
	}
	first := 0
	for n, s := range snaps {
		p := segment{Snapshot: s, first: first}
		var replaced []int64
		if n < len(snaps)-1 {
			replaced = v.Replaced
		}
		if err := p.fill(replaced); err != nil {
			return nil, err
		}
		v.segments = append(v.segments, p)
		first += s.Len()
	}
	return v, nil
}

// fill finds out which documents of the segment count, without those rows.
func (p *segment) fill(replaced []int64) error {
	return p.Read(func(r *snapshot.Reader) error {
		gone := p.NewBitmap()
		for _, row := range replaced {
			doc, ok, err := r.Ordinal(row)
			if err != nil {
				return err
			}
			if ok {
				gone.Set(doc)
				p.gone = gone
			}
		}
		hidden, err := r.Hidden()
		if err != nil {
			return err
		}
		p.live = p.All().AndNot(gone)
		p.count = p.live.Count()
		p.offered = p.live.AndNot(hidden)
		return nil
	})
}

// close gives up the snapshots of a view that the next one does not use.
func (v *view) close(next *view) error {
	var errs []error
	for i := range v.segments {
		if next == nil || !next.has(v.segments[i].Snapshot) {
			errs = append(errs, v.segments[i].Close())
		}
	}
	return errors.Join(errs...)
}

// has reports whether a snapshot is a segment of the view.
func (v *view) has(s *snapshot.Snapshot) bool {
	return slices.ContainsFunc(v.segments, func(p segment) bool { return p.Snapshot == s })
}

// priority returns that of a source.
func (v *view) priority(label string) int {
	for _, s := range v.Sources {
		if s.Label == label {
			return s.Priority
		}
	}
	return 0
}

// read runs f with what reads the view.
func (v *view) read(f func(in *reading) error) error {
	in := &reading{view: v, readers: make([]*snapshot.Reader, 0, len(v.segments))}
	return v.enter(in, f)
}

// enter holds the segments one after the other.
func (v *view) enter(in *reading, f func(in *reading) error) error {
	if n := len(in.readers); n < len(v.segments) {
		return v.segments[n].Read(func(r *snapshot.Reader) error {
			in.readers = append(in.readers, r)
			return v.enter(in, f)
		})
	}
	// What could not be read makes nonsense of what f says.
	err := f(in)
	return cmp.Or(in.err, err)
}
