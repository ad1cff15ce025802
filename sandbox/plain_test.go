package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// write makes a folder of a skill. Files that begin with "#!" are executable.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		must.Do(t, os.WriteFile(name, []byte(text), mode))
	}
	return dir
}

// TestPlainRefuses: without the option nothing runs, and the error names the flag.
func TestPlainRefuses(t *testing.T) {
	_, err := NewPlain(Options{}).Execute(t.Context(), Request{Command: "true", Allowed: []string{"*"}})
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != Unavailable || !strings.Contains(e.Hint, "--allow-unconfined") {
		t.Errorf("the error is %v", err)
	}
}

// TestPlainEscapes shows what the plain executor does not stop. What succeeds here must stand in
// Result.Unprotected.
func TestPlainEscapes(t *testing.T) {
	needUnix(t)
	outside := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(outside, "canary"), []byte("chirp"), 0o600))
	dir := write(t, map[string]string{
		"read.sh":  "#!/bin/sh\ncat \"$1/canary\"\n",
		"write.sh": "#!/bin/sh\necho -n spoilt >\"$1/canary\"; echo -n spoilt >read.sh; cat \"$1/canary\" read.sh\n",
		"limit.sh": "#!/bin/sh\nulimit -t; ulimit -v; ulimit -f\n",
		"flood.sh": "#!/bin/sh\nwhile true; do echo flood; done\n",
		"net.sh":   "exec 3<>/dev/tcp/127.0.0.1/$1; cat <&3\n",
		"kill.sh":  "#!/bin/sh\nkill -SEGV $$\n",
	})
	e := NewPlain(Options{AllowUnconfined: true})
	for _, c := range []struct{ command, out, said string }{
		{"./read.sh", "chirp", "read, change and delete all files"},
		{"./write.sh", "spoiltspoilt", "read, change and delete all files"},
		{"./limit.sh", "unlimited\nunlimited\nunlimited\n", "have no limit"},
	} {
		r, err := e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: c.command, Args: []string{outside}, Allowed: []string{"*.sh"}})
		must.Do(t, err)
		if string(r.Stdout) != c.out || r.Executor != "plain" || !strings.Contains(strings.Join(r.Unprotected, "\n"), c.said) {
			t.Errorf("%s gives %q and %q, want %q and %q", c.command, r.Stdout, r.Unprotected, c.out, c.said)
		}
	}
	if _, err := exec.LookPath("bash"); err == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write([]byte("reached"))
				_ = c.Close()
			}
		}()
		r, err := e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "bash net.sh", Args: []string{strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}, Allowed: []string{"*"}})
		must.Do(t, err)
		if string(r.Stdout) != "reached" || !slices.Contains(r.Unprotected, "it can connect to every address") {
			t.Errorf("a connection gives %q, %q and %q", r.Stdout, r.Stderr, r.Unprotected)
		}
	}

	// What the plain executor stops.
	r, err := e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./kill.sh", Allowed: []string{"*.sh"}})
	if must.Do(t, err); r.ExitCode != 139 || r.Signal != "SIGSEGV" || r.Stopped != "" {
		t.Errorf("a signal gives %+v", r)
	}
	r, err = e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./flood.sh", Allowed: []string{"*.sh"}, Limits: Limits{Timeout: 20 * time.Millisecond, Output: 100}})
	if must.Do(t, err); r.ExitCode != 143 || r.Signal != "SIGTERM" || !strings.Contains(r.Stopped, "20ms") || len(r.Stdout) > 200 || !r.Truncated {
		t.Errorf("a flood gives exit code %d, signal %q, stopped %q and %d bytes", r.ExitCode, r.Signal, r.Stopped, len(r.Stdout))
	}
}

// TestPlainSession: a process that leaves the group goes on, which Unprotected says, but it
// does not hold the result up.
func TestPlainSession(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip("needs the program setsid")
	}
	dir := write(t, map[string]string{"x.sh": "#!/bin/sh\n" + setsid + " sh -c 'echo $$; exec sleep 100' &\nsleep 100\n"})
	var r Result
	for limit := 50 * time.Millisecond; len(r.Stdout) == 0; limit *= 2 {
		r, err = NewPlain(Options{AllowUnconfined: true}).Execute(t.Context(),
			Request{Skill: "x", Dir: dir, Command: "./x.sh", Allowed: []string{"*.sh"}, Limits: Limits{Timeout: limit}})
		must.Do(t, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	must.Do(t, err)
	p, err := os.FindProcess(pid)
	must.Do(t, err)
	if err := p.Kill(); err != nil || !strings.Contains(strings.Join(r.Unprotected, "\n"), "goes on after the command") {
		t.Errorf("the process is %v, and the result says %q", err, r.Unprotected)
	}
}

// TestNotStarted: what the system does not start is an error.
func TestNotStarted(t *testing.T) {
	needUnix(t)
	dir := write(t, map[string]string{"binary": "\x7fELF\x00 of another system", "x.sh": "#!/bin/sh\n"})
	must.Do(t, os.Chmod(filepath.Join(dir, "binary"), 0o755))
	for command, want := range map[string]Reason{"./binary": NotExecutable, "./x.sh": Syntax} {
		r := Request{Skill: "x", Dir: dir, Command: command, Allowed: []string{"*"}}
		if want == Syntax {
			r.Args = []string{strings.Repeat("x", 8<<20)}
		}
		_, err := NewPlain(Options{AllowUnconfined: true}).Execute(t.Context(), r)
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != want || !strings.Contains(e.Fact, "cannot be started") || e.Hint == "" {
			t.Errorf("%s gives %.200v, want the reason %q", command, err, want)
		}
	}
}
