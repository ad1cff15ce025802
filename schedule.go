package repertoire

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A schedule rescans a local catalog again and again.
type schedule struct {
	*local
	cron       *cron.Cron
	ctx        context.Context // of rescans; ended by cancel
	cancel     context.CancelFunc
	first      sync.WaitGroup  // the job that Open began
	fresh      bool            // Open has just scanned: the first job only embeds
	warned     map[string]bool // warnings of the last rescan
	background sync.WaitGroup  // the call of Config.Fetch, and the encoder
	fetching   sync.Mutex      // held during that call; guards unfetched
	unfetched  string          // the error of the last call; "" means none
	encoding   sync.Mutex      // held while the encoder embeds
	embedding  sync.Mutex      // held while a server embeds; guards unembedded
	unembedded string          // the error of the last time; "" means none

	endFirst func() // ends the first scan behind, which counts from the start
}

// start implements keeper: it begins the schedule.
func (l *local) start(ctx context.Context) error {
	if l.cfg.Schedule == Never {
		l.setReady()
		return nil
	}
	times, err := l.cfg.times()
	if err != nil {
		return err
	}
	s := &schedule{local: l, endFirst: func() {}}
	if l.cfg.Background {
		l.scans.begin() // before the first question
		s.endFirst = sync.OnceFunc(l.scans.end)
		err = s.startBehind(ctx)
	} else {
		err = s.startScanned(ctx)
	}
	if err != nil {
		return err
	}
	s.ctx, s.cancel = context.WithCancel(turns.WithClient(context.WithoutCancel(ctx), turns.Background))
	skip := cron.SkipIfStillRunning(cron.DiscardLogger)
	job := skip(cron.FuncJob(s.tick))
	s.cron = cron.New()
	l.timer = s
	if l.cfg.Background || s.fresh {
		s.first.Go(job.Run)
	} else {
		s.fetch() // as the first job does
	}
	s.cron.Schedule(steady{times}, job)
	s.cron.Start()
	return nil
}

