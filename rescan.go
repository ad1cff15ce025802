package repertoire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// Rescan brings the catalog in step with its sources and returns what it did
// with each. A source or a skill that cannot be read is a problem in the
// report of its source, never an error. When ctx ends first, what was done is
// kept, the reports say what is incomplete, and the error is ctx's error. Where the
// catalog cannot be written the error wraps store.ErrReadOnly; it answers from what is
// there.
// A catalog with Config.Store pulls the state of the store instead; there are no reports.
// With the built-in embedder every text has its vector afterwards; another one
// waits for Embed.
//
// found, if not nil, is called for each SKILL.md that the walk has come to.
func (c *Catalog) Rescan(ctx context.Context, found func()) ([]Report, error) {
	return c.rescanWith(ctx, found, (*index.Scanner).Rescan)
}

// RescanAll is Rescan, but it reads every skill again and replaces what is indexed of it,
// whether or not it has changed. Meanwhile, and if it is interrupted, nobody finds fewer
// skills than before. Vectors of a server are kept for texts that are the same.
func (c *Catalog) RescanAll(ctx context.Context, found func()) ([]Report, error) {
	return c.rescanWith(ctx, found, (*index.Scanner).RescanAll)
}

// A scan is a method of index.Scanner that brings the catalog in step.
type scan func(s *index.Scanner, ctx context.Context, found func(), finish func(context.Context) error) ([]Report, error)

func (c *Catalog) rescanWith(ctx context.Context, found func(), f scan) ([]Report, error) {
	if c.node != nil {
		_, err := c.pull(ctx)
		return nil, err
	}
	c.scans.begin()
	defer c.scans.end()
	c.rescan.Lock()
	defer c.rescan.Unlock()
	s := c.state.Load()
	reports, err := c.sync(ctx, s, found, f)
	if s.isLost(err) {
		reports, err = c.reopen(ctx, found, f)
	}
	for i := range reports {
		r := &reports[i]
		r.Problems = slices.Clone(r.Problems) // the scanner keeps its own for the next rescan
		for j, p := range r.Problems {
			r.Problems[j] = s.reader.locate(r.Source, p)
		}
	}
	return reports, err
}

// sync brings one file in step; the caller holds the lock.
func (c *Catalog) sync(ctx context.Context, s *state, found func(), f scan) ([]Report, error) {
	if err := s.store.Ready(ctx); err != nil {
		return nil, err
	}
	if s.store.ReadOnly() {
		err := s.file.ReadOnlyError()
		if s.file.CanWrite(ctx) {
			err = fmt.Errorf("it can be written again: %w: %w", store.ErrStale, err)
		}
		return nil, err
	}
	return f(s.scanner, ctx, found, func(ctx context.Context) error {
		if c.fast {
			if err := s.index.Embed(ctx, nil); err != nil {
				return err
			}
		}
		return c.publish(ctx, s)
	})
}

// publish compiles the ranking. That it could not be is no reason to fail: the
// database ranks then, unless a person must put something away first.
func (c *Catalog) publish(ctx context.Context, s *state) error {
	err := s.index.Publish(ctx, c.cron != nil)
	if err == nil || ctx.Err() != nil || s.isLost(err) || errors.Is(err, regular.ErrSpecial) {
		return err
	}
	c.log.Warn("ranking from the database", "error", err)
	return nil
}

// Calibrate makes Config.Disturb hold in this catalog: it ranks some hundred prompts that
// need no skill, and keeps which threshold only a share of them exceeds, unless that is
// known of the catalog as it is. An embedder on a server embeds these prompts once. A
// catalog with a schedule calls it after each rescan. Until it has, the threshold of a
// typical catalog holds.
func (c *Catalog) Calibrate(ctx context.Context) error {
	if c.node != nil {
		return c.node.copy.Calibrate(ctx, c.state.Load().search.Calibrator(c.cfg.Agents))
	}
	_, err := repaired(ctx, c, func(s *state) (struct{}, error) {
		c.rescan.Lock()
		defer c.rescan.Unlock()
		return struct{}{}, s.index.Calibrate(ctx, s.search.Calibrator(c.cfg.Agents))
	})
	return err
}

// Indexed reports whether all sources have been searched completely at least once or are
// away, and whether nearly all texts have a vector where a rescan embeds. Until then what
// is not found may still be there.
func (c *Catalog) Indexed(ctx context.Context) (bool, error) {
	if c.node != nil {
		return c.node.answers(), nil
	}
	indexed, err := repaired(ctx, c, func(s *state) (bool, error) {
		indexed, err := s.index.Indexed(ctx, s.labels())
		if err == nil && indexed && c.fast {
			return s.index.Embedded(ctx)
		}
		return indexed, err
	})
	if s := c.state.Load(); err != nil && ctx.Err() == nil && s.index.Published(ctx, s.scanner.Sources()) {
		return true, nil // the file cannot be opened, as on a full disk, but what is published answers
	}
	return indexed, err
}

// Usable reports whether the catalog can answer about some of its sources: whether one of
// them has been searched completely or is away, if only in the catalog of which this one is
// a copy. Until all are, answers say so, see Catalog.Unread. Usable makes no catalog that
// would be empty.
func (c *Catalog) Usable(ctx context.Context) (bool, error) {
	if c.node != nil {
		return c.Indexed(ctx)
	}
	s := c.state.Load()
	if _, err := os.Stat(s.path); err != nil && len(seeds(s.path, s.sources)) == 0 {
		return false, nil
	}
	return repaired(ctx, c, func(s *state) (bool, error) { return s.index.Usable(ctx, s.labels()) })
}

// Forget removes the skills of the source with this label, with their vectors. It is for
// a source that is away for good: the next Rescan adds the skills of any other again.
func (c *Catalog) Forget(ctx context.Context, label string) error {
	if c.node != nil {
		return fmt.Errorf("forgetting source %s: the catalog is shared, and this program only reads it: %w", label, store.ErrReadOnly)
	}
	_, err := repaired(ctx, c, func(s *state) (struct{}, error) {
		c.rescan.Lock()
		defer c.rescan.Unlock()
		return struct{}{}, s.index.Forget(ctx, label)
	})
	return err
}

// Embed gives every text of the catalog that has none a vector of the
// configured embedder; an interrupted run goes on where it stopped. progress,
// if not nil, is called with how many of all texts have one. Until nearly all have,
// ranking is by text, or by the vectors of the built-in embedder if the catalog
// still has them. A catalog that can only be read stays as it is.
func (c *Catalog) Embed(ctx context.Context, progress func(done, all int)) error {
	if c.node != nil {
		return nil // whoever writes the store embeds
	}
	_, err := repaired(ctx, c, func(s *state) (struct{}, error) {
		if err := s.store.Ready(ctx); err != nil || s.store.ReadOnly() {
			return struct{}{}, err
		}
		if err := s.index.Embed(ctx, progress); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, c.publish(ctx, s)
	})
	return err
}
