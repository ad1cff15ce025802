package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

// How lines wait for the table.
const (
	tableEvery = 2 * time.Second
	tableBatch = 1000            // lines that are sent at once
	tableRoom  = 4 << 20         // bytes of the lines that wait; more are lost
	tableRight = time.Minute     // after which the database may have been told to take lines
	tableLast  = 3 * time.Second // for what waits when the program ends
)

// A table is the log of all nodes of a shared catalog. Its lines wait in memory and are sent every few
// seconds, so that nobody who is served waits for the database; while it is away they wait longer.
type table struct {
	lines store.UsageLog
	log   *slog.Logger

	mu      sync.Mutex
	cancel  context.CancelFunc // ends the goroutine that sends; nil before the first line
	done    chan struct{}      // closed when it has ended
	waiting []store.UsageLine
	size    int       // bytes of the waiting lines
	lost    int       // lines
	last    time.Time // of the newest line
	refused time.Time // when the database last refused lines; zero means that it takes them
}

// add has a line wait.
func (t *table) add(now time.Time, l line) {
	data, _ := json.Marshal(l) // no error: a line has texts and numbers
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.refused.IsZero() && time.Since(t.refused) < tableRight:
		return // nobody keeps them, and the log says so
	case t.size+len(data) > tableRoom:
		if t.lost++; t.lost%1000 == 1 {
			t.log.Error("a line of the log of usage is lost: too many wait for the database", "lost so far", t.lost)
		}
		return
	}
	if now = now.Truncate(time.Microsecond); !now.After(t.last) { // or of two lines that are the same only one would be there
		now = t.last.Add(time.Microsecond)
	}
	t.last = now
	t.waiting, t.size = append(t.waiting, store.UsageLine{Time: now, Data: data}), t.size+len(data)
	if t.cancel == nil {
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.Background())
		t.done = make(chan struct{})
		go t.run(ctx)
	}
}

// run sends lines until ctx ends, and then what is left.
func (t *table) run(ctx context.Context) {
	defer close(t.done)
	every := time.NewTicker(tableEvery)
	defer every.Stop()
	away := false
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), tableLast)
			defer cancel()
			if _, err := t.send(last); err != nil && !errors.Is(err, store.ErrReadOnly) {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.log.Error("lines of the log of usage are lost", "lines", len(t.waiting), "error", err)
			}
			return
		}
		switch sent, err := t.send(ctx); {
		case err == nil && sent && away:
			away = false
			t.log.Warn("the log of usage is kept in the database again")
		case err != nil && ctx.Err() == nil && !away:
			away = true
			if errors.Is(err, store.ErrReadOnly) {
				t.log.Warn("usage is not kept in the database", "error", err)
			} else {
				t.log.Warn("the log of usage waits for the database", "error", err)
			}
		}
	}
}

// send sends all lines that wait; sent is false if there are none. What the database refuses is forgotten:
// it would refuse it again.
func (t *table) send(ctx context.Context) (sent bool, err error) {
	for ; ; sent = true {
		t.mu.Lock()
		batch := t.waiting[:min(len(t.waiting), tableBatch)]
		t.mu.Unlock()
		if len(batch) == 0 {
			return sent, nil
		}
		err := t.lines.AddUsage(ctx, batch)
		refused := errors.Is(err, store.ErrReadOnly)
		if err != nil && !refused {
			return sent, err
		}
		t.mu.Lock()
		for _, l := range batch {
			t.size -= len(l.Data)
		}
		t.waiting, t.refused = t.waiting[len(batch):], time.Time{}
		if refused {
			t.waiting, t.size, t.refused = nil, 0, time.Now()
		}
		t.mu.Unlock()
		if refused {
			return false, err
		}
	}
}

// each is Log.each.
func (t *table) each(ctx context.Context, since time.Time, f func(Event)) (damaged int, err error) {
	err = t.lines.UsageSince(ctx, since.Truncate(time.Second), func(l store.UsageLine) error {
		switch line, ok, _ := decode(l.Data); {
		case !ok:
			damaged++
		case !line.Time.Before(since):
			f(line.event())
		}
		return ctx.Err()
	})
	if err != nil {
		return damaged, fmt.Errorf("reading the log of usage: %w", err)
	}
	return damaged, nil
}

// close ends the goroutine that sends.
func (t *table) close() {
	t.mu.Lock()
	cancel, done := t.cancel, t.done
	t.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}
