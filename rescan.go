package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
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
	if c.walked != nil && found == nil {
		if reports, ok, err := c.resync(ctx, s); ok || err != nil {
			return reports, err
		}
	}
	return c.walk(ctx, s, found)
}

// walk is sync by walking all sources.
func (c *Catalog) walk(ctx context.Context, s *state, found func()) ([]Report, error) {
	c.walked = nil
	w := &walked{state: s}
	var reports []Report
	complete := true
	for i, at := range c.indexSources() {
		var problems []Problem
		refs := c.cfg.Sources[i].Skills(ctx, func(t source.Trace) { w.folders = append(w.folders, seen{i, t}) })
		report, err := s.index.Sync(ctx, at, noted(counted(refs, found), &problems))
		reports = append(reports, report)
		if err != nil {
			return reports, err
		}
		complete = complete && report.Complete
		w.reports = append(w.reports, Report{Source: report.Source, Found: report.Found, Unchanged: report.Found, Complete: true, Problems: problems})
	}
	err := s.index.Retain(ctx, c.Labels())
	if err == nil {
		err = c.finish(ctx, s)
	}
	if err == nil && complete {
		err = c.keep(ctx, w)
	}
	return reports, err
}

// finish embeds and publishes what a rescan has changed.
func (c *Catalog) finish(ctx context.Context, s *state) error {
	if c.fast {
		if err := s.index.Embed(ctx, nil); err != nil {
			return err
		}
	}
	return c.publish(ctx, s)
}

// walked is what the last complete rescan saw. The next one needs no walk to see
// that nothing has changed since, or that some skills have.
type walked struct {
	state      *state
	generation store.Generation // of the catalog afterwards
	folders    []seen           // see order
	reports    []Report         // of a rescan that finds nothing changed
	unwritten  bool             // the file of what was seen is older
}

// generation returns the present generation of the catalog.
func (s *state) generation(ctx context.Context) (store.Generation, error) {
	now, err := s.store.State(ctx)
	return now.Generation, err
}

// keep remembers what a walk saw, for this process and for others.
func (c *Catalog) keep(ctx context.Context, w *walked) (err error) {
	order(w.folders)
	if w.generation, err = w.state.generation(ctx); err == nil {
		c.walked = w
		c.writeSeen(w.folders)
	}
	return err
}

const (
	// manyChanged is the number of changed skills from which a walk is as good.
	manyChanged = 100
	// firstLook is how many folders are looked at before what has changed among
	// them is read: what somebody works on has changed before.
	firstLook = 512
)

// resync is sync without a walk: it looks at the folders that the last one saw,
// and reads the skills that have changed. It is not ok when that does not do:
// when skills came or went, or another process has changed the catalog.
func (c *Catalog) resync(ctx context.Context, s *state) (reports []Report, ok bool, err error) {
	w, start := c.walked, time.Now()
	generation, err := s.generation(ctx)
	if err != nil || w.state != s || w.generation != generation {
		return nil, false, err
	}
	reports = slices.Clone(w.reports)
	any := false
	for from, to := 0, min(firstLook, len(w.folders)); from < to; from, to = to, len(w.folders) {
		changed, looked := c.changed(ctx, w.folders[from:to], manyChanged)
		if looked < to-from {
			return nil, false, nil // there are many, or ctx has ended: the walk tells
		}
		if len(changed) == 0 {
			continue
		}
		any = true
		if ok, err := c.refresh(ctx, w, w.folders[from:to], changed, reports); !ok || err != nil {
			return reports, ok, err
		}
	}
	for i := range reports {
		reports[i].Took = time.Since(start)
	}
	if !any && w.unwritten {
		// What has just changed is looked at again soon, and then this is written
		// once.
		w.unwritten = false
		order(w.folders)
		c.writeSeen(w.folders)
	}
	return reports, true, nil
}

// refresh reads the skills in those of the folders that have changed.
func (c *Catalog) refresh(ctx context.Context, w *walked, folders []seen, changed []int, reports []Report) (ok bool, err error) {
	refs := make([][]*skill.Ref, len(c.cfg.Sources))
	traces := make([]source.Trace, len(changed))
	for n, i := range changed {
		f := &folders[i]
		if !f.Skill {
			return false, nil
		}
		ref, trace, found := c.cfg.Sources[f.source].Skill(f.Dir)
		if !found {
			return false, nil
		}
		refs[f.source], traces[n] = append(refs[f.source], ref), trace
	}
	c.walked = nil // until all is done
	complete := true
	for i, at := range c.indexSources() {
		if len(refs[i]) == 0 {
			continue
		}
		part, err := w.state.index.Refresh(ctx, at, refs[i])
		r := &reports[i]
		r.Unchanged += part.Unchanged - len(refs[i])
		r.Added, r.Changed, r.Refused = r.Added+part.Added, r.Changed+part.Changed, r.Refused+part.Refused
		r.Problems = append(slices.Clone(r.Problems), part.Problems...)
		r.Complete = r.Complete && part.Complete
		complete = complete && part.Complete
		if err != nil {
			return true, err
		}
	}
	if err := c.finish(ctx, w.state); err != nil || !complete {
		return true, err
	}
	for n, i := range changed {
		folders[i].Trace = traces[n]
	}
	if w.generation, err = w.state.generation(ctx); err == nil {
		c.walked, w.unwritten = w, true
	}
	return true, err
}

// noted collects the problems of a walk.
func noted(refs iter.Seq2[*skill.Ref, error], problems *[]Problem) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			var own interface{ Problem() Problem }
			if errors.As(err, &own) {
				*problems = append(*problems, own.Problem())
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// indexSources describes the sources to the index.
func (c *Catalog) indexSources() []index.Source {
	list := make([]index.Source, len(c.cfg.Sources))
	for i, src := range c.cfg.Sources {
		info := src.Info()
		list[i] = index.Source{Label: info.Label, Root: info.Root, Priority: info.Priority}
	}
	return list
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

// counted calls found for every skill that passes.
func counted(refs iter.Seq2[*skill.Ref, error], found func()) iter.Seq2[*skill.Ref, error] {
	if found == nil {
		return refs
	}
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range refs {
			if err == nil {
				found()
			}
			if !yield(ref, err) {
				return
			}
		}
	}
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
	indexed := c.state.Load().index.Published(c.indexSources())
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
