package repertoire

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/source"
)

// follow replaces the sources of the catalog by those that exist now. If they belong to
// another file, the old one answers until the new one is complete.
func (c *Catalog) follow(ctx context.Context) error {
	if c.cfg.Discover == nil {
		return nil
	}
	sources, err := c.cfg.Discover()
	if err == nil {
		_, err = newReader(sources) // checks them
	}
	if err != nil {
		return fmt.Errorf("looking for folders with skills: %w", err)
	}
	c.rescan.Lock()
	defer c.rescan.Unlock()
	old := c.state.Load()
	same := func(a, b source.Source) bool { return a.Info() == b.Info() }
	if c.closed || slices.EqualFunc(sources, old.sources, same) {
		return nil
	}
	path, err := c.file(sources)
	if err != nil {
		return err
	}
	if path == old.path {
		s, err := old.with(sources)
		if err == nil {
			c.state.Store(s) // the next rescan brings it in step
		}
		return err
	}
	s, err := c.open(ctx, path, sources)
	if err == nil {
		old.search.SetSources(s.labels()) // what it lacks is being read
		if _, err = c.sync(ctx, s, nil, (*index.Scanner).Rescan); err != nil {
			err = errors.Join(err, s.close())
		}
	}
	if err != nil {
		return fmt.Errorf("opening the catalog of the folders with skills that there are now: %w", err)
	}
	c.state.Store(s)
	old.replaced.Store(true) // who still asks it asks the new one
	return old.close()
}
