package repertoire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// startShared begins to follow Config.Store.
func (c *Catalog) startShared(ctx context.Context) error {
	has := c.node.answers()
	if has {
		set, err := c.node.copy.Current(ctx)
		if err != nil {
			return err
		}
		c.node.begin(set)
	}
	if has || c.cfg.Schedule == Never {
		c.setReady()
	}
	if c.cfg.Schedule == Never {
		return nil
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	asked := make(chan struct{})
	c.background.Go(c.watchStore)
	c.background.Go(func() { c.followStore(sync.OnceFunc(func() { close(asked); c.setReady() })) })
	c.background.Go(c.tidyCopy)
	if c.cfg.Background {
		return nil
	}
	select {
	case <-asked:
	case <-ctx.Done():
		return ctx.Err()
	}
	if now := c.node.shared(); now.State == Starting {
		return withoutCopy(now.Err)
	}
	return nil
}

// withoutCopy says that there is no copy that could answer in the place of the store.
func withoutCopy(err error) error {
	if err == nil || errors.Is(err, index.ErrNotPulled) {
		return err
	}
	return fmt.Errorf("%w: %w", index.ErrNotPulled, err)
}

// watchStore notes when the connection to the store is lost, and when it is back.
func (c *Catalog) watchStore() {
	heard := func(store.State) {
		c.node.hear()
		if c.cfg.Heard != nil {
			c.cfg.Heard()
		}
	}
	lost := func(err error) {
		c.node.lose(unreachable(err))
		signal(c.node.due) // somebody may wait for the first try
	}
	if err := c.node.Watch(c.ctx, heard, lost); c.ctx.Err() == nil {
		lost(fmt.Errorf("nobody watches the shared catalog any more: %w", err))
	}
}

// A pull may fail although the store can be reached. These are the pauses before the next.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 10 * time.Second
)

// followStore pulls whenever there may be something to pull. It calls asked after each try.
func (c *Catalog) followStore(asked func()) {
	var pause time.Duration         // before the next try; 0 means that nothing is to be tried again
	told := Shared{State: Starting} // what was logged last
	for first := true; ; first = false {
		var again <-chan time.Time
		if pause > 0 {
			again = time.After(pause/2 + rand.N(pause))
		}
		select {
		case <-c.ctx.Done():
			return
		case <-c.node.due:
		case <-again:
		}
		changed, err := c.pull(c.ctx)
		if c.ctx.Err() != nil {
			return
		}
		asked()
		told = c.logShared(told)
		switch {
		case err == nil:
			pause = 0
			signal(c.node.tidy)
		case c.node.isLost(): // the watcher tries
			pause = 0
		default:
			pause = min(max(2*pause, leastPause), mostPause)
		}
		if changed && c.cfg.Changed != nil && (!first || c.cfg.Background) {
			c.cfg.Changed()
		}
	}
}

// logShared logs that the store was lost or found since the state that was logged before, and
// returns the state that is logged now.
func (c *Catalog) logShared(before Shared) Shared {
	now := c.node.shared()
	switch {
	case now.Err != nil && (before.Err == nil || before.Err.Error() != now.Err.Error()):
		if now.State == Starting {
			c.log.Warn("there are no skills to answer with yet", "error", now.Err)
		} else {
			c.log.Warn("answers may be old", "state", now.State, "heard", now.Heard, "error", now.Err)
		}
	case now.State == Current && before.Err != nil:
		c.log.Warn("answers are as the shared catalog is again", "before", before.State)
	case now.State == Current && before.State != Current:
		c.log.Info("answers are as the shared catalog is", "before", before.State)
	}
	return now
}

// tidyCopy takes over published bases and calibrates, apart from followStore: neither may
// hold up a change.
func (c *Catalog) tidyCopy() {
	warned := ""
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.node.tidy:
		}
		_, err := c.node.copy.Rebase(c.ctx)
		err = errors.Join(err, c.Calibrate(c.ctx))
		if c.ctx.Err() != nil {
			return
		}
		if text := fmt.Sprint(err); err != nil && text != warned && !c.node.isLost() {
			c.log.Warn("tidying the copy of the shared catalog", "error", err)
			warned = text
		}
	}
}

// freshenShared is Freshen for a catalog with Config.Store: it pulls, for a time of at most
// limit if there is a copy that can answer.
func (c *Catalog) freshenShared(ctx context.Context, limit time.Duration) (f Freshness, err error) {
	if !c.node.answers() {
		if _, err := c.pull(ctx); err != nil {
			return f, withoutCopy(err)
		}
		f.Current = true
		return f, nil
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = c.pull(bounded)
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if err != nil {
		f.Stale = unreachable(err)
	}
	if errors.Is(f.Stale, context.DeadlineExceeded) {
		f.Stale = fmt.Errorf("%w: it did not answer within %v", store.ErrUnreachable, limit)
	}
	f.Current = err == nil
	return f, nil
}

// sharedSources returns the sources of the copy; none if there is no copy yet.
func (s *state) sharedSources() []source.Source {
	set, err := s.mirror.Copy()
	if err != nil {
		return nil
	}
	var list []source.Source
	for _, kept := range set.Sources {
		if src, err := s.reader.open(source.Info{Label: kept.Label, Priority: kept.Priority}, nil); err == nil {
			list = append(list, src)
		}
	}
	return list
}
