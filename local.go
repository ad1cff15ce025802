package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// local keeps the catalog file of sources of this machine: sources → store → snapshot.
type local struct {
	*opening
	now atomic.Pointer[catalogFile] // replaced when the file was lost, see isLost, and when sources come or go

	mu     sync.Mutex      // held by a rescan: one at a time
	closed bool            // guarded by mu
	told   store.State     // of the catalog, when Config.Changed was last called; guarded by mu
	unsure store.State     // in which a rescan found it without having changed it; guarded by mu
	own    *scratch.Folder // of a catalog file that nobody else may use, see Config.DB; nil without one; guarded by mu

	scans scans
	timer interface{ stop() } // the schedule; nil without one
}

// catalogFile is an open catalog file, with the sources that it is kept in step with.
type catalogFile struct {
	state
	file     *sqlite.DB // the store
	index    *index.Index
	sources  []source.Source
	scanner  *index.Scanner // guarded by local.mu, except for Glance
	replaced *atomic.Bool   // another file took the place of this one: file is closed, or about to be
}

// A scan is a method of index.Scanner that brings the catalog in step.
type scan func(s *index.Scanner, ctx context.Context, found func(), finish func(context.Context) error) ([]Report, error)

func newLocal(ctx context.Context, o *opening) (*local, error) {
	l := &local{opening: o}
	path, err := l.fileOf(o.cfg.Sources)
	if err != nil {
		return nil, err
	}
	f, err := l.open(ctx, path, o.cfg.Sources)
	if err != nil {
		return nil, errors.Join(err, l.removeOwn())
	}
	l.now.Store(f)
	return l, nil
}

// fileOf returns the path of the catalog of these sources.
func (l *local) fileOf(sources []source.Source) (path string, err error) {
	if !l.cfg.isPlaceless(sources) {
		return l.cfg.fileOf(sources)
	}
	if l.own == nil {
		if l.own, err = ownFolder(); err != nil {
			return "", fmt.Errorf("making a folder for the catalog: %w", err)
		}
	}
	return filepath.Join(l.own.Dir, "catalog.db"), nil
}

// removeOwn removes the temporary folder, if there is one.
func (l *local) removeOwn() error {
	if l.own == nil {
		return nil
	}
	return l.own.Close()
}

// ownFolder makes a folder for a catalog that nobody else may use, in the cache, which is the
// user's alone, and removes those of killed processes. Without a cache the folder is in
// that of the system for temporary files, where nobody cleans up what others may have put there.
func ownFolder() (*scratch.Folder, error) {
	if cache, err := config.CacheDir(); err == nil {
		above := filepath.Join(cache, "own")
		scratch.Sweep(above, "", nil)
		if f, err := scratch.New(above, ""); err == nil {
			return f, nil
		}
	}
	return scratch.New(os.TempDir(), "repertoire")
}

// open opens the database file; the store replaces one that it found damaged.
func (l *local) open(ctx context.Context, path string, sources []source.Source) (*catalogFile, error) {
	db := sqlite.Defer(path, &sqlite.Options{
		Seeds: func() []sqlite.Seed { return seeds(path, sources) },
	})
	x := index.New(db, l.by.Embedder, &index.Options{Path: path, Inline: l.by.Inline, Fallback: l.by.Fallback, Contextual: l.by.Contextual, Keep: l.by.Keep, Cache: l.cfg.vectorCache()})
	if !l.cfg.Defer {
		if err := db.Ready(ctx); err != nil {
			return nil, err
		}
	}
	if aside := db.Recovered(); aside != "" {
		l.log.Warn("catalog was damaged and is rebuilt", "kept", aside)
	}
	f := &catalogFile{
		state: state{path: path, store: db, search: search.New(x, db, l.by.Embedder, l.searchOptions()), policy: l.rules.Load().whole()},
		file:  db, index: x, replaced: new(atomic.Bool),
	}
	f, err := f.with(sources)
	if err != nil {
		return nil, errors.Join(err, x.Close(), db.Close())
	}
	return f, nil
}

