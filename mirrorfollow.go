package repertoire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

// start implements keeper: it begins to follow the store.
func (m *mirror) start(ctx context.Context) error {
	has := m.answers()
	if has {
		set, err := m.copy.Current(ctx)
		if err != nil {
			return err
		}
		m.conn.begin(set)
	}
	if has || m.cfg.Schedule == Never {
		m.setReady()
	}
	if m.cfg.Schedule == Never {
		return nil
	}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	asked := make(chan struct{})
	m.follow.Go(m.watch)
	m.follow.Go(func() { m.pullAgain(sync.OnceFunc(func() { close(asked); m.setReady() })) })
	m.follow.Go(m.tidyCopy)
	if m.cfg.Background {
		return nil
	}
	select {
	case <-asked:
	case <-ctx.Done():
		return ctx.Err()
	}
	if now := m.conn.shared(); now.State == Starting {
		return withoutCopy(now.Err)
	}
	return nil
}

// watch notes when the connection to the store is lost, and when it is back.
func (m *mirror) watch() {
	heard := func(store.State) {
		m.conn.connected()
		signal(m.due)
		if m.cfg.Heard != nil {
			m.cfg.Heard()
		}
	}
	lost := func(err error) {
		m.conn.disconnected(unreachable(err))
		signal(m.due) // somebody may wait for the first try
	}
	if err := m.engine.Watch(m.ctx, heard, lost); m.ctx.Err() == nil {
		lost(fmt.Errorf("nobody watches the shared catalog any more: %w", err))
	}
}

// A pull may fail although the store can be reached. These are the pauses before the next.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 10 * time.Second
)

// pullAgain pulls whenever there may be something to pull. It calls asked after each try.
func (m *mirror) pullAgain(asked func()) {
	var pause time.Duration           // before the next try; 0 means that nothing is to be tried again
	logged := Shared{State: Starting} // what was logged last
	for first := true; ; first = false {
		var again <-chan time.Time
		if pause > 0 {
			again = time.After(pause/2 + rand.N(pause))
		}
		select {
		case <-m.ctx.Done():
			return
		case <-m.due:
		case <-again:
		}
		changed, err := m.pull(m.ctx)
		if m.ctx.Err() != nil {
			return
		}
		asked()
		logged = m.logShared(logged)
		switch {
		case err == nil:
			pause = 0
			signal(m.tidy)
		case m.conn.isLost(): // the watcher tries
			pause = 0
		default:
			pause = min(max(2*pause, leastPause), mostPause)
		}
		if changed && m.cfg.Changed != nil && (!first || m.cfg.Background) {
			m.cfg.Changed()
		}
	}
}

// logShared logs that the store was lost or found since the state that was logged before, and
// returns the state that is logged now.
func (m *mirror) logShared(before Shared) Shared {
	now := m.conn.shared()
	switch {
	case now.Err != nil && (before.Err == nil || before.Err.Error() != now.Err.Error()):
		if now.State == Starting {
			m.log.Warn("there are no skills to answer with yet", "error", now.Err)
		} else {
			m.log.Warn("answers may be old", "state", now.State, "heard", now.Heard, "error", now.Err)
		}
	case now.State == Current && before.Err != nil:
		m.log.Warn("answers are as the shared catalog is again", "before", before.State)
	case now.State == Current && before.State != Current:
		m.log.Info("answers are as the shared catalog is", "before", before.State)
	}
	return now
}

// tidyCopy takes over published bases and calibrates, apart from pullAgain: neither may
// hold up a change.
func (m *mirror) tidyCopy() {
	warned := ""
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-m.tidy:
		}
		_, err := m.copy.Rebase(m.ctx)
		err = errors.Join(err, m.calibrate(m.ctx))
		if m.ctx.Err() != nil {
			return
		}
		if text := fmt.Sprint(err); err != nil && text != warned && !m.conn.isLost() {
			m.log.Warn("tidying the copy of the shared catalog", "error", err)
			warned = text
		}
	}
}
