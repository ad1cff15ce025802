package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/embed"
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

// errNoBases means that a store cannot pass on compiled bases.
var errNoBases = errors.New("the engine of this catalog keeps no compiled bases")

// Share compiles all skills and puts the base into the store, for the machines that follow
// it (see Mirror), if the last base there is too old. Whoever has written the store calls it
// afterwards. It reports whether it put a base. Two that do so at once only do the
// work twice.
func (p *Publisher) Share(ctx context.Context) (bool, error) {
	bases, ok := p.store.(store.Bases)
	if !ok {
		return false, errNoBases
	}
	last, any, err := bases.Base(ctx, p.key())
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "skills-base-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	path, due := filepath.Join(dir, "base"), true
	b := store.Base{Key: p.key()}
	err = p.store.View(ctx, func(r store.Reader) error {
		if any {
			if due, err = p.outgrown(ctx, r, last.Generation); err != nil || !due {
				return err
			}
		}
		a, err := p.begin(ctx, r)
		if err != nil {
			return err
		}
		b.Generation = a.Generation
		meta, docs, err := a.base(ctx)
		if err == nil {
			err = snapshot.Write(p.opts.Disk, path, meta, docs)
		}
		return err
	})
	if err == nil && due {
		if err = put(ctx, bases, b, path); err == nil && any {
			err = p.store.Update(ctx, func(tx store.Tx) error { return tx.Forget(last.Generation) })
		}
	}
	if err != nil {
		return false, fmt.Errorf("sharing the compiled ranking: %w", err)
	}
	return due, nil
}

// smallCatalog is the size up to which every change is worth a new base: compiling takes
// less than half a second.
const smallCatalog = 8 * few

// outgrown reports whether so much has changed since a base that a new one is due.
func (p *Publisher) outgrown(ctx context.Context, r store.Reader, base store.Generation) (bool, error) {
	now, err := r.State(ctx)
	if err != nil || base == now.Generation {
		return false, err
	}
	var models [snapshot.Spaces]snapshot.Model
	for space, e := range [snapshot.Spaces]embed.Embedder{snapshot.Words: p.embedder, snapshot.Sentences: p.opts.Contextual} {
		if e != nil {
			models[space].Name = e.Model()
		}
	}
	rows, known, err := changedRows(ctx, r, base, models)
	return !known || now.Found <= smallCatalog || tooLarge(len(rows), now.Found, true), err
}

// put puts the base in a file into the store. b lacks its size and checksum.
func put(ctx context.Context, bases store.Bases, b store.Base, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	h := sha256.New()
	if b.Size, err = io.Copy(h, f); err != nil {
		return err
	}
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return bases.PutBase(ctx, b, f)
}
