package repertoire

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// Rescan brings the catalog in step with its sources and returns what it did
// with each. A source or a skill that cannot be read is a problem in the
// report of its source, never an error. When ctx ends first, what was done is
// kept, the reports say what is incomplete, and the error is that of ctx.
// With the built-in embedder every text has its vector afterwards; another one
// waits for Embed.
//
// found, if not nil, is called for each SKILL.md that the walk has come to.
func (c *Catalog) Rescan(ctx context.Context, found func()) ([]Report, error) {
	c.rescan.Lock()
	defer c.rescan.Unlock()
	s := c.state.Load()
	reports, err := c.sync(ctx, s, found)
	if s.isDamaged(err) {
		return c.rebuild(ctx, found)
	}
	return reports, err
}

// sync brings one file in step; the caller holds the lock.
func (c *Catalog) sync(ctx context.Context, s *state, found func()) ([]Report, error) {
	if err := s.store.Ready(ctx); err != nil {
		return nil, err
	}
	if s.store.ReadOnly() {
		return nil, nil // it answers from what is there
	}
	return s.scanner.Rescan(ctx, found, func(ctx context.Context) error {
		if c.fast {
			if err := s.index.Embed(ctx, nil); err != nil {
				return err
			}
		}
		return c.publish(ctx, s)
	})
}

// publish compiles the ranking. That it could not be is no reason to fail: the
// database ranks then.
func (c *Catalog) publish(ctx context.Context, s *state) error {
	err := s.index.Publish(ctx, c.cron != nil)
	if err == nil || ctx.Err() != nil || s.isDamaged(err) {
		return err
	}
	c.log.Warn("ranking from the database", "error", err)
	return nil
}

// Indexed reports whether all sources have been read completely at least once,
// and whether nearly all texts have a vector where a rescan embeds. Until then
// what is not found may still be there.
func (c *Catalog) Indexed(ctx context.Context) (bool, error) {
	return repaired(ctx, c, func(s *state) (bool, error) {
		indexed, err := s.index.Indexed(ctx, c.Labels())
		if err == nil && indexed && c.fast {
			return s.index.Embedded(ctx)
		}
		return indexed, err
	})
}

// Forget empties the catalog, so that the next Rescan reads every skill again.
func (c *Catalog) Forget(ctx context.Context) error {
	_, err := repaired(ctx, c, func(s *state) (struct{}, error) {
		c.rescan.Lock()
		defer c.rescan.Unlock()
		return struct{}{}, s.index.Retain(ctx, nil)
	})
	return err
}

// Embed gives every text of the catalog that has none a vector of the
// configured embedder; an interrupted run goes on where it stopped. progress,
// if not nil, is told how many of all texts have one. Until nearly all have,
// ranking is by text, or by the vectors of the built-in embedder if the catalog
// still has them. A catalog that can only be read stays as it is.
func (c *Catalog) Embed(ctx context.Context, progress func(done, all int)) error {
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

// start begins the schedule.
func (c *Catalog) start(ctx context.Context) error {
	spec := cmp.Or(c.cfg.Schedule, "@every 5s")
	if spec == Never {
		close(c.ready)
		return nil
	}
	schedule, err := parseSchedule(spec)
	if err != nil {
		return err
	}
	if c.cfg.Background {
		err = c.startBehind(ctx)
	} else {
		err = c.startScanned(ctx)
	}
	if err != nil {
		return err
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	skip := cron.SkipIfStillRunning(cron.DiscardLogger)
	job := skip(cron.FuncJob(c.tick))
	c.cron = cron.New()
	if c.cfg.Background || c.fresh {
		c.first.Go(job.Run)
	}
	c.cron.Schedule(schedule, job)
	c.cron.Start()
	return nil
}

// startScanned scans, and answers from then on.
func (c *Catalog) startScanned(ctx context.Context) error {
	reports, err := c.Rescan(ctx, nil)
	if err != nil {
		return err
	}
	c.tell(reports, nil)
	c.moved(ctx, nil)
	c.fresh = c.embedder != nil && !c.fast // the first job only embeds
	close(c.ready)
	return nil
}

// startBehind answers at once if the catalog was scanned before.
func (c *Catalog) startBehind(ctx context.Context) error {
	s := c.state.Load()
	indexed := s.index.Published(s.scanner.Sources())
	if !indexed {
		var err error
		if indexed, err = c.Indexed(ctx); err != nil {
			return err
		}
	}
	if indexed {
		close(c.ready)
	}
	return nil
}

// tick is one scheduled rescan; what it changed and errors are logged, the next
// one tries again. Only one runs at a time.
func (c *Catalog) tick() {
	var reports []Report
	var err error
	if !c.fresh {
		reports, err = c.Rescan(c.ctx, nil)
	}
	c.fresh = false
	if c.ctx.Err() == nil {
		c.answer() // what it did not find, waiting does not help
	}
	if err == nil {
		err = c.Embed(c.ctx, nil)
	}
	if c.ctx.Err() != nil { // Close cut it off
		return
	}
	c.tell(reports, err)
	if c.moved(c.ctx, reports) && c.cfg.Changed != nil {
		c.cfg.Changed()
	}
}

// answer lets questions be answered. The caller is the only one who does.
func (c *Catalog) answer() {
	select {
	case <-c.ready:
	default:
		close(c.ready)
	}
}

// moved reports whether the catalog is another one than when it was last called;
// the first time, whether the reports say so.
func (c *Catalog) moved(ctx context.Context, reports []Report) bool {
	now, err := c.state.Load().store.State(ctx)
	before := c.last
	if err != nil || now == before {
		return false // the error is also that of the next rescan
	}
	c.last = now
	return before != (store.State{}) || slices.ContainsFunc(reports, hasChanges)
}

// tell logs what came of a scheduled rescan. What is wrong is logged once: a
// folder that cannot be read or an embedder that is down mostly stays so for
// many rescans.
func (c *Catalog) tell(reports []Report, err error) {
	told := make(map[string]bool)
	warn := func(message string, args ...any) {
		line := fmt.Sprint(message, args)
		if told[line] = true; !c.told[line] {
			c.log.Warn(message, args...)
		}
	}
	for _, r := range reports {
		if hasChanges(r) {
			c.log.Info("skills changed", "source", r.Source, "added", r.Added, "changed", r.Changed, "removed", r.Removed, "refused", r.Refused)
		}
		if !r.Complete {
			warn("source cannot be read completely", "source", r.Source, "cause", cause(r))
		}
	}
	if err != nil {
		warn("rescan", "error", err)
	}
	c.told = told
}

func hasChanges(r Report) bool { return r.Added+r.Changed+r.Removed+r.Refused > 0 }

// cause returns what may have made a report incomplete.
func cause(r Report) string {
	for _, p := range r.Problems {
		if p.Severity != skill.Note {
			return p.String()
		}
	}
	return ""
}

// parseSchedule reads a cron spec. The parser panics on some malformed time
// zones ("TZ=0"), which must not end the program.
func parseSchedule(spec string) (s cron.Schedule, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, fmt.Errorf("schedule %q is malformed", spec)
		}
	}()
	s, err = cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w (examples: \"@every 5s\", \"*/10 * * * *\")", spec, err)
	}
	return s, nil
}
