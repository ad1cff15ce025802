// Package pgtest starts PostgreSQL servers for tests, in temporary folders and on
// loopback, and stands between them and their clients.
//
// The one rule: a server ends with its test process, however that ends, and leaves nothing
// behind.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// shared is the server of this test process, started by the first test that needs it. A
// server costs a second, so all tests share one; the databases keep them apart.
var shared = sync.OnceValues(func() (*Server, error) { return start(nil) })

// URL returns the address of a new, empty database, with the password of a superuser. The
// database goes when the test ends. URL skips the test if there is no PostgreSQL.
func URL(t testing.TB) string {
	t.Helper()
	requireServer(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.URL(t)
}

// Options are the options of Start. nil means none.
type Options struct {
	// Settings are settings of postgresql.conf.
	Settings map[string]string
	// Files are written into the server's folder, by name: pg_hba.conf, server.key, …
	Files map[string]string
}

// Start starts a server for one test, which may Stop it, Kill it and start it again. It
// skips the test if there is no PostgreSQL.
func Start(t testing.TB, o *Options) *Server {
	t.Helper()
	requireServer(t)
	s, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// URL returns the address of a new, empty database of the server, see the function URL.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	if err := s.do("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.running() {
			return // it goes with the server's folder
		}
		if err := s.do("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.address(name)
}

func (s *Server) address(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", s.password), Host: s.host, Path: "/" + database}
	u.RawQuery = "sslmode=disable"
	return u.String()
}

// Exec runs one SQL command as the superuser in the database of an address.
func Exec(t testing.TB, url, sql string) {
	t.Helper()
	if err := do(url, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (s *Server) do(sql string) error { return do(s.address("postgres"), sql) }

func do(url, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to the test's server: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

func requireServer(t testing.TB) {
	t.Helper()
	if why := missing(); why != "" {
		t.Skip(why)
	}
}
