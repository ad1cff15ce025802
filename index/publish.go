package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Publish compiles the catalog into snapshot files beside it, from which this and
// other processes rank from then on. It writes a base, which holds all skills, or,
// if few skills have changed since the last base, a delta with only these. Merging
// a delta into a new base takes long in a large catalog, so Publish puts it off
// until the delta is too large; with merge it does so much earlier. A read-only
// catalog is left alone. Ranking works without published files, but slower.
func (x *Index) Publish(ctx context.Context, merge bool) error {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	if x.dir == nil || x.opts.FTS5 || x.store.ReadOnly() {
		return nil
	}
	for range 3 { // another process may be changing the catalog
		done, err := x.publish(ctx, merge)
		if err != nil {
			return fmt.Errorf("compiling the ranking: %w", err)
		}
		if done {
			break
		}
	}
	_, err := x.Current(ctx)
	return err
}

// few is the size up to which a delta is never merged into a base: compiling it
// again at each change takes at most about 35 ms.
const few = 128

// maxDrift is the share by which the mean length of a skill may change before a new
// base is compiled. A delta keeps using the mean length of its base, and in long
// skills the text score is off by nearly the same share. Rounding puts a text score
// off by 1 % anyway.
const maxDrift = .01

// tooLarge reports whether a delta of that many skills must be merged into a base.
func tooLarge(delta, base int, merge bool) bool {
	bound := max(few, base/128)
	if !merge {
		bound = max(8*few, base/8)
	}
	return delta > bound
}

// publish compiles the current generation and names its files in the manifest. done
// is false if the catalog has changed meanwhile; the caller tries again.
func (x *Index) publish(ctx context.Context, merge bool) (done bool, err error) {
	var f snapshot.Files
	var info snapshot.Info
	var forget store.Generation
	err = x.store.View(ctx, func(r store.Reader) error {
		a, err := x.assembler(ctx, r)
		if err != nil {
			return err
		}
		info = a.Info
		if _, done = x.dir.Published(a.Generation); !done {
			f, forget, err = x.compile(ctx, a, merge)
		}
		return err
	})
	if err != nil || done {
		return done, err
	}
	// The write transaction keeps others from changing the catalog while the
	// manifest is written.
	err = x.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.State()
		if err != nil {
			return err
		}
		if now.Generation != info.Generation {
			if theirs, ok := x.dir.Published(now.Generation); ok {
				x.dir.Sweep(info.Catalog, theirs, x.opts.Now()) // f too, which nobody else may ever do
			}
			return errOutrun
		}
		if forget.Number > 0 {
			if err := tx.Forget(forget); err != nil {
				return err
			}
		}
		if theirs, ok := x.dir.Published(info.Generation); ok {
			f = theirs // another process was faster
		} else if !x.dir.Usable(f) {
			return errOutrun // another process published a newer generation and swept these files
		} else if err := x.dir.Publish(info.Generation, f); err != nil {
			return err
		}
		x.dir.Sweep(info.Catalog, f, x.opts.Now())
		return nil
	})
	if errors.Is(err, errOutrun) {
		return false, nil
	}
	return err == nil, err
}

// errOutrun means that another process changed or published the catalog meanwhile.
var errOutrun = errors.New("the catalog has changed")

// compile writes the snapshots of the generation of a. It also returns the
// generation up to which the store may forget changes; the zero value means that
// it must keep them all.
func (x *Index) compile(ctx context.Context, a *assembler, merge bool) (f snapshot.Files, forget store.Generation, err error) {
	f, ok, err := x.compileDelta(ctx, a, func(base *snapshot.Snapshot, c changes) bool {
		// drift fails if the base is damaged: then a new base is written.
		mean, err := drift(base, c)
		return err == nil && math.Abs(mean-1) <= maxDrift && !tooLarge(len(c.rows), base.Len(), merge)
	})
	if ok || err != nil {
		return f, forget, err
	}
	f, err = x.compileBase(ctx, a)
	return f, x.dir.Oldest(a.Catalog, a.Generation), err
}

// compileDelta writes a snapshot of what has changed since the newest base, if anything
// has. ok is false if there is no base, or if keep does not want to keep it.
func (x *Index) compileDelta(ctx context.Context, a *assembler, keep func(*snapshot.Snapshot, changes) bool) (f snapshot.Files, ok bool, err error) {
	base, c, err := a.openBase(ctx, nil)
	if err != nil || base == nil {
		return f, false, err
	}
	defer base.Close() // it can only fail to give memory back
	f.Base = filepath.Base(base.Path())
	if base.Meta().Generation == a.Generation {
		return f, true, nil
	}
	if !keep(base, c) {
		return snapshot.Files{}, false, nil
	}
	path := x.dir.DeltaPath(a.Catalog, a.Generation)
	f.Delta = filepath.Base(path)
	meta, docs, err := a.delta(ctx, base, c)
	if err == nil {
		err = x.dir.Write(path, meta, docs)
	}
	return f, true, err
}

// compileBase writes a snapshot of all skills.
func (x *Index) compileBase(ctx context.Context, a *assembler) (f snapshot.Files, err error) {
	path := x.dir.BasePath(a.Catalog, a.Generation)
	meta, docs, err := a.base(ctx)
	if err == nil {
		err = x.dir.Write(path, meta, docs)
	}
	return snapshot.Files{Base: filepath.Base(path)}, err
}

// base returns the content of a snapshot of all skills.
func (a *assembler) base(ctx context.Context) (snapshot.Meta, iter.Seq2[*snapshot.Document, error], error) {
	entries, err := a.r.Entries(ctx, nil)
	if err != nil {
		return snapshot.Meta{}, nil, err
	}
	meta, err := a.meta(a.Info)
	return meta, ahead(a.documents(ctx, entries, true)), err
}
