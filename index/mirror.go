package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// ErrNotPulled means that no state of a shared store has been brought to this machine yet.
var ErrNotPulled = errors.New("this machine has no copy of the shared catalog yet")

// A Pulled says what a Pull did.
type Pulled struct {
	store.State       // that is current now
	Downloaded  int64 // bytes of the base that it downloaded; 0 means that it needed none
	Base        error // why it compiled all skills itself, although a base was published; nil if it did not
}

// A Mirror is the copy on this machine of a catalog that others write, in a shared store far
// away. Pull brings the store's state here; answers ask no store, unless there is no state yet.
// It may be used from several goroutines, and starts none that outlives a call.
type Mirror struct {
	compiler
	currentSet
	pulling     sync.Mutex // held while files are written
	calibrating calibrating
}

// NewMirror returns the copy of a shared store at opts.Path. The embedder may be nil; then
// ranking is by text alone.
func NewMirror(st store.Store, embedder embed.Embedder, opts *Options) *Mirror {
	c := newCatalog(st, embedder, opts)
	return &Mirror{
		compiler: newCompiler(c), currentSet: currentSet{dir: c.dir}, calibrating: calibrating{catalog: c},
	}
}

// Current returns the set of the state that was pulled last, by any process. Only if there is
// none it pulls. The mirror closes the set when another one replaces it; a reader that finds
// its set closed calls Current again.
func (m *Mirror) Current(ctx context.Context) (*snapshot.Set, error) {
	s, err := m.Copy()
	if !errors.Is(err, ErrNotPulled) {
		return s, err
	}
	_, failed := m.Pull(ctx)
	if s, err = m.Copy(); err != nil && failed != nil {
		err = fmt.Errorf("%w: %w", err, failed)
	}
	return s, err
}

// Copy is Current without the store: it fails with ErrNotPulled if there is no copy yet.
func (m *Mirror) Copy() (*snapshot.Set, error) {
	if s := m.set.Load(); s != nil {
		return s, nil
	}
	if _, err := m.open(nil); err != nil {
		return nil, err
	}
	if s := m.set.Load(); s != nil {
		return s, nil
	}
	return nil, ErrNotPulled
}

// Close closes the files that searches read. The store stays open.
func (m *Mirror) Close() error { return m.close() }

// Pull makes the present state of the store current, and keeps it in files, from which later
// processes start. Where no file can be written, the state stays in memory, and the files of
// older states no longer count: they may hold what was removed since. If they cannot be
// withdrawn either, as on a read-only disk, the state is current all the same, and Pull
// returns the error. If the store cannot be asked, everything stays as it was.
func (m *Mirror) Pull(ctx context.Context) (p Pulled, err error) {
	m.pulling.Lock()
	defer m.pulling.Unlock()
	unlock, unwritable := m.lockFiles(ctx)
	if err := ctx.Err(); err != nil {
		return p, err
	}
	defer unlock()
	if p.State, err = m.store.State(ctx); err != nil {
		return p, err
	}
	if unwritable == nil {
		var done bool
		if done, err = m.open(&p.State); done || err != nil {
			return p, err
		}
		unwritable = m.pullFiles(ctx, &p)
	}
	if unwritable != nil {
		err = m.pullMemory(ctx, &p, unwritable)
	}
	return p, err
}

