package pgtest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

func TestMain(m *testing.M) { testsize.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must.Do(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	must.Do(t, conn.QueryRow(t.Context(), "TABLE kept").Scan(&n))
	return n
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, &pgtest.Options{
		Settings: map[string]string{"work_mem": "77kB"},
		Files:    map[string]string{"pg_ident.conf": "# nobody\n"},
	})
	url := s.URL(t)
	conn := connect(t, url)
	var mem string
	if err := conn.QueryRow(t.Context(), "SHOW work_mem").Scan(&mem); err != nil || mem != "77kB" {
		t.Errorf("work_mem %q, %v", mem, err)
	}
	pgtest.Exec(t, url, "CREATE TABLE kept AS VALUES (7)")
	for _, end := range []func(testing.TB){s.Stop, s.Kill} {
		end(t)
		if err := conn.Ping(t.Context()); err == nil {
			t.Error("a connection outlived its server")
		}
		if _, err := pgx.Connect(t.Context(), url); err == nil {
			t.Error("a server that ended accepts connections")
		}
		s.Start(t)
		conn = connect(t, url)
		if n := count(t, conn); n != 7 {
			t.Errorf("a restarted server has %d", n)
		}
	}
	if !strings.Contains(s.Log(), "ready to accept connections") {
		t.Errorf("log %q", s.Log())
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	proxy, url := pgtest.NewProxy(t, direct)
	pgtest.Exec(t, direct, "CREATE TABLE kept AS VALUES (7)")
	conn := connect(t, url)
	if n := count(t, conn); n != 7 || proxy.Accepted() != 1 {
		t.Errorf("%d through %d connections", n, proxy.Accepted())
	}

	proxy.CutAfter(1000)
	var long string
	if err := conn.QueryRow(t.Context(), "VALUES (repeat('x', 1000000))").Scan(&long); err == nil {
		t.Errorf("%d bytes passed a connection that was cut", len(long))
	}

	conn = connect(t, url)
	proxy.Freeze(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error)
	go func() {
		_, err := conn.Exec(ctx, "TABLE kept")
		cancelled <- err
	}()
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("a frozen connection answered, %v", err)
	}
	proxy.Freeze(false)

	conn = connect(t, url)
	proxy.Refuse(true)
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a proxy that refuses kept a connection")
	}
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Error("a proxy that refuses accepted a connection")
	}
	proxy.Refuse(false)
	count(t, connect(t, url))
	proxy.Cut()
	if err := connect(t, url).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPassword: others on this machine must not become the superuser of a test's server.
func TestPassword(t *testing.T) {
	config, err := pgconn.ParseConfig(pgtest.URL(t))
	must.Do(t, err)
	config.Password = ""
	if conn, err := pgconn.ConnectConfig(t.Context(), config); err == nil {
		conn.Close(t.Context())
		t.Error("the server needs no password")
	}
}

// TestEnds: a server must not outlive its test process, even one that is killed.
func TestEnds(t *testing.T) {
	if os.Getenv("PGTEST_CHILD") == "1" {
		s := pgtest.Start(t, nil)
		os.Stdout.WriteString(s.URL(t) + "\n")
		io.Copy(io.Discard, os.Stdin) // until the parent kills this process
		return
	}
	testsize.Long(t)
	pgtest.URL(t) // skips without a server
	child := exec.Command(os.Args[0], "-test.run=^TestEnds$")
	child.Env = append(os.Environ(), "PGTEST_CHILD=1")
	stdin, err1 := child.StdinPipe()
	stdout, err2 := child.StdoutPipe()
	must.Do(t, errors.Join(err1, err2, child.Start()))
	defer stdin.Close()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	must.Do(t, err)
	conn := connect(t, strings.TrimSpace(url))
	child.Process.Kill()
	child.Wait()
	if n, err := conn.WaitForNotification(t.Context()); err == nil {
		t.Errorf("the server sent %v", n)
	}
}
