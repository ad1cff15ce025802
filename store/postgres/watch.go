package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.Watcher = (*DB)(nil)

// A watcher follows a catalog on a connection of its own. It learns of changes at once where
// NOTIFY arrives, and asks in any case: some poolers and replicas pass on no NOTIFY and say
// nothing of it, and a connection may be dead without any sign.
type watcher struct {
	db      *DB
	changed func(store.State)
	lost    func(error)

	ask         time.Duration // between two questions
	first, most time.Duration // pause before connecting again
	limit       time.Duration // for the answer to one question

	said  string // the last thing that changed or lost was called for
	alive bool   // the present connection has answered
}

// watchedAt is what a watcher compares.
type watchedAt struct {
	store.State
	tokens int64
}

// Watch implements store.Watcher.
func (db *DB) Watch(ctx context.Context, changed func(store.State), lost func(error)) error {
	w := &watcher{db: db, changed: changed, lost: lost}
	w.ask, w.limit = 800*time.Millisecond, 10*time.Second
	w.first, w.most = 100*time.Millisecond, 5*time.Second
	return w.watch(ctx)
}

// watch connects again whenever a connection is lost. Only what the next connection cannot
// make good is a loss.
func (w *watcher) watch(ctx context.Context) error {
	pause := w.first
	for {
		w.alive = false
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.alive {
			pause = w.first
		} else {
			w.say("lost: "+err.Error(), func() { w.lost(err) })
		}
		select {
		case <-time.After(jitter(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, w.most)
	}
}

// jitter returns a duration near d, so that many nodes do not ask at the same time.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// say calls f unless that was the last thing said.
func (w *watcher) say(what string, f func()) {
	if what != w.said {
		w.said = what
		f()
	}
}

// follow follows the catalog until the connection is lost.
func (w *watcher) follow(ctx context.Context) error {
	conn, catalog, err := w.connect(ctx)
	if err != nil {
		return w.db.note(ctx, err)
	}
	defer w.close(ctx, conn)
	for {
		if err := w.question(ctx, conn, catalog); err != nil {
			return w.db.note(ctx, err)
		}
		if err := w.wait(ctx, conn, catalog); err != nil {
			return w.db.note(ctx, err)
		}
	}
}

func (w *watcher) close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	conn.Close(ctx)
}

func (w *watcher) connect(ctx context.Context) (*pgx.Conn, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, w.db.conf.ConnConfig.Copy())
	if err != nil {
		return nil, 0, err
	}
	found, err := w.db.hello(ctx, conn)
	if err == nil {
		// A replica refuses it, as other engines may. Asking works all the same.
		if _, refused := conn.Exec(ctx, statement("listen")); refused != nil && conn.IsClosed() {
			err = refused
		}
	}
	if err != nil {
		conn.Close(ctx)
		return nil, 0, err
	}
	return conn, found.catalog, nil
}

// question asks for the state, and says what is new.
func (w *watcher) question(ctx context.Context, conn *pgx.Conn, catalog int64) error {
	limited, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	now, ok, err := one(collect(limited, conn, "watch", with(nil, catalog), func(row pgx.Rows) (s watchedAt, err error) {
		err = row.Scan(&s.Catalog, &s.Generation.Number, &s.Generation.Token, &s.Found, &s.tokens)
		return s, err
	}))
	if err != nil {
		return err
	}
	if !ok {
		return goneError()
	}
	w.alive = true
	w.db.noteState(now.State)
	w.say(fmt.Sprint(now), func() { w.changed(now.State) })
	return nil
}

// wait returns when the catalog may have changed.
func (w *watcher) wait(ctx context.Context, conn *pgx.Conn, catalog int64) error {
	limited, cancel := context.WithTimeout(ctx, jitter(w.ask))
	defer cancel()
	for {
		n, err := conn.WaitForNotification(limited)
		switch {
		case limited.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case n.Payload == strconv.FormatInt(catalog, 10):
			return nil
		}
		if err := w.answer(ctx, conn, catalog, n.Payload); err != nil {
			return err
		}
	}
}
