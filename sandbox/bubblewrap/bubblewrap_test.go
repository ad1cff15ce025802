package bubblewrap

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
)

var update = flag.Bool("update", false, "write the arguments into testdata/arguments.txtar")

// TestArguments compares the arguments of bwrap; those of one option share a line.
func TestArguments(t *testing.T) {
	e := &Executor{program: "bwrap", limiter: "/usr/bin/prlimit", filter: []byte{1}, mounts: []mount{{name: "/usr"}, {"/bin", "usr/bin"}, {name: "/opt/tools"}}}
	limits := sandbox.Limits{Disk: 1 << 20, Memory: 1 << 30, Processes: 8, CPU: 1500 * time.Millisecond}
	base := func() *sandbox.Run {
		return &sandbox.Run{Argv: []string{"/bin/sh", "/skills/pdf/x.sh", "a b"}, Dir: "/skills/pdf", Private: "/tmp/p", Request: sandbox.Request{Limits: limits}}
	}
	network := base()
	network.Request.Limits.Network = []int{443}
	read, write := base(), base()
	read.Request.Workspace.Dir = "/home/me/work"
	write.Request.Workspace = sandbox.Workspace{Dir: "/home/me/work", Write: true}
	var got txtar.Archive
	add := func(name string, e *Executor, run *sandbox.Run) {
		text := strings.ReplaceAll(strings.Join(e.args(run), " "), " --", "\n--") + "\n"
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	add("plain", e, base())
	add("network", e, network)
	add("workspace to read", e, read)
	add("workspace to write", e, write)
	add("without prlimit", &Executor{mounts: e.mounts}, base())
	got.Comment = []byte("The arguments of bwrap by request; see TestArguments.\n")
	file := filepath.Join("testdata", "arguments.txtar")
	if *update {
		must.Do(t, os.WriteFile(file, txtar.Format(&got), 0o644))
	}
	want, err := os.ReadFile(file)
	must.Do(t, err)
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), string(txtar.Format(&got))); diff != "" {
		t.Errorf("run with -update and review the result (-want +got):\n%s", diff)
	}
}

// TestStrict: what cannot be confined completely does not run.
func TestStrict(t *testing.T) {
	_, err := (&Executor{strict: true}).Execute(t.Context(), sandbox.Request{Command: "true", Allowed: []string{"*"}, Limits: sandbox.Limits{Network: []int{443}}})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Reason != sandbox.Unavailable || !strings.Contains(e.Fact, "every address and port") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissing(t *testing.T) {
	_, err := New(Options{Program: filepath.Join(t.TempDir(), "none")})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Reason != sandbox.Unavailable || !strings.Contains(e.Hint, "apt install bubblewrap") {
		t.Errorf("the error is %v", err)
	}
}

// available returns an executor that works on this machine.
func available(t *testing.T) *Executor {
	t.Helper()
	e, err := New(Options{})
	if err == nil {
		_, err = e.Execute(t.Context(), sandbox.Request{Skill: "x", Dir: t.TempDir(), Command: "true", Allowed: []string{"true"}})
	}
	if err != nil {
		t.Skip("needs bwrap and the right to make namespaces: ", err)
	}
	return e
}

func TestContract(t *testing.T) {
	e := available(t)
	sandboxtest.Test(t, func(*testing.T) sandbox.Executor { return e }, sandboxtest.Options{})
}

// TestEscapes: what a script tries beside the attempts of the contract, and what it gets.
func TestEscapes(t *testing.T) {
	e := available(t)
	dir := t.TempDir()
	keyctl := map[string]int{"amd64": 250, "arm64": 219}[runtime.GOARCH] // the number of the call
	for name, text := range map[string]string{
		"passwd.sh": "cat /etc/passwd || cat /etc/shadow",
		"root.sh":   "echo x >/new || echo x >/usr/new || echo x >/etc/new",
		"disk.sh":   "head -c 3000000 /dev/zero >/tmp/large",
		"files.sh":  "for i in 1 2 3 4 5 6; do head -c 400000 /dev/zero >/tmp/$i || exit 9; done",
		"shm.sh":    "for i in 1 2 3 4 5 6; do head -c 400000 /dev/zero >/dev/shm/$i || exit 9; done",
		"dev.sh":    "echo x >/dev/new",
		"procs.sh":  "set -- /proc/[0-9]*; test $# -gt 5 || exit 9",
		"limits.sh": "ulimit -v unlimited || ulimit -f unlimited",
		"mount.sh":  "mount -t tmpfs x /mnt || umount /usr",
		"keys.sh":   fmt.Sprintf("perl -e 'exit 0 if syscall(%d, 0, -3, 0) >= 0; die $!'", keyctl), // KEYCTL_GET_KEYRING_ID of the session
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644))
		r, err := e.Execute(t.Context(), sandbox.Request{Skill: "x", Dir: dir, Command: "sh " + name, Allowed: []string{"*.sh"},
			Limits: sandbox.Limits{Disk: 1 << 20}})
		must.Do(t, err)
		if r.ExitCode == 0 || len(r.Stdout) > 0 || len(r.Stderr) == 0 && r.ExitCode != 9 {
			t.Errorf("%s: exit code %d, output %q, error output %q", name, r.ExitCode, r.Stdout, r.Stderr)
		}
	}
}

// TestInvisible: a program that the sandbox does not show is an error before anything runs.
func TestInvisible(t *testing.T) {
	e := available(t)
	bin, dir := t.TempDir(), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(bin, "tool"), []byte("#!/bin/sh\necho tool\n"), 0o755))
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	r := sandbox.Request{Skill: "x", Dir: dir, Command: "tool", Allowed: []string{"*"}}
	_, err := e.Execute(t.Context(), r)
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Reason != sandbox.NotFound {
		t.Errorf("the error is %v", err)
	}
	r.Env = map[string]string{"PATH": bin}
	if _, err := e.Execute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "system folders only") {
		t.Errorf("with PATH of the request, the error is %v", err)
	}
	e, err = New(Options{Read: []string{bin}})
	must.Do(t, err)
	r.Env = nil
	if res, err := e.Execute(t.Context(), r); err != nil || string(res.Stdout) != "tool\n" {
		t.Errorf("a folder that may be read gives %q, %q, %v", res.Stdout, res.Stderr, err)
	}
}
