package index

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Publish compiles the catalog into snapshot files beside it, from which this and
// other processes rank from then on. It writes a base, which holds all skills, or,
// if few skills have changed since the last base, a delta with only these. Merging
// a delta into a new base takes long in a large catalog, so Publish puts it off
// until the delta is too large; with merge it does so much earlier. A read-only
// catalog is left alone. Ranking works without published files, but slower.
func (p *Publisher) Publish(ctx context.Context, merge bool) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	if p.dir == nil || p.opts.FTS5 || p.store.ReadOnly() {
		return nil
	}
	for range 3 { // another process may be changing the catalog
		done, err := p.publish(ctx, merge)
		if err != nil {
			return fmt.Errorf("compiling the ranking: %w", err)
		}
		if done {
			break
		}
	}
	_, err := p.Current(ctx)
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
func (p *Publisher) publish(ctx context.Context, merge bool) (done bool, err error) {
	var f snapshot.Files
	var info snapshot.Info
	var forget store.Generation
	err = p.store.View(ctx, func(r store.Reader) error {
		a, err := p.begin(ctx, r)
		if err != nil {
			return err
		}
		info = a.Info
		if _, done = p.dir.Published(a.Generation); !done {
			f, forget, err = p.compile(ctx, a, merge)
		}
		return err
	})
	if err != nil || done {
		return done, err
	}
	// The write transaction keeps others from changing the catalog while the
	// manifest is written.
	err = p.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.State()
		if err != nil {
			return err
		}
		if now.Generation != info.Generation {
			if theirs, ok := p.dir.Published(now.Generation); ok {
				p.dir.Sweep(info.Catalog, theirs, p.opts.Now()) // f too, which nobody else may ever do
			}
			return errOutrun
		}
		if forget.Number > 0 {
			if err := tx.Forget(forget); err != nil {
				return err
			}
		}
		if theirs, ok := p.dir.Published(info.Generation); ok {
			f = theirs // another process was faster
		} else if !p.dir.Usable(f) {
			return errOutrun // another process published a newer generation and swept these files
		} else if err := p.dir.Publish(info.Generation, f); err != nil {
			return err
		}
		p.dir.Sweep(info.Catalog, f, p.opts.Now())
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
func (p *Publisher) compile(ctx context.Context, a *assembler, merge bool) (f snapshot.Files, forget store.Generation, err error) {
	f, ok, err := a.writeDelta(ctx, func(base *snapshot.Snapshot, c changes) bool {
		// drift fails if the base is damaged: then a new base is written.
		mean, err := drift(base, c)
		return err == nil && math.Abs(mean-1) <= maxDrift && !tooLarge(len(c.rows), base.Len(), merge)
	})
	if ok || err != nil {
		return f, forget, err
	}
	f, err = a.writeBase(ctx)
	return f, p.dir.Oldest(a.Catalog, a.Generation), err
}
