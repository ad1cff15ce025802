package repertoire

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// start begins the schedule.
func (c *Catalog) start(ctx context.Context) error {
	spec := cmp.Or(c.cfg.Schedule, "@every 5s")
	if spec == Never {
		c.setReady()
		return nil
	}
	schedule, err := config.ParseSchedule(spec)
	if err != nil {
		return err
	}
	if c.cfg.Background {
		c.scans.begin() // before the first question
		c.endFirst = sync.OnceFunc(c.scans.end)
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
	c.cron.Schedule(steady{schedule}, job)
	c.cron.Start()
	return nil
}

// steady is a schedule whose times hold when the clock is put back. Without it a job that
// is due at ten o'clock waits until it is ten o'clock again, perhaps for a year.
type steady struct{ cron.Schedule }

// Next returns a time with the monotonic clock reading of now: it is a duration from now.
func (s steady) Next(now time.Time) time.Time {
	next := s.Schedule.Next(now)
	if next.IsZero() {
		return next // never
	}
	return now.Add(next.Sub(now))
}

// startScanned scans, and answers from then on.
func (c *Catalog) startScanned(ctx context.Context) error {
	reports, err := c.Rescan(ctx, nil)
	if err != nil && (ctx.Err() != nil || !c.answers(ctx)) {
		return err
	}
	if err == nil && c.fast { // else the first job does, after it has embedded
		err = c.Calibrate(ctx)
	}
	c.logWarnings(ctx, reports, err)
	c.noteState(ctx, nil)
	c.fresh = c.embedder != nil && !c.fast // the first job only embeds
	c.setReady()
	return nil
}

// startBehind answers at once if the catalog, or the one of which it is a copy, was scanned
// before.
func (c *Catalog) startBehind(ctx context.Context) error {
	s := c.state.Load()
	indexed := s.index.Published(ctx, s.scanner.Sources())
	if !indexed {
		var err error
		if indexed, err = c.Usable(ctx); err != nil {
			return err
		}
	}
	if indexed {
		c.setReady()
	}
	return nil
}

// tick is one scheduled rescan; what it changed and errors are logged, the next
// one tries again. Only one runs at a time.
func (c *Catalog) tick() {
	c.fetch()
	var reports []Report
	var err, unfollowed error
	if !c.fresh {
		c.scans.begin()
		unfollowed = c.follow(c.ctx)
		reports, err = c.Rescan(c.ctx, nil)
		c.scans.end()
	}
	c.fresh = false
	c.endFirst()
	if c.ctx.Err() == nil {
		c.setReady() // waiting longer would not find more
	}
	if err == nil {
		err = c.Embed(c.ctx, nil)
	}
	if err == nil {
		err = c.Calibrate(c.ctx)
	}
	if c.ctx.Err() != nil { // Close cut it off
		return
	}
	c.logWarnings(c.ctx, reports, cmp.Or(err, unfollowed))
	if c.noteState(c.ctx, reports) && c.cfg.Changed != nil {
		c.cfg.Changed()
	}
}

// fetch calls Config.Fetch in the background, so that a slow server holds up no rescan. The
// next rescan finds what has changed. An error is logged when it is new.
func (c *Catalog) fetch() {
	if c.cfg.Fetch == nil || !c.fetching.TryLock() {
		return
	}
	c.background.Go(func() {
		defer c.fetching.Unlock()
		err := c.cfg.Fetch(c.ctx)
		if c.ctx.Err() != nil { // Close cut it off
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != c.unfetched {
			c.log.Warn("fetching roots", "error", err)
		}
		c.unfetched = text
	})
}

// noteState remembers the state of the catalog and reports whether it is another
// one than before; the first time, whether the reports say so.
func (c *Catalog) noteState(ctx context.Context, reports []Report) bool {
	now, err := c.state.Load().store.State(ctx)
	before := c.last
	if err != nil || now == before {
		return false // the next rescan returns the same error
	}
	c.last = now
	return before != (store.State{}) || slices.ContainsFunc(reports, hasChanges)
}

// logWarnings logs what a scheduled rescan did, and rules of agents that match nothing. It
// logs a warning when it is new: a folder that cannot be read or an embedder that is down
// mostly stays so for many rescans.
func (c *Catalog) logWarnings(ctx context.Context, reports []Report, err error) {
	warned := make(map[string]bool)
	warn := func(message string, args ...any) {
		line := fmt.Sprint(message, args)
		if warned[line] = true; !c.warned[line] {
			c.log.Warn(message, args...)
		}
	}
	for _, r := range reports {
		if hasChanges(r) {
			c.log.Info("skills changed", "source", r.Source, "added", r.Added, "changed", r.Changed, "removed", r.Removed, "refused", r.Refused)
		}
		if !r.Complete || r.Unreadable > 0 {
			warn("source cannot be read completely", "source", r.Source, "cause", cause(r))
		}
	}
	if err != nil {
		warn("rescan", "error", err)
	}
	for _, a := range c.cfg.Agents {
		problems, _ := c.state.Load().search.Unmatched(ctx, a) // an error stands in err too
		for _, p := range problems {
			warn("rule of an agent matches nothing", "rule", p.Message, "file", p.Path, "line", p.Line)
		}
	}
	c.warned = warned
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
