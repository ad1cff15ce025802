package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// A said is what a watcher says; err is nil if it has heard.
type said struct {
	state store.State
	err   error
}

// watching starts a watcher that change has set up, and returns what it says.
func watching(t *testing.T, url string, change func(*watcher)) <-chan said {
	t.Helper()
	db, err := Open(url, &Options{ReadOnly: true})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan said, 1000)
	w := &watcher{db: db, ask: time.Hour, limit: time.Minute, first: time.Millisecond, most: 8 * time.Millisecond}
	w.changed = func(s store.State) { all <- said{state: s} }
	w.lost = func(err error) { all <- said{err: err} }
	change(w)
	ended := make(chan error)
	go func() { ended <- w.watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the watcher ended with %v", err)
		}
		db.Close()
	})
	return all
}

// next returns the next thing said that is a loss or not.
func next(t *testing.T, all <-chan said, loss bool) said {
	t.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case s := <-all:
			if (s.err != nil) == loss {
				return s
			}
		case <-limit:
			t.Fatal("the watcher is silent")
		}
	}
}

func made(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(url, nil)
	if err == nil {
		err = db.Migrate(t.Context())
	}
	must.Do(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestWatchNotified: what is written is heard without asking.
func TestWatchNotified(t *testing.T) {
	url := pgtest.URL(t)
	db := made(t, url)
	all := watching(t, url, func(*watcher) {})
	next(t, all, false)
	storetest.Put(t, db, store.Source{Label: "a"})
	if s := next(t, all, false); s.state != storetest.State(t, db) {
		t.Errorf("heard %+v", s.state)
	}
}

// TestWatchDeaf: where NOTIFY does not arrive, asking is enough.
func TestWatchDeaf(t *testing.T) {
	url := pgtest.URL(t)
	made(t, url)
	all := watching(t, url, func(w *watcher) { w.ask = 20 * time.Millisecond })
	next(t, all, false)
	pgtest.Exec(t, url, "UPDATE repertoire.catalogs SET generation = 7")
	if s := next(t, all, false); s.state.Generation.Number != 7 {
		t.Errorf("heard %+v", s.state)
	}
}

// TestWatchLost: a watcher says that the server is gone, goes on trying, and says when it
// is back, even if nothing has changed.
func TestWatchLost(t *testing.T) {
	url := pgtest.URL(t)
	db := made(t, url)
	proxy, through := pgtest.NewProxy(t, url)
	all := watching(t, through, func(*watcher) {})
	before := next(t, all, false)
	for _, change := range []bool{false, true} {
		proxy.Refuse(true)
		next(t, all, true)
		if change {
			storetest.Put(t, db, store.Source{Label: "a"})
		}
		proxy.Refuse(false)
		s := next(t, all, false)
		if s.state != storetest.State(t, db) || (s.state == before.state) == change {
			t.Errorf("heard %+v; before %+v", s.state, before.state)
		}
	}
	proxy.Cut()
	storetest.Put(t, db, store.Source{Label: "b"})
	for s := (said{}); s.state != storetest.State(t, db); {
		s = <-all
		if s.err != nil {
			t.Errorf("a connection that could be made again was a loss: %v", s.err)
		}
	}
}

// TestWatchFrozen: a connection that died without a sign is noticed, because the watcher
// asks.
func TestWatchFrozen(t *testing.T) {
	url := pgtest.URL(t)
	made(t, url)
	proxy, through := pgtest.NewProxy(t, url)
	all := watching(t, through, func(w *watcher) { w.ask, w.limit = 20*time.Millisecond, 200*time.Millisecond })
	next(t, all, false)
	proxy.Freeze(true)
	next(t, all, true)
	proxy.Freeze(false)
	next(t, all, false)
}

// TestWatchNoCatalog: a node may be started before the first push.
func TestWatchNoCatalog(t *testing.T) {
	url := pgtest.URL(t)
	all := watching(t, url, func(*watcher) {})
	next(t, all, true)
	db := made(t, url)
	if s := next(t, all, false); s.state != storetest.State(t, db) {
		t.Errorf("heard %+v", s.state)
	}
}

// TestWatchNewer: a node that is older than the schema says so, and goes on trying.
func TestWatchNewer(t *testing.T) {
	url := pgtest.URL(t)
	db := made(t, url)
	pgtest.Exec(t, url, "UPDATE repertoire.schema SET version = version + 90")
	all := watching(t, url, func(*watcher) {})
	if s := next(t, all, true); !strings.Contains(s.err.Error(), "update this program") {
		t.Errorf("a newer schema: %v", s.err)
	}
	pgtest.Exec(t, url, "UPDATE repertoire.schema SET version = version - 90")
	if s := next(t, all, false); s.state != storetest.State(t, db) {
		t.Errorf("heard %+v", s.state)
	}
}
