package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

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

// Pull makes the present state of a shared store current, see Options.Shared. It keeps the
// state in files, from which later processes start. Where no file can be written, the
// state stays in memory, and the files of older states no longer count: they may hold what
// was removed since. If they cannot be withdrawn either, as on a read-only disk, the state is
// current all the same, and Pull returns the error. If the store cannot be asked, everything
// stays as it was.
func (x *Index) Pull(ctx context.Context) (p Pulled, err error) {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	unlock, unwritable := x.lockFiles(ctx)
	if err := ctx.Err(); err != nil {
		return p, err
	}
	defer unlock()
	if p.State, err = x.store.State(ctx); err != nil {
		return p, err
	}
	if unwritable == nil {
		var done bool
		if done, err = x.open(&p.State); done || err != nil {
			return p, err
		}
		unwritable = x.pullFiles(ctx, &p)
	}
	if unwritable != nil {
		err = x.pullMemory(ctx, &p, unwritable)
	}
	return p, err
}

// Rebase takes over the newest published base if this machine has an older one, so that
// what has changed since stays small. It reports whether it did. Pull comes first.
func (x *Index) Rebase(ctx context.Context) (bool, error) {
	s := x.current.Load()
	if s == nil || !s.InFiles() {
		return false, nil
	}
	size, err := x.download(ctx, s.Catalog, s.BaseGeneration().Number)
	if err != nil || size == 0 {
		return false, err
	}
	x.publishing.Lock()
	defer x.publishing.Unlock()
	unlock, err := x.lockFiles(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	return true, x.pullFiles(ctx, &Pulled{State: store.State{Catalog: s.Catalog}})
}

// lockFiles makes other processes wait that would write the files of the catalog: they find
// then what this one has written. Otherwise a slow process could replace a newer state
// by an older one.
func (x *Index) lockFiles(ctx context.Context) (unlock func(), err error) {
	none := func() {}
	if x.dir == nil {
		return none, errors.New("there is no folder for files")
	}
	if err := os.MkdirAll(filepath.Dir(x.opts.Path), 0o700); err != nil {
		return none, err
	}
	lock := flock.New(x.opts.Path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return none, fmt.Errorf("locking the files of the catalog: %w", err)
	}
	return func() { lock.Unlock() }, nil // the end of the process unlocks it too
}

// pulled returns the current set of a shared store. Only if there is none it asks the store.
func (x *Index) pulled(ctx context.Context) (*snapshot.Set, error) {
	s, err := x.local()
	if !errors.Is(err, ErrNotPulled) {
		return s, err
	}
	_, failed := x.Pull(ctx)
	if s, err = x.local(); err != nil && failed != nil {
		err = fmt.Errorf("%w: %w", err, failed)
	}
	return s, err
}

// local returns the current set of a shared store; without one it opens the files that an
// earlier Pull left.
func (x *Index) local() (*snapshot.Set, error) {
	if s := x.current.Load(); s != nil {
		return s, nil
	}
	if _, err := x.open(nil); err != nil {
		return nil, err
	}
	if s := x.current.Load(); s != nil {
		return s, nil
	}
	return nil, ErrNotPulled
}

// Copied returns the sources of what Pull has brought here, ordered by label.
func (x *Index) Copied() []store.Source {
	s, err := x.local()
	if err != nil {
		return nil
	}
	return s.Sources
}

// open makes the set in the files the current one. It reports whether the current set is of
// the state now; nil means any state.
func (x *Index) open(now *store.State) (bool, error) {
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return false, store.ErrClosed
	}
	is := func(s *snapshot.Set) bool {
		return s != nil && (now == nil || s.Catalog == now.Catalog && s.Generation == now.Generation)
	}
	old := x.current.Load()
	if x.dir == nil || is(old) && !old.InFiles() {
		return is(old), nil
	}
	s, err := x.dir.Open(old)
	if err != nil || s == nil {
		return false, err
	}
	if !is(s) || !x.canEmbedFor(s.Model()) {
		s.Close(old) // it can only fail to give memory back
		return false, nil
	}
	if x.embedder != nil && x.covered.Load() == nil {
		x.covered.Store(&coverage{s.Generation, s.Texts, s.Embedded})
	}
	x.replace(s)
	return true, nil
}

