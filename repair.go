package repertoire

import (
	"context"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/store"
)

// repaired runs f. When f says that the file is damaged, or is no longer the
// catalog, repaired opens the catalog again and runs f once more.
func repaired[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (T, error) {
	s := c.state.Load()
	v, err := f(s)
	if !s.isLost(err) {
		return v, err
	}
	if err := c.repair(ctx, s); err != nil {
		return v, err
	}
	return f(c.state.Load())
}

// repair opens a catalog again, unless somebody else just did.
func (c *Catalog) repair(ctx context.Context, lost *state) error {
	c.rescan.Lock()
	defer c.rescan.Unlock()
	if c.state.Load() != lost {
		return nil
	}
	_, err := c.reopen(ctx, nil, (*index.Scanner).Rescan)
	if errors.Is(err, store.ErrReadOnly) {
		return nil // it answers from what is there
	}
	return err
}

// reopen opens the file that is at the path now, and brings it in step. The caller holds
// the lock. When reopen fails, the next call tries again.
func (c *Catalog) reopen(ctx context.Context, found func(), f scan) ([]Report, error) {
	reports, err := c.reopenOnce(ctx, found, f)
	if c.state.Load().isLost(err) { // what took the place of the file is damaged too
		return c.reopenOnce(ctx, found, f)
	}
	return reports, err
}

// reopenOnce is reopen for a file that is not damaged, or that the store knows to be: then
// it moves the file aside and makes a new one.
func (c *Catalog) reopenOnce(ctx context.Context, found func(), f scan) ([]Report, error) {
	if c.closed {
		return nil, ErrClosed
	}
	lost := c.state.Load()
	if !lost.replaced.Swap(true) {
		if err := lost.close(); err != nil {
			c.log.Warn("closing a catalog that is damaged or was replaced", "error", err)
		}
	}
	c.log.Info("opening the catalog again, because its file is damaged or was replaced")
	// A search that is in a hurry must not leave the catalog without a file.
	s, err := c.open(context.WithoutCancel(ctx), lost.path, lost.sources)
	if err != nil {
		return nil, fmt.Errorf("opening the catalog again: %w", err)
	}
	reports, err := c.sync(ctx, s, found, f)
	c.state.Store(s) // not before: nobody should find it empty
	return reports, err
}