// Rebase takes over the newest published base if this machine has an older one, so that
// what has changed since stays small. It reports whether it did. Pull comes first.
func (m *Mirror) Rebase(ctx context.Context) (bool, error) {
	s := m.set.Load()
	if s == nil || !s.InFiles() {
		return false, nil
	}
	size, err := m.download(ctx, s.Catalog, s.BaseGeneration().Number)
	if err != nil || size == 0 {
		return false, err
	}
	m.pulling.Lock()
	defer m.pulling.Unlock()
	unlock, err := m.lockFiles(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return true, m.pullFiles(ctx, &Pulled{State: store.State{Catalog: s.Catalog}})
}

// lockFiles makes other processes wait that would write the files of the catalog: they find
// then what this one has written. Otherwise a slow process could replace a newer state
// by an older one.
func (m *Mirror) lockFiles(ctx context.Context) (unlock func(), err error) {
	none := func() {}
	if m.dir == nil {
		return none, errors.New("there is no folder for files")
	}
	if err := os.MkdirAll(filepath.Dir(m.opts.Path), 0o700); err != nil {
		return none, err
	}
	lock := flock.New(m.opts.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return none, fmt.Errorf("locking the files of the catalog: %w", err)
	}
	return func() { lock.Unlock() }, nil // the end of the process unlocks it too
}

// open makes the set in the files the current one. It reports whether the current set is of
// the state now; nil means any state.
func (m *Mirror) open(now *store.State) (bool, error) {
	m.load.Lock()
	defer m.load.Unlock()
	if m.closed {
		return false, store.ErrClosed
	}
	is := func(s *snapshot.Set) bool {
		return s != nil && (now == nil || s.Catalog == now.Catalog && s.Generation == now.Generation)
	}
	old := m.set.Load()
	if m.dir == nil || is(old) && !old.InFiles() {
		return is(old), nil
	}
	s, err := m.dir.Open(old)
	if err != nil || s == nil {
		return false, err
	}
	if !is(s) || !m.canRankBy(s.Model()) {
		s.Close(old) // it can only fail to give memory back
		return false, nil
	}
	m.counts.learn(s)
	m.replace(s)
	return true, nil
}

// pullFiles compiles what has changed since the newest base, which it downloads if need be,
// and makes the files current.
func (m *Mirror) pullFiles(ctx context.Context, p *Pulled) error {
	f, ok, err := m.pullWith(ctx, p, compileChanges)
	if err == nil && !ok {
		if p.Downloaded, p.Base = m.download(ctx, p.Catalog, -1); ctx.Err() != nil {
			return ctx.Err()
		}
		f, _, err = m.pullWith(ctx, p, func(ctx context.Context, a *assembler) (snapshot.Files, bool, error) {
			f, ok, err := compileChanges(ctx, a)
			if err == nil && !ok {
				f, err = a.writeBase(ctx)
			}
			return f, ok, err
		})
	}
	if err == nil {
		err = m.dir.Publish(p.Generation, f)
	}
	if err != nil {
		return err
	}
	m.dir.Sweep(p.Catalog, f, m.opts.Now())
	if done, err := m.open(&p.State); !done {
		return errors.Join(errors.New("the files that were just written cannot be used"), err)
	}
	return nil
}

// pullWith calls compile for the present state of the store.
func (m *Mirror) pullWith(ctx context.Context, p *Pulled, compile func(context.Context, *assembler) (snapshot.Files, bool, error)) (f snapshot.Files, ok bool, err error) {
	err = m.store.View(ctx, func(r store.Reader) error {
		a, err := m.begin(ctx, r)
		if err != nil {
			return err
		}
		p.State = store.State{Catalog: a.Catalog, Generation: a.Generation, Found: a.Found}
		f, ok, err = compile(ctx, a)
		return err
	})
	return f, ok, err
}

// compileChanges is writeDelta, unless so much has changed that a new base is better.
func compileChanges(ctx context.Context, a *assembler) (snapshot.Files, bool, error) {
	return a.writeDelta(ctx, func(base *snapshot.Snapshot, c changes) bool {
		return !tooLarge(len(c.rows), base.Len(), false)
	})
}

// pullMemory makes a set in memory the current one, because files cannot be written.
func (m *Mirror) pullMemory(ctx context.Context, p *Pulled, unwritable error) error {
	old := m.set.Load()
	s, err := m.assemble(ctx, old)
	if err != nil {
		return err // the store cannot be asked, and the cause of unwritable may be the same
	}
	p.State = store.State{Catalog: s.Catalog, Generation: s.Generation, Found: s.Found}
	var withdrawn error
	if m.dir != nil {
		withdrawn = m.dir.Withdraw()
	}
	m.load.Lock()
	defer m.load.Unlock()
	if m.closed {
		return errors.Join(store.ErrClosed, s.Close(old))
	}
	m.replace(s)
	if withdrawn != nil {
		return errors.Join(unwritable, withdrawn)
	}
	return nil
}

// download gets the newest published base, if its generation's number is greater than after
// and it is not on this machine. It returns its size; 0 means that there is none.
func (m *Mirror) download(ctx context.Context, catalog string, after int64) (int64, error) {
	bases, ok := m.store.(store.Bases)
	if !ok {
		return 0, nil
	}
	var last error
	for range 3 { // somebody may publish a newer one meanwhile
		b, ok, err := bases.Base(ctx, m.key())
		if err != nil || !ok || b.Generation.Number <= after || m.has(catalog, b.Generation) {
			return 0, err
		}
		last = m.dir.Receive(catalog, b.Generation, func(w io.Writer) error { return bases.GetBase(ctx, b, w) })
		if last == nil {
			return b.Size, nil
		}
		if !errors.Is(last, store.ErrStale) {
			break
		}
	}
	return 0, fmt.Errorf("downloading the compiled base: %w", last)
}

// has reports whether the base of a generation is on this machine.
func (m *Mirror) has(catalog string, g store.Generation) bool {
	return m.dir.Usable(snapshot.Files{Base: filepath.Base(m.dir.BasePath(catalog, g))})
}