// pullFiles compiles what has changed since the newest base, which it downloads if need be,
// and makes the files current.
func (x *Index) pullFiles(ctx context.Context, p *Pulled) error {
	f, ok, err := x.pullWith(ctx, p, x.compileChanges)
	if err == nil && !ok {
		if p.Downloaded, p.Base = x.download(ctx, p.Catalog, -1); ctx.Err() != nil {
			return ctx.Err()
		}
		f, _, err = x.pullWith(ctx, p, func(ctx context.Context, a *assembler) (snapshot.Files, bool, error) {
			f, ok, err := x.compileChanges(ctx, a)
			if err == nil && !ok {
				f, err = x.compileBase(ctx, a)
			}
			return f, ok, err
		})
	}
	if err == nil {
		err = x.dir.Publish(p.Generation, f)
	}
	if err != nil {
		return err
	}
	x.dir.Sweep(p.Catalog, f, x.opts.Now())
	if done, err := x.open(&p.State); !done {
		return errors.Join(errors.New("the files that were just written cannot be used"), err)
	}
	return nil
}

// pullWith calls compile for the present state of the store.
func (x *Index) pullWith(ctx context.Context, p *Pulled, compile func(context.Context, *assembler) (snapshot.Files, bool, error)) (f snapshot.Files, ok bool, err error) {
	err = x.store.View(ctx, func(r store.Reader) error {
		a, err := x.assembler(ctx, r)
		if err != nil {
			return err
		}
		p.State = store.State{Catalog: a.Catalog, Generation: a.Generation, Found: a.Found}
		f, ok, err = compile(ctx, a)
		return err
	})
	return f, ok, err
}

// compileChanges is compileDelta, unless so much has changed that a new base is better.
func (x *Index) compileChanges(ctx context.Context, a *assembler) (snapshot.Files, bool, error) {
	return x.compileDelta(ctx, a, func(base *snapshot.Snapshot, c changes) bool {
		return !tooLarge(len(c.rows), base.Len(), false)
	})
}

// pullMemory makes a set in memory the current one, because files cannot be written.
func (x *Index) pullMemory(ctx context.Context, p *Pulled, unwritable error) error {
	old := x.current.Load()
	s, err := x.assemble(ctx, old)
	if err != nil {
		return err // the store cannot be asked, and the cause of unwritable may be the same
	}
	p.State = store.State{Catalog: s.Catalog, Generation: s.Generation, Found: s.Found}
	var withdrawn error
	if x.dir != nil {
		withdrawn = x.dir.Withdraw()
	}
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return errors.Join(store.ErrClosed, s.Close(old))
	}
	x.replace(s)
	if withdrawn != nil {
		return errors.Join(unwritable, withdrawn)
	}
	return nil
}

// download gets the newest published base, if its generation's number is greater than after
// and it is not on this machine. It returns its size; 0 means that there is none.
func (x *Index) download(ctx context.Context, catalog string, after int64) (int64, error) {
	bases, ok := x.store.(store.Bases)
	if !ok {
		return 0, nil
	}
	var last error
	for range 3 { // somebody may publish a newer one meanwhile
		b, ok, err := bases.Base(ctx, x.key())
		if err != nil || !ok || b.Generation.Number <= after || x.has(catalog, b.Generation) {
			return 0, err
		}
		last = x.dir.Receive(catalog, b.Generation, func(w io.Writer) error { return bases.GetBase(ctx, b, w) })
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
func (x *Index) has(catalog string, g store.Generation) bool {
	return x.dir.Usable(snapshot.Files{Base: filepath.Base(x.dir.BasePath(catalog, g))})
}
