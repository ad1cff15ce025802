package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestConnects: Open asks nobody; the first call connects.
func TestConnects(t *testing.T) {
	proxy, address := pgtest.NewProxy(t, pgtest.URL(t))
	proxy.Refuse(true)
	db := open(t, address, nil)
	if db.Look() != "" || db.ReadOnly() {
		t.Errorf("before the first call: look %q, read-only: %v", db.Look(), db.ReadOnly())
	}
	if _, err := db.State(t.Context()); err == nil || !strings.Contains(err.Error(), "postgres://postgres@127.0.0.1") {
		t.Errorf("without a server: %v", err)
	}
	proxy.Refuse(false)
	if err := db.Migrate(t.Context()); err != nil {
		t.Errorf("with a server: %v", err)
	}
}

// TestReconnects: a lost connection costs a reader nothing, and a writer nothing before its
// function has begun.
func TestReconnects(t *testing.T) {
	proxy, address := pgtest.NewProxy(t, pgtest.URL(t))
	db := migrated(t, address, nil)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	storetest.State(t, db)
	proxy.Cut()
	before := storetest.State(t, db)
	proxy.Cut()
	err := db.View(t.Context(), func(r store.Reader) error {
		storetest.State(t, r)
		proxy.Cut()
		_, err := r.State(t.Context())
		if err == nil {
			t.Error("a view goes on with another connection")
		}
		return err
	})
	if err == nil {
		t.Error("a view whose connection was lost")
	}
	storetest.State(t, db)
	proxy.Cut()
	calls := 0
	err = db.Update(t.Context(), func(tx store.Tx) error {
		calls++
		proxy.Cut()
		_, err := tx.PutSource(store.Source{Label: "b"})
		return err
	})
	if err == nil || calls != 1 {
		t.Errorf("an update whose connection was lost: %v, %d calls", err, calls)
	}
	if after := storetest.State(t, db); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	storetest.Put(t, db, store.Source{Label: "b"})
}

// TestDeadlines: no call outlasts its context, whatever the network does.
func TestDeadlines(t *testing.T) {
	direct := pgtest.URL(t)
	proxy, address := pgtest.NewProxy(t, direct)
	db := migrated(t, address, nil)
	storetest.State(t, db)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	proxy.Freeze(true)
	_, err1 := db.State(short())
	err2 := db.View(short(), func(store.Reader) error { return nil })
	err3 := db.Update(short(), func(store.Tx) error { return nil })
	for i, err := range []error{err1, err2, err3} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("call %d on a frozen network: %v", i+1, err)
		}
	}
	proxy.Freeze(false)
	storetest.State(t, db)

	// A writer who waits for another process.
	other := open(t, direct, nil)
	storetest.Update(t, other, func(store.Tx) error {
		err := db.Update(short(), func(store.Tx) error { t.Error("two updates run at once"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an update that waits for another one: %v", err)
		}
		return nil
	})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.State(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := db.Update(t.Context(), func(store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("update after Close: %v", err)
	}
}

// TestManyReaders: readers that are more than the connections wait for each other, and not
// for a writer.
func TestManyReaders(t *testing.T) {
	db := migrated(t, pgtest.URL(t), nil)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	err := db.Join(t.Context(), func(in store.Store) error {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { storetest.State(t, db) })
			wg.Go(func() { storetest.Offered(t, in) }) // one connection for all of them
			wg.Go(func() { storetest.Put(t, in, store.Source{Label: fmt.Sprint(i)}) })
		}
		wg.Wait()
		return nil
	})
	sources, err2 := db.Sources(t.Context())
	if err != nil || err2 != nil || len(sources) != 21 {
		t.Errorf("%d sources; %v, %v", len(sources), err, err2)
	}
}

// TestSettings: a store may be named in each way that libpq has, and no error shows its
// password.
func TestSettings(t *testing.T) {
	address := pgtest.URL(t)
	u, err := url.Parse(address)
	must.Do(t, err)
	password, _ := u.User.Password()
	database := strings.TrimPrefix(u.Path, "/")
	home := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(home, name)
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	t.Setenv("PGSERVICEFILE", write("services", fmt.Sprintf("[skills]\nhost=%s\nport=%s\nuser=postgres\ndbname=%s\nsslmode=disable\n", u.Hostname(), u.Port(), database)))
	bare := "postgres://postgres@" + u.Host + u.Path
	for _, tt := range []struct{ name, url, env, value string }{
		{"keywords", fmt.Sprintf("host=%s port=%s user=postgres dbname=%s password=%s", u.Hostname(), u.Port(), database, password), "", ""},
		{"environment", bare, "PGPASSWORD", password},
		{"password file", bare, "PGPASSFILE", write("pass", u.Hostname()+":"+u.Port()+":*:postgres:"+password+"\n")},
		{"service", "service=skills", "PGPASSWORD", password},
		{"wrong password", bare, "PGPASSWORD", "hunter2"},
		{"wrong password in the URL", "postgres://postgres:hunter2@" + u.Host + u.Path, "", ""},
		{"no TLS here", address + "&sslmode=require", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv(tt.env, tt.value)
			}
			db, err := postgres.Open(tt.url, nil)
			if err == nil {
				defer db.Close()
				err = db.Migrate(t.Context())
			}
			wrong := strings.HasPrefix(tt.name, "wrong") || strings.HasPrefix(tt.name, "no")
			if (err != nil) != wrong {
				t.Error(err)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), password)) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// TestCannotConnect: an error says each reason once, in one line, and what to do.
func TestCannotConnect(t *testing.T) {
	address := pgtest.URL(t)
	right, err := url.Parse(address)
	must.Do(t, err)
	t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
	changed := func(f func(u *url.URL)) string {
		u := *right
		f(&u)
		return u.String()
	}
	for _, tt := range []struct{ name, url, reason, remedy string }{
		{"no password", changed(func(u *url.URL) { u.User = url.User("postgres") }), "empty password", "give the password of postgres"},
		{"a wrong password", changed(func(u *url.URL) { u.User = url.UserPassword("postgres", "opensesame") }), "password authentication failed", "correct the user or the password"},
		{"a wrong database", changed(func(u *url.URL) { u.Path = "/nowhere" }), `"nowhere" does not exist`, "or create it"},
		{"no server", changed(func(u *url.URL) { u.Host = "127.0.0.1:1" }), "connection refused", "whether the server runs there"},
		{"no TLS", changed(func(u *url.URL) { u.RawQuery = "sslmode=require" }), "refused TLS", "see sslmode"},
	} {
		for _, mode := range []string{"sslmode=disable", "sslmode=prefer"} {
			_, err := open(t, strings.Replace(tt.url, "sslmode=disable", mode, 1), nil).State(t.Context())
			if err == nil || strings.Count(err.Error(), tt.reason) != 1 || strings.ContainsAny(err.Error(), "\n`") ||
				!strings.Contains(err.Error(), tt.remedy) || strings.Contains(err.Error(), "opensesame") {
				t.Errorf("%s with %s: %v", tt.name, mode, err)
			}
		}
	}
}
