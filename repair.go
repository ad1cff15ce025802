package repertoire

import (
	"context"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/index"
)

// repaired runs f. When f says that the file is damaged, the file is moved
// aside and rebuilt, and f runs once more.
func repaired[T any](ctx context.Context, c *Catalog, f func(*state) (T, error)) (T, error) {
	s := c.state.Load()
	v, err := f(s)
	if !s.isDamaged(err) {
		return v, err
	}
	if err := c.repair(ctx, s); err != nil {
		return v, err
	}
	return f(c.state.Load())
}

// repair rebuilds a damaged catalog, unless somebody else just did.
func (c *Catalog) repair(ctx context.Context, damaged *state) error {
	c.rescan.Lock()
	defer c.rescan.Unlock()
	if c.state.Load() != damaged {
		return nil
	}
	_, err := c.rebuild(ctx, nil)
	return err
}

// rebuild moves the damaged file aside and fills a new one; the caller holds
// the lock. When it fails, the next call tries again.
func (c *Catalog) rebuild(ctx context.Context, found func()) ([]Report, error) {
	if c.closed {
		return nil, errors.New("catalog is closed")
	}
	damaged := c.state.Load()
	damaged.replaced.Store(true)
	if err := damaged.close(); err != nil {
		c.log.Warn("closing damaged catalog", "error", err)
	}
	// A search that is in a hurry must not leave the catalog without a file.
	s, err := c.open(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("replacing damaged catalog: %w", err)
	}
	reports, err := c.sync(ctx, s, found, (*index.Scanner).Rescan)
	c.state.Store(s) // not before: nobody should find it empty
	return reports, err
}