// with returns the same file with other sources.
func (f *catalogFile) with(sources []source.Source) (*catalogFile, error) {
	r, err := newReader(sources)
	if err != nil {
		return nil, err
	}
	g := *f
	g.sources, g.reader = sources, r
	g.scanner, g.provider = index.NewScanner(f.index, sources), contextprovider.New(f.search, r)
	g.search.SetPolicy(f.policy, r.kinds()) // before a rescan adds the skills of new sources
	g.search.SetSources(labelsOf(sources))
	return &g, nil
}

// close closes the files.
func (f *catalogFile) close() error {
	return errors.Join(f.index.Close(), f.store.Close())
}

// isLost reports whether err says that the open file is damaged or no longer the
// catalog, or comes from a file that was closed because of that.
func (f *catalogFile) isLost(err error) bool {
	return errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrStale) || err != nil && f.replaced.Load()
}

// path implements keeper.
func (l *local) path() string { return l.now.Load().path }

// sources implements keeper.
func (l *local) sources() []source.Source { return slices.Clone(l.now.Load().sources) }

// shared implements keeper.
func (l *local) shared() Shared { return Shared{} }

// recovered implements keeper.
func (l *local) recovered() string { return l.now.Load().file.Recovered() }

// close implements keeper.
func (l *local) close() error {
	if l.timer != nil {
		l.timer.stop()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return errors.Join(l.now.Load().close(), l.removeOwn())
}

// ask implements keeper.
func (l *local) ask(ctx context.Context, f func(*state) error) error {
	return l.use(ctx, func(now *catalogFile) error { return f(&now.state) })
}

// use calls f. When f says that the file is damaged, or is no longer the catalog, use opens
// the catalog again and calls f once more.
func (l *local) use(ctx context.Context, f func(*catalogFile) error) error {
	now := l.now.Load()
	err := f(now)
	if !now.isLost(err) {
		return err
	}
	if err := l.repair(ctx, now); err != nil {
		return err
	}
	return f(l.now.Load())
}

// repair opens a catalog again, unless somebody else just did.
func (l *local) repair(ctx context.Context, lost *catalogFile) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.Load() != lost {
		return nil
	}
	_, err := l.reopen(ctx, nil, (*index.Scanner).Rescan)
	if errors.Is(err, store.ErrReadOnly) {
		return nil // it answers from what is there
	}
	return err
}

// reopen opens the file that is at the path now, and brings it in step. The caller holds
// mu. When reopen fails, the next call tries again.
func (l *local) reopen(ctx context.Context, found func(), by scan) ([]Report, error) {
	reports, err := l.reopenOnce(ctx, found, by)
	if l.now.Load().isLost(err) { // what took the place of the file is damaged too
		return l.reopenOnce(ctx, found, by)
	}
	return reports, err
}

// reopenOnce is reopen for a file that is not damaged, or that the store knows to be: then
// it moves the file aside and makes a new one.
func (l *local) reopenOnce(ctx context.Context, found func(), by scan) ([]Report, error) {
	if l.closed {
		return nil, ErrClosed
	}
	lost := l.now.Load()
	if !lost.replaced.Swap(true) {
		if err := lost.close(); err != nil {
			l.log.Warn("closing a catalog that is damaged or was replaced", "error", err)
		}
	}
	l.log.Info("opening the catalog again, because its file is damaged or was replaced")
	// A search that is in a hurry must not leave the catalog without a file.
	now, err := l.open(context.WithoutCancel(ctx), lost.path, lost.sources)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog again: %w", err)
	}
	reports, err := l.sync(ctx, now, found, by)
	l.now.Store(now) // not before: nobody should find it empty
	return reports, err
}