// stop ends a rescan that is under way, and waits for it.
func (s *schedule) stop() {
	s.cancel()
	<-s.cron.Stop().Done()
	s.first.Wait()
	s.background.Wait()
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
func (s *schedule) startScanned(ctx context.Context) error {
	reports, err := s.rescan(ctx, nil, false)
	if err != nil && (ctx.Err() != nil || !s.answers(ctx)) {
		return err
	}
	if err == nil && s.by.Inline { // else the first job does, after it has embedded
		err = s.calibrate(ctx)
	}
	s.logWarnings(ctx, reports, err)
	s.noteState(ctx, nil)
	s.fresh = s.by.Contextual != nil || s.by.Embedder != nil && !s.by.Inline // the first job only embeds
	s.setReady()
	return nil
}

// startBehind answers at once if the catalog, or the one of which it is a copy, was scanned
// before.
func (s *schedule) startBehind(ctx context.Context) error {
	var err error
	answers := s.published(ctx)
	if !answers {
		answers, err = s.usable(ctx)
	}
	if answers && err == nil {
		s.setReady()
	}
	return err
}

// tick is one scheduled rescan; what it changed and errors are logged, the next
// one tries again. Only one runs at a time.
func (s *schedule) tick() {
	s.fetch()
	var reports []Report
	var err, unfollowed error
	if !s.fresh {
		s.scans.begin()
		unfollowed = s.follow(s.ctx)
		reports, err = s.rescan(s.ctx, nil, false)
		s.scans.end()
	}
	s.fresh = false
	s.endFirst()
	if s.ctx.Err() == nil {
		s.setReady() // waiting longer would not find more
	}
	behind := s.by.Embedder != nil && !s.by.Inline
	if err == nil && behind {
		s.embedBehind()
	} else if err == nil {
		if err = s.embed(s.ctx, nil); err == nil {
			err = s.calibrate(s.ctx)
		}
	}
	if s.ctx.Err() != nil { // Close cut it off
		return
	}
	changed := s.noteState(s.ctx, reports)
	s.encodeBehind()
	s.logWarnings(s.ctx, reports, cmp.Or(err, unfollowed))
	if changed && s.cfg.Changed != nil {
		s.cfg.Changed()
	}
}

// fetch calls Config.Fetch in the background, so that a slow server holds up no rescan. The
// next rescan finds what has changed. An error is logged when it is new.
func (s *schedule) fetch() {
	if s.cfg.Fetch == nil || !s.fetching.TryLock() {
		return
	}
	s.background.Go(func() {
		defer s.fetching.Unlock()
		err := s.cfg.Fetch(s.ctx)
		if s.ctx.Err() != nil { // Close cut it off
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != s.unfetched {
			s.log.Warn("fetching roots", "error", err)
		}
		s.unfetched = text
	})
}

// embedBehind lets a server embed what is new in the background, unless it still does: one that
// hangs must hold up no rescan. An error is logged when it is new.
func (s *schedule) embedBehind() {
	if !s.embedding.TryLock() {
		return
	}
	s.background.Go(func() {
		defer s.embedding.Unlock()
		err := s.embed(s.ctx, nil)
		if err == nil {
			err = s.calibrate(s.ctx)
		}
		if s.ctx.Err() != nil { // Close cut it off
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != s.unembedded {
			s.log.Warn("rescan", "error", err)
		}
		s.unembedded = text
		if s.noteState(s.ctx, nil) && s.cfg.Changed != nil {
			s.cfg.Changed()
		}
	})
}

// encodeBehind lets the encoder embed in the background, unless it still does: in a large catalog it
// takes minutes, and must hold up no rescan.
func (s *schedule) encodeBehind() {
	if s.by.Contextual == nil || !s.encoding.TryLock() {
		return
	}
	s.background.Go(func() {
		defer s.encoding.Unlock()
		err := s.encode(s.ctx, nil)
		if err == nil {
			err = s.calibrate(s.ctx)
		}
		if err != nil && s.ctx.Err() == nil { // else Close cut it off
			s.log.Warn("embedding with the encoder", "error", err)
		}
	})
}

// noteState remembers the state of the catalog and reports whether it is another
// one than before; the first time, whether the reports say so.
func (s *schedule) noteState(ctx context.Context, reports []Report) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := s.now.Load().store.State(ctx)
	before := s.told
	if err != nil || now == before {
		return false // the next rescan returns the same error
	}
	found := slices.ContainsFunc(reports, hasChanges)
	if !found && before != (store.State{}) && now != s.unsure && s.encodes() {
		s.unsure = now // the encoder may have stored vectors, and be about to say so
		return false
	}
	s.told = now
	return found || before != (store.State{})
}

// encodes reports whether the encoder embeds in the background.
func (s *schedule) encodes() bool {
	free := s.encoding.TryLock()
	if free {
		s.encoding.Unlock()
	}
	return !free
}

// logWarnings logs what a scheduled rescan did, and rules of agents that match nothing. It
// logs a warning when it is new: a folder that cannot be read or an embedder that is down
// mostly stays so for many rescans.
func (s *schedule) logWarnings(ctx context.Context, reports []Report, err error) {
	warned := make(map[string]bool)
	warn := func(message string, args ...any) {
		line := fmt.Sprint(message, args)
		if warned[line] = true; !s.warned[line] {
			s.log.Warn(message, args...)
		}
	}
	for _, r := range reports {
		if hasChanges(r) {
			s.log.Info("skills changed", "source", r.Source, "added", r.Added, "changed", r.Changed, "removed", r.Removed, "refused", r.Refused)
		}
		if !r.Complete || r.Unreadable > 0 {
			warn("source cannot be read completely", "source", r.Source, "cause", cause(r))
		}
	}
	if err != nil {
		warn("rescan", "error", err)
	}
	for _, a := range s.rules.Load().agents {
		problems, _ := s.now.Load().search.Unmatched(ctx, a) // an error stands in err too
		for _, p := range problems {
			warn("rule of an agent matches nothing", "rule", p.Message, "file", p.Path, "line", p.Line)
		}
	}
	s.warned = warned
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
