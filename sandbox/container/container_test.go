package container

import (
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/sandboxtest"
)

var update = flag.Bool("update", false, "write the arguments into testdata/arguments.txtar")

// TestArguments compares the arguments of docker and podman; those of one option share a line.
func TestArguments(t *testing.T) {
	limits := sandbox.Limits{Disk: 1 << 20, Memory: 1 << 30, Processes: 8, CPU: 1500 * time.Millisecond}
	var got txtar.Archive
	got.Comment = []byte("The arguments of docker and podman by request; see TestArguments.\n")
	user := regexp.MustCompile(`--user \S+(\n--userns keep-id)?`)
	add := func(name string, o Options, change func(*sandbox.Run), s sandbox.Setup) {
		run := &sandbox.Run{Argv: []string{"sh", "/skills/pdf/x.sh", "a b"}, Env: []string{"HOME=/private", "TOKEN=x y"}, Dir: "/skills/pdf", Private: "/tmp/p",
			Request: sandbox.Request{Limits: limits}}
		change(run)
		args, err := (&Executor{o}).args(run, "skill-1", &s)
		must.Do(t, err)
		text := user.ReplaceAllString(strings.ReplaceAll(strings.Join(args, " "), " --", "\n--"), "--user OWN") + "\n"
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	docker := Options{Program: "/usr/bin/docker", Image: DefaultImage}
	add("docker", docker, func(*sandbox.Run) {}, sandbox.Setup{})
	add("docker, gVisor, input, network and a workspace to write", Options{Program: "docker", Image: "alpine", Runtime: "runsc"}, func(r *sandbox.Run) {
		r.Request.Stdin, r.Request.Limits.Network, r.Request.Workspace = strings.NewReader(""), []int{443}, sandbox.Workspace{Dir: "/home/me/work", Write: true}
	}, sandbox.Setup{})
	add("podman with a folder and a workspace to read", Options{Program: "podman", Rootfs: "/srv/root"}, func(r *sandbox.Run) {
		r.Request.Workspace.Dir = "/home/me/work"
	}, sandbox.Setup{})
	add("from Windows", docker, func(r *sandbox.Run) {
		r.Dir, r.Request.Workspace.Dir = `C:\skills\pdf`, `C:\work`
	}, sandbox.Setup{Mount: "/skill", Workspace: "/workspace"})
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

// TestUser: commands own what the user owns, in a rootless podman too.
func TestUser(t *testing.T) {
	for _, c := range []struct {
		program string
		uid     int
		want    string
	}{
		{"docker", 1000, "--user 1000:7"},
		{"/usr/bin/podman", 1000, "--user 1000:7 --userns keep-id"},
		{"podman", 0, "--user 0:7"},
		{"docker", -1, "--user 65534:65534"},
	} {
		if got := strings.Join((&Executor{Options{Program: c.program}}).user(c.uid, 7), " "); got != c.want {
			t.Errorf("%s as %d: %s, want %s", c.program, c.uid, got, c.want)
		}
	}
}

func TestColon(t *testing.T) {
	run := &sandbox.Run{Argv: []string{"x"}, Dir: "/skills/a:b"}
	if _, err := (&Executor{}).args(run, "x", &sandbox.Setup{}); err == nil || !strings.Contains(err.Error(), "/skills/a:b") {
		t.Errorf("the error is %v", err)
	}
}

// TestStrict: what cannot be confined completely does not run.
func TestStrict(t *testing.T) {
	_, err := (&Executor{Options{Strict: true}}).Execute(t.Context(), sandbox.Request{Command: "true", Allowed: []string{"*"}, Limits: sandbox.Limits{Network: []int{443}}})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Reason != sandbox.Unavailable || !strings.Contains(e.Fact, "every address and port") {
		t.Errorf("the error is %v", err)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, o := range []Options{{}, {Program: "docker"}} {
		_, err := New(o)
		if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Reason != sandbox.Unavailable || !strings.Contains(e.Hint, "install podman or docker") {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestFailed: messages of docker and podman are errors, and what a command writes is not.
func TestFailed(t *testing.T) {
	e := &Executor{Options{Program: "docker", Image: "img"}}
	for _, c := range []struct {
		code   int
		stderr string
		want   sandbox.Reason
		says   string
	}{
		{125, "docker: Error response from daemon: No such image: img:latest.\nSee 'docker run --help'.\n", sandbox.Unavailable, "docker pull img"},
		{125, "Error: img: image not known\n", sandbox.Unavailable, "docker pull img"},
		{125, "time=\"2026-11-22T16:37:01Z\" level=error msg=\"no subuid ranges\"\nError: img: image not known\n", sandbox.Unavailable, "docker pull img"},
		{125, "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n", sandbox.Unavailable, "start the docker daemon"},
		{125, "docker: Error response from daemon: unknown or invalid runtime name: runsc.\n", sandbox.Unavailable, "runsc"},
		{127, "docker: Error response from daemon: failed to create task: exec: \"tool\": executable file not found in $PATH\n", sandbox.NotFound, "sh: tool: command not found"},
		{127, "Error: crun: executable file `tool` not found in $PATH: No such file or directory\n", sandbox.NotFound, "sh: tool: command not found"},
		{126, "docker: Error response from daemon: exec format error\n", sandbox.NotExecutable, "exec format error"},
		{126, "Error: OCI runtime error: crun: hybrid mode\n", sandbox.Unavailable, "hybrid mode"},
		{127, "sh: tool: not found\n", "", ""},
		{125, "", "", ""},
		{1, "Error: from the command\n", "", ""},
	} {
		err := e.failed(sandbox.Result{ExitCode: c.code, Stderr: []byte(c.stderr)}, &sandbox.Run{Argv: []string{"tool"}})
		f, ok := errors.AsType[*sandbox.Error](err)
		if ok != (c.want != "") || ok && (f.Reason != c.want || !strings.Contains(f.Error(), c.says)) {
			t.Errorf("%d and %q give %v, want %q and %q", c.code, c.stderr, err, c.want, c.says)
		}
	}
}

// TestPodman runs the contract in containers of podman, whose system is a folder with a few
// programs of this machine.
func TestPodman(t *testing.T) {
	if testsize.Rounds(0, 1) == 0 {
		t.Skip("starts dozens of containers; set REPERTOIRE_LONG=1")
	}
	e := podman(t)
	sandboxtest.Test(t, func(*testing.T) sandbox.Executor { return e }, sandboxtest.Options{})
	out, err := exec.Command(e.options.Program, "ps", "--all", "--filter", "name=^skill-", "--format", "{{.Names}}").Output()
	if err != nil || len(out) > 0 {
		t.Errorf("containers that are left: %q, %v", out, err)
	}
}

// podman returns an executor that works on this machine.
func podman(t *testing.T) *Executor {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs podman on Linux")
	}
	program, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("needs podman: ", err)
	}
	// Not every machine lets containers have more open files and processes than its own users.
	wrapper := filepath.Join(t.TempDir(), "podman")
	script := "#!/bin/sh\ncase $3 in run) shift 3; set -- --log-level error run --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \"$@\";; esac\nexec " +
		program + " --cgroup-manager cgroupfs \"$@\"\n"
	must.Do(t, os.WriteFile(wrapper, []byte(script), 0o755))
	root := rootfs(t, "sh", "bash", "cat", "ls", "ln", "sleep")
	var last error
	for _, runtime := range []string{"", "runc"} {
		e, err := New(Options{Program: wrapper, Rootfs: root, Runtime: runtime})
		must.Do(t, err)
		_, last = e.Execute(t.Context(), sandbox.Request{Skill: "x", Dir: t.TempDir(), Command: "sh -c true", Allowed: []string{"sh"}})
		if last == nil {
			return e
		}
	}
	t.Skip("needs podman that can run containers: ", last)
	return nil
}

// rootfs copies programs and the libraries that they need to a folder.
func rootfs(t *testing.T, programs ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range programs {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Skip("needs the program ", name)
		}
		copyFile(t, file, filepath.Join(root, "bin", name))
		out, err := exec.Command("ldd", file).Output()
		if err != nil {
			t.Skip("needs ldd and programs with libraries: ", err)
		}
		for word := range strings.FieldsSeq(string(out)) {
			if filepath.IsAbs(word) {
				copyFile(t, word, filepath.Join(root, word))
			}
		}
	}
	return root
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(to), 0o755))
	in, err := os.Open(from)
	must.Do(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	must.Do(t, err)
	_, err = io.Copy(out, in)
	must.Do(t, errors.Join(err, out.Close()))
}
