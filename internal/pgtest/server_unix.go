//go:build unix

package pgtest

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A Server is a PostgreSQL server. Its methods are for one goroutine.
type Server struct {
	dir      string // holds the server's folder "data"
	host     string // address and port, the same after each start
	password string
	settings map[string]string
	largest  int64 // size of a file in bytes; 0 means no limit
	as       *syscall.SysProcAttr
	run      *run // nil if the server is stopped
}

// keeper starts the server and ends it by the signal that it reads. Its input ends when the
// test is over or its process is gone: then it removes the server's folder too. The server
// is its child, so that the number of its process cannot mean another one.
const keeper = `dir=$1 largest=$2; shift 2
test "$largest" -eq 0 || ulimit -f "$largest" || exit
"$@" & pid=$!
exec 2>&-
if read -r signal; then kill -s "$signal" $pid; wait $pid; exit; fi
kill -s QUIT $pid; wait $pid; rm -rf "$dir"`

// usual are settings for a server of little work. A killed server loses nothing that was
// committed, because the system keeps what was written.
var usual = []string{
	"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=60", "shared_buffers=16MB",
	"fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "max_wal_size=256MB",
	"dynamic_shared_memory_type=mmap", "jit=off", "autovacuum=off", "lc_messages=C", "logging_collector=off", "log_destination=stderr",
}

// missing says what a test with a server lacks; "" means nothing.
func missing() string {
	if _, err := binary("initdb"); err != nil {
		return err.Error()
	}
	_, err := owner()
	if err != nil {
		return err.Error()
	}
	return ""
}

// binary returns the path of a program of PostgreSQL.
func binary(name string) (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // Debian keeps them out of $PATH
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range dirs {
		if file := filepath.Join(dir, name); exec.Command(file, "--version").Run() == nil {
			return file, nil
		}
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("there is no PostgreSQL server: install it, on Debian with: apt-get install postgresql")
	}
	return file, nil
}

func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

// owner returns the attributes of the processes: PostgreSQL refuses to run as root, so it
// runs as the user postgres then.
func owner() (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the test
	if os.Geteuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres: add one, or run the tests as another user")
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, errors.Join(err1, err2)
}

func start(o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	as, err := owner()
	if err != nil {
		return nil, err
	}
	s := &Server{password: rand.Text(), settings: o.Settings, as: as}
	if err := s.initialise(o.Files); err != nil {
		os.RemoveAll(s.dir)
		return nil, fmt.Errorf("making a PostgreSQL server: %w", err)
	}
	for range 3 { // another process may take the port first
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			break
		}
		s.host = l.Addr().String()
		l.Close()
		if err = s.start(); err == nil {
			return s, nil
		}
	}
	os.RemoveAll(s.dir)
	return nil, err
}

// initialise makes the server's folder.
func (s *Server) initialise(files map[string]string) (err error) {
	if s.dir, err = os.MkdirTemp("", "pgtest"); err != nil {
		return err
	}
	// Other users could become the superuser of a server without a password.
	if err := s.write("password", s.password); err != nil {
		return err
	}
	if err := s.own(s.dir); err != nil {
		return err
	}
	initdb, err := binary("initdb")
	if err != nil {
		return err
	}
	cmd := exec.Command(initdb, "-D", filepath.Join(s.dir, "data"), "-U", "postgres", "--pwfile", filepath.Join(s.dir, "password"),
		"-A", "password", "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions")
	cmd.SysProcAttr, cmd.Dir = s.as, s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	for name, text := range files {
		if err := s.write(filepath.Join("data", name), text); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) write(name, text string) error {
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return s.own(file)
}

func (s *Server) own(file string) error {
	if c := s.as.Credential; c != nil {
		return os.Chown(file, int(c.Uid), int(c.Gid))
	}
	return nil
}

// A run is one run of a server.
type run struct {
	keeper *exec.Cmd
	orders io.WriteCloser // to the keeper
	ready  chan struct{}  // closed when the server accepts connections
	ended  chan struct{}  // closed when all processes of the server have ended

	mu  sync.Mutex
	log []string // its last lines
}

func (s *Server) start() error {
	program, err := binary("postgres")
	if err != nil {
		return err
	}
	blocks := strconv.FormatInt((s.largest+511)/512, 10)
	args := []string{"-c", keeper, "sh", s.dir, blocks, program, "-D", filepath.Join(s.dir, "data")}
	_, port, _ := net.SplitHostPort(s.host)
	for _, setting := range append(usual, "port="+port) {
		args = append(args, "-c", setting)
	}
	for name, value := range s.settings {
		args = append(args, "-c", name+"="+value)
	}
	r := &run{keeper: exec.Command("/bin/sh", args...), ready: make(chan struct{}), ended: make(chan struct{})}
	r.keeper.SysProcAttr, r.keeper.Dir = s.as, s.dir
	if r.orders, err = r.keeper.StdinPipe(); err != nil {
		return err
	}
	log, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	r.keeper.Stderr = w
	if err := r.keeper.Start(); err != nil {
		log.Close()
		return err
	}
	go r.read(log)
	select {
	case <-r.ready:
		s.run = r
		return nil
	case <-r.ended:
		r.end("QUIT")
		return fmt.Errorf("PostgreSQL did not start:\n%s", r.lines())
	}
}

// read reads the server's log until all of its processes have ended.
func (r *run) read(log *os.File) {
	defer close(r.ended)
	defer log.Close()
	lines, ready := bufio.NewReader(log), false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		r.mu.Lock()
		r.log = append(r.log[max(0, len(r.log)-99):], line)
		r.mu.Unlock()
		if !ready && strings.Contains(line, "database system is ready to accept connections") {
			ready = true
			close(r.ready)
		}
	}
}

func (r *run) lines() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "")
}

// end ends the server by a signal and waits for all of its processes.
func (r *run) end(signal string) {
	fmt.Fprintln(r.orders, signal)
	<-r.ended
	r.orders.Close()
	r.keeper.Wait()
}

func (s *Server) running() bool { return s.run != nil }

// Stop ends the server as its administrator does: it refuses new connections, ends those
// that there are, and writes everything.
func (s *Server) Stop(t testing.TB) { s.end(t, "INT") }

// Kill ends the server as a crash does.
func (s *Server) Kill(t testing.TB) { s.end(t, "KILL") }

func (s *Server) end(t testing.TB, signal string) {
	t.Helper()
	if s.run == nil {
		t.Fatal("the server is stopped already")
	}
	s.run.end(signal)
	s.run = nil
}

// Start starts a server again that was stopped or killed, at the same address.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// LimitFiles makes the server fail to write files over a size, as on a full disk, from its
// next start on. 0 means no limit.
func (s *Server) LimitFiles(size int64) { s.largest = size }

// Log returns the last lines of the server's log.
func (s *Server) Log() string { return s.run.lines() }

func (s *Server) close() {
	if s.run != nil {
		s.run.end("QUIT")
	}
	os.RemoveAll(s.dir)
}
