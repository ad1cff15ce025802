package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Publish compiles what the catalog holds into files beside it, from which this
// process and others rank from then on: all of it, or when that was done before
// and little changed since, only what did. Merging the two takes long in a large
// catalog, so it is left for later, within bounds, unless merge asks for it. A
// catalog that can only be read stays as it is. Ranking never depends on it.
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

// few is how many changed skills make no merge worth its while: to compile them
// anew at each change takes some 35 ms at most.
const few = 128

// maxDrift is by which share the mean length of a skill may change before all is
// compiled anew. A text score, which is off by a part in a hundred as it is,
// follows the mean length, in long skills to nearly the same share.
const maxDrift = .01

// much reports whether a delta of that many skills is to be merged into a base.
func much(delta, base int, merge bool) bool {
	bound := max(few, base/128)
	if !merge {
		bound = max(8*few, base/8)
	}
	return delta > bound
}

// publish compiles the present generation and names its files in the manifest. It
// is not done when the catalog has changed meanwhile.
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
	// Nobody can change the catalog while the manifest is written.
	err = x.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.State()
		if err != nil {
			return err
		}
		if now.Generation != info.Generation {
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
			return errOutrun // what was compiled was swept by who published something newer
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

// errOutrun says that another process changed or published the catalog meanwhile.
var errOutrun = errors.New("the catalog has changed")

// compile writes the snapshots of the generation of a. It returns the generation
// up to which changes need not be known any more; the zero one means none.
func (x *Index) compile(ctx context.Context, a *assembler, merge bool) (f snapshot.Files, forget store.Generation, err error) {
	base, c, err := a.openBase(ctx, nil)
	if err != nil {
		return f, forget, err
	}
	if base != nil {
		defer base.Close() // it can only fail to give memory back
		f.Base = filepath.Base(base.Path())
		if base.Meta().Generation == a.Generation {
			return f, forget, nil
		}
		// Nothing can be read of a damaged base: it is made anew.
		if mean, err := drift(base, c); err == nil && math.Abs(mean-1) <= maxDrift && !much(len(c.rows), base.Len(), merge) {
			path := x.dir.DeltaPath(a.Catalog, a.Generation)
			f.Delta = filepath.Base(path)
			meta, docs, err := a.delta(ctx, base, c)
			if err == nil {
				err = snapshot.Write(path, meta, docs)
			}
			return f, forget, err
		}
	}
	path := x.dir.BasePath(a.Catalog, a.Generation)
	entries, err := a.r.Entries(ctx, nil)
	if err != nil {
		return f, forget, err
	}
	meta, err := a.meta(a.Info)
	if err == nil {
		err = snapshot.Write(path, meta, ahead(a.documents(ctx, entries, true)))
	}
	return snapshot.Files{Base: filepath.Base(path)}, x.dir.Oldest(a.Catalog, a.Generation), err
}
