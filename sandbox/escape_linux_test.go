package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/must"
)

const callerVar = "SANDBOX_CALLER"

// walls returns the executor for a kernel with a version of Landlock that is at most
// abi; 0 means the version that is there.
func walls(t testing.TB, abi int, o Options) *confined {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Skip(err) // it says what the kernel lacks
	}
	c := e.(*confined)
	if abi != 0 {
		c.abi = min(c.abi, abi)
	}
	return c
}

// newTarget makes what is attacked.
func newTarget(t *testing.T) target {
	t.Helper()
	g := target{Home: t.TempDir(), Outside: t.TempDir(), Skill: write(t, map[string]string{"SKILL.md": "", "scripts/attack.sh": "#!/bin/sh\nexec \"$ATTACKER\"\n"}), Caller: os.Getpid()}
	t.Setenv("HOME", g.Home)
	must.Do(t, os.WriteFile(g.Home+"/canary", []byte("secret"), 0o600))
	must.Do(t, os.WriteFile(g.Outside+"/file", []byte("secret"), 0o600))
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		must.Do(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	g.Port = listen("tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	g.Socket = g.Outside + "/socket"
	g.Abstract = filepath.Base(filepath.Dir(g.Outside))
	listen("unix", g.Socket)
	listen("unix", "@"+g.Abstract)
	return g
}

func (g target) env(t *testing.T) string {
	text, err := json.Marshal(g)
	must.Do(t, err)
	return string(text)
}

// attacked returns what became of each attempt inside of the walls.
func attacked(t *testing.T, c *confined, g target, ports ...int) map[string]syscall.Errno {
	t.Helper()
	program, err := os.Executable()
	must.Do(t, err)
	c.options.Read = []string{filepath.Dir(program)}
	res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: g.Skill, Command: "scripts/attack.sh", Allowed: []string{"*"},
		Env: map[string]string{"ATTACKER": program, attackVar: g.env(t)}, Limits: Limits{Network: ports}})
	must.Do(t, err)
	var results map[string]syscall.Errno
	if err := json.Unmarshal(res.Stdout, &results); err != nil {
		t.Fatalf("%v: %+v\n%s\n%s", err, res, res.Stdout, res.Stderr)
	}
	if len(res.Stderr) > 0 {
		t.Errorf("%s", res.Stderr)
	}
	return results
}

func TestEscapes(t *testing.T) {
	c := walls(t, 0, Options{})
	// A file that every program inherits which does not take care.
	leak, err := unix.Dup(0)
	must.Do(t, err)
	defer unix.Close(leak)
	g := newTarget(t)
	compare(t, attacked(t, c, g), nil)
	free := withoutWalls(t, g)
	for _, list := range [][]attempt{fileAttempts, processAttempts, netAttempts} {
		for _, a := range list {
			if a.free && free[a.name] != 0 {
				t.Errorf("%s: without walls it is stopped too: %v", a.name, free[a.name])
			}
		}
	}
}

// compare checks what became of the attempts. other has those that end otherwise than usual.
func compare(t *testing.T, got map[string]syscall.Errno, other map[string]syscall.Errno) {
	t.Helper()
	for _, list := range [][]attempt{fileAttempts, processAttempts, netAttempts} {
		for _, a := range list {
			want := a.want
			if errno, ok := other[a.name]; ok {
				want = errno
			}
			if errno, ok := got[a.name]; !ok || errno != want {
				t.Errorf("%s: got %v, want %v from %s", a.name, errno, want, a.stop)
			}
		}
	}
}

// TestPorts opens the way to one TCP port, and to nothing else.
func TestPorts(t *testing.T) {
	c := walls(t, 0, Options{})
	if c.abi < 4 {
		t.Skip("Landlock 4 of Linux 6.7 is needed to allow some ports only")
	}
	g := newTarget(t)
	compare(t, attacked(t, c, g, g.Port), map[string]syscall.Errno{"connect over TCP": 0})
	compare(t, attacked(t, c, g, 1), map[string]syscall.Errno{"connect over TCP": unix.EACCES})
}

// TestOldKernels pretends that the kernel has an old version of Landlock.
func TestOldKernels(t *testing.T) {
	g := newTarget(t)
	for abi, want := range map[int]struct {
		unprotected int
		other       map[string]syscall.Errno
	}{
		1: {2, map[string]syscall.Errno{"empty a file outside": unix.EPERM, "signal the supervisor": 0, "signal the caller": 0}},
		5: {1, map[string]syscall.Errno{"signal the supervisor": 0, "signal the caller": 0}},
	} {
		c := walls(t, abi, Options{})
		compare(t, attacked(t, c, g), want.other)
		if list := c.unprotected(nil); len(list) != want.unprotected || len(c.unprotected([]int{1})) != want.unprotected+btoi(abi < 4) {
			t.Errorf("version %d: unprotected are %q", abi, list)
		}
		c.options.Strict = true
		_, err := c.Execute(t.Context(), Request{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != Unavailable {
			t.Errorf("version %d, strict: %v", abi, err)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestAsNobody runs the tests of this package that attack again, as a user without rights.
func TestAsNobody(t *testing.T) {
	walls(t, 0, Options{})
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; all tests ran as this user")
	}
	dir, err := os.MkdirTemp("", "nobody")
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.Mkdir(dir+"/bin", 0o755))
	must.Do(t, os.Mkdir(dir+"/tmp", 0o755))
	must.Do(t, os.Chown(dir+"/tmp", nobody, nobody))
	program, err := os.ReadFile("/proc/self/exe")
	must.Do(t, err)
	must.Do(t, os.WriteFile(dir+"/bin/sandbox.test", program, 0o755))
	cmd := exec.CommandContext(t.Context(), dir+"/bin/sandbox.test", "-test.run", "^(TestEscapes|TestStopped|TestLeftBehind)$", "-test.timeout", "60s")
	cmd.Dir, cmd.Env = dir+"/tmp", []string{"PATH=/usr/bin:/bin", "HOME=" + dir + "/tmp", "TMPDIR=" + dir + "/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

const nobody = 65534

// withoutWalls makes the attempts in a plain process.
func withoutWalls(t *testing.T, g target) map[string]syscall.Errno {
	t.Helper()
	program, err := os.Executable()
	must.Do(t, err)
	g.Free = true
	cmd := exec.Command(program)
	cmd.Env = []string{attackVar + "=" + g.env(t), "HOME=" + t.TempDir()}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	must.Do(t, cmd.Run())
	var results map[string]syscall.Errno
	must.Do(t, json.Unmarshal(stdout.Bytes(), &results))
	return results
}