// follow replaces the sources of the catalog by those that exist now. If they belong to
// another file, the old one answers until the new one is complete.
func (l *local) follow(ctx context.Context) error {
	if l.cfg.Discover == nil {
		return nil
	}
	sources, err := l.cfg.Discover()
	if err == nil {
		_, err = newReader(sources) // checks them
	}
	if err != nil {
		return fmt.Errorf("looking for folders with skills: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.now.Load()
	same := func(a, b source.Source) bool { return a.Info() == b.Info() }
	if l.closed || slices.EqualFunc(sources, old.sources, same) {
		return nil
	}
	path, err := l.fileOf(sources)
	if err != nil {
		return err
	}
	if path == old.path {
		now, err := old.with(sources)
		if err == nil {
			l.now.Store(now) // the next rescan brings it in step
		}
		return err
	}
	now, err := l.open(ctx, path, sources)
	if err == nil {
		old.search.SetSources(labelsOf(sources)) // what it lacks is being read
		if _, err = l.sync(ctx, now, nil, (*index.Scanner).Rescan); err != nil {
			err = errors.Join(err, now.close())
		}
	}
	if err != nil {
		return fmt.Errorf("opening the catalog of the folders with skills that there are now: %w", err)
	}
	l.now.Store(now)
	old.replaced.Store(true) // who still asks it asks the new one
	return old.close()
}

// errCut says that a rescan ran out of time.
var errCut = errors.New("there was no time to read all changes; the next call goes on")

// freshen implements keeper.
func (l *local) freshen(ctx context.Context, o *FreshenOptions) (Freshness, error) {
	f := l.glance(ctx, cmp.Or(o.Look, time.Second))
	if err := ctx.Err(); err != nil || f.Current && !o.Rescan {
		return f, err
	}
	indexed, err := l.indexed(ctx)
	if err == nil && !indexed {
		if o.Partial {
			f.Partial, err = l.usable(ctx)
		}
		if err != nil || !f.Partial {
			f.Reports, f.Cut, err = readFirst(ctx, l, o)
			f.Partial = f.Cut
			return f, err
		}
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, cmp.Or(o.Scan, time.Second))
		defer cancel()
		f.Reports, err = l.rescan(bounded, nil, false)
		if f.Cut = bounded.Err() != nil && err != nil; f.Cut {
			err = errCut
		}
	}
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if f.Partial {
		indexed, unknown := l.indexed(ctx)
		f.Partial = unknown != nil || !indexed
	}
	if err != nil && !l.answers(ctx) {
		return f, err
	}
	if f.Stale = err; f.Current {
		f.Stale = nil // all was as the last scan saw it
	}
	return f, nil
}

// firstTime and firstSkills are how much is read at least if a part will do: for most, all of it.
const firstTime, firstSkills = 800 * time.Millisecond, 500

// readFirst reads a catalog that nobody has read. It reports whether it has left a part of it.
func readFirst(ctx context.Context, l *local, o *FreshenOptions) (_ []Report, cut bool, err error) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	began, n := time.Now(), 0 // a slow walk over what is known must not end it
	reports, err := l.rescan(bounded, func() {
		if o.Found != nil {
			o.Found()
		}
		if n++; n == 1 {
			began = time.Now()
		}
		if n > firstSkills && o.Partial && time.Since(began) > firstTime {
			cancel()
		}
	}, false)
	if cut = errors.Is(err, context.Canceled) && ctx.Err() == nil && bounded.Err() != nil; cut {
		err = l.use(ctx, func(f *catalogFile) error { return l.publish(ctx, f) })
	}
	return reports, cut, err
}

// answers reports whether the catalog has a ranking that an earlier scan left.
func (l *local) answers(ctx context.Context) bool {
	_, err := l.now.Load().index.Current(ctx)
	return err == nil
}

// glance implements keeper.
func (l *local) glance(ctx context.Context, limit time.Duration) Freshness {
	return Freshness{Glance: l.now.Load().scanner.Glance(ctx, limit)}
}

// awaitScan implements keeper.
func (l *local) awaitScan(ctx context.Context) bool { return l.scans.wait(ctx) }
