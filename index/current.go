package index

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// stamped is a file as it was at some time.
type stamped struct{ info fs.FileInfo }

// stamp returns the present state of a file.
func stamp(name string) stamped {
	info, err := os.Stat(name)
	if err != nil {
		return stamped{}
	}
	return stamped{info}
}

func (s stamped) exists() bool { return s.info != nil }

// is reports whether both are one file, written once.
func (s stamped) is(o stamped) bool {
	return s.exists() && o.exists() && s.info.ModTime().Equal(o.info.ModTime()) && os.SameFile(s.info, o.info)
}

// read runs f with what reads the present view, and with what the agent sees of
// it. It does so again when the view was replaced or turned out to be damaged.
func (x *Index) read(ctx context.Context, a *Agent, f func(*reading, *scope) error) error {
	// Each replacement costs whoever makes it more than one of these.
	const attempts = 20
	for attempt := 1; ; attempt++ {
		v, err := x.current(ctx)
		if err != nil {
			return err
		}
		err = v.read(func(in *reading) error {
			sc, err := in.scope(a)
			if err != nil {
				return err
			}
			return f(in, sc)
		})
		switch {
		case attempt == attempts:
			return err
		case errors.Is(err, snapshot.ErrDamaged):
			x.discard(v)
		case !errors.Is(err, snapshot.ErrClosed):
			return err
		}
	}
}

// current returns the view of the present generation. While the published files
// are of that, one look at a file tells that nothing has changed; else the
// database is asked.
func (x *Index) current(ctx context.Context) (*view, error) {
	now := stamp(store.Published(x.db.Path()))
	if v := x.view.Load(); v != nil && v.files.is(now) {
		return v, nil
	}
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return nil, errClosed
	}
	old := x.view.Load()
	if old != nil && old.files.is(now) {
		return old, nil
	}
	v, err := x.openPublished(old)
	if err != nil {
		return nil, err
	}
	if v == nil {
		if v, err = x.assembled(ctx, old); err != nil {
			return nil, err
		}
	}
	x.replace(v)
	return v, nil
}

var errClosed = errors.New("index is closed")

// Current reports whether the index can answer from the published files alone,
// for these sources, all of which have been walked. Then it does so.
func (x *Index) Current(sources []Source) bool {
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return false
	}
	v, err := x.openPublished(x.view.Load())
	if err != nil || v == nil {
		return false
	}
	x.replace(v)
	return v.knows(sources)
}

// knows reports whether the catalog is of these sources and no others, and each
// has been walked.
func (v *view) knows(sources []Source) bool {
	known := make(map[string]knownSource)
	for _, s := range v.Sources {
		known[s.Label] = s
	}
	for _, s := range sources {
		if known[s.Label] != (knownSource{s.Label, s.Root, s.Priority, true}) {
			return false
		}
	}
	return len(known) == len(sources)
}

// replace makes v what searches read.
func (x *Index) replace(v *view) {
	if old := x.view.Swap(v); old != nil && old != v {
		old.close(v) // it can only fail to give memory back
	}
}

// discard removes the files of a damaged view, and gives up the present one when
// it has files in common.
func (x *Index) discard(v *view) {
	x.load.Lock()
	defer x.load.Unlock()
	now := x.view.Load()
	for i := 0; now != nil && i < len(now.segments); i++ {
		if now == v || v.has(now.segments[i].Snapshot) {
			x.view.Store(nil)
			now.close(nil)
			break
		}
	}
	snaps := make([]*snapshot.Snapshot, len(v.segments))
	for i := range v.segments {
		snaps[i] = v.segments[i].Snapshot
	}
	v.close(nil)
	x.spoil(snaps)
}

// Close gives up the files that searches read. The database stays open.
func (x *Index) Close() error {
	x.load.Lock()
	defer x.load.Unlock()
	x.closed = true
	if v := x.view.Swap(nil); v != nil {
		return v.close(nil)
	}
	return nil
}
