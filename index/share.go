package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

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
	model := ""
	if p.embedder != nil {
		model = p.embedder.Model()
	}
	rows, known, err := r.Changes(ctx, base, model)
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
