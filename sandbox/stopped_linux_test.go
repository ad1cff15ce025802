package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// scripts are those that must be stopped. Each ends by itself some time, for this machine
// has other work.
var scripts = map[string]string{
	"SKILL.md":    "",
	"data":        "mine\n",
	"bomb.sh":     "#!/bin/sh\n[ ${1:-0} -lt 8 ] || exec sleep 9\n\"$0\" $((${1:-0}+1)) &\n\"$0\" $((${1:-0}+1)) &\nwait\n",
	"many.sh":     "#!/bin/sh\ni=0\nwhile [ $i -lt 20 ]; do sleep 9 & i=$((i+1)); done\nwait\n",
	"disk.sh":     "#!/bin/sh\ni=0\nwhile [ $i -lt 40 ]; do head -c 400000 /dev/zero >$HOME/$i; i=$((i+1)); done\nsleep 9\n",
	"file.sh":     "#!/bin/sh\nhead -c 2000000 /dev/zero >$WORKSPACE/x\n",
	"deleted.sh":  "#!/bin/sh\nfor i in 3 4 5 6; do eval \"exec $i>$HOME/x\"; rm $HOME/x; eval \"head -c 400000 /dev/zero >&$i\"; done\nsleep 9\n",
	"names.sh":    "#!/bin/sh\ni=0\nwhile [ $i -lt 500 ]; do : >$HOME/$i; i=$((i+1)); done\nsleep 9\n",
	"hidden.sh":   "#!/bin/sh\nmkdir $HOME/a $HOME/a/b\nchmod 0 $HOME/a\nsleep 9\n",
	"memory.sh":   "#!/bin/sh\nuntil [ $(ulimit -v) = 40960 ]; do :; done\nexec dd bs=60000000 count=1 if=/dev/zero of=/dev/null\n",
	"hogs.sh":     "#!/bin/sh\nfor i in 1 2; do head -c 24000000 /dev/zero | tail -c 24000000 | sleep 9 & done; wait\n",
	"files.sh":    "#!/bin/sh\nuntil [ $# -ge 900 ]; do set -- \"$0\" \"$@\"; done\ntail -n 0 -f \"$@\" & exec tail -n 0 -f \"$@\"\n",
	"stubborn.sh": "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 9\nsleep 9\n",
	"limits.sh":   "#!/bin/sh\nuntil [ $(ulimit -t)/$(ulimit -v)/$(ulimit -c)/$(ulimit -n) = 1/40960/0/1024 ]; do :; done\n",
	"flood.sh":    "#!/bin/sh\nexec head -c 3000000 /dev/zero\n",
	"zombies.sh":  "#!/bin/sh\nfor i in 1 2 3; do (sh -c 'sleep 0.01 & exit' &) ; done\n(exit 0) & exec sleep 0.05\n",
	"code.sh":     "#!/bin/sh\nexit $1\n",
	"signal.sh":   "#!/bin/sh\nkill -USR1 $$\n",
	"leave.sh":    "#!/bin/sh\nsetsid sleep 90 & echo $!\n(sleep 91 & echo $!)\nif [ \"$1\" ]; then echo $PPID $! >$WORKSPACE/up; exec sleep 92; fi\n",
	"swap.sh":     "#!/bin/sh\ncat data\necho >$WORKSPACE/up\nread x <$WORKSPACE/go\ncat data\n./data\n",
}

func TestStopped(t *testing.T) {
	c := walls(t, 0, Options{})
	dir := write(t, scripts)
	small := Limits{Memory: 40 << 20, Processes: 12, Disk: 1 << 20, Timeout: 5 * time.Second, CPU: time.Second}
	more := small
	more.Processes, more.CPU = 40, 5*time.Second
	for _, test := range []struct {
		command, stopped, signal string
		code                     int
		limits                   Limits
	}{
		{"bomb.sh", "it had more than 12 processes at once", "SIGKILL", 137, small},
		{"many.sh", "it had more than 12 processes at once", "SIGKILL", 137, small},
		{"disk.sh", "it wrote more than 1 MiB to its private folder", "SIGKILL", 137, small},
		{"names.sh", "it wrote more than 1 MiB to its private folder", "SIGKILL", 137, small},
		{"deleted.sh", "it wrote more than 1 MiB to its private folder", "SIGKILL", 137, small},
		{"hidden.sh", "it hid files in its private folder", "SIGKILL", 137, small},
		{"hogs.sh", "it used more than 40 MiB of memory", "SIGKILL", 137, more},
		{"files.sh", "it had more than 1024 files open at once", "SIGKILL", 137, small},
		{"stubborn.sh", "it ran longer than 100ms", "SIGKILL", 137, Limits{Timeout: 100 * time.Millisecond}},
		{"file.sh", "", "", 153, small}, // RLIMIT_FSIZE
		{"memory.sh", "", "", 1, small}, // RLIMIT_AS
		{"limits.sh", "", "", 0, small},
		{"flood.sh", "", "", 0, small},
		{"zombies.sh", "", "", 0, small},
		{"code.sh 42", "", "", 42, small},
		{"signal.sh", "", "SIGUSR1", 138, small},
	} {
		t.Run(test.command, func(t *testing.T) {
			// The system counts processes by user: beside a bomb no other script could fork.
			if !strings.Contains(test.stopped, "processes") {
				t.Parallel()
			}
			if test.command == "hidden.sh" && os.Getuid() == 0 {
				test.stopped, test.signal, test.code, test.limits.Timeout = "it ran longer than 100ms", "SIGKILL", 137, 100*time.Millisecond // root can look
			}
			res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./" + test.command, Allowed: []string{"*"}, Limits: test.limits,
				Workspace: Workspace{Dir: t.TempDir(), Write: true}})
			must.Do(t, err)
			if res.Stopped != test.stopped || res.Signal != test.signal || res.ExitCode != test.code {
				t.Errorf("stopped %q, signal %q, code %d; stderr %s", res.Stopped, res.Signal, res.ExitCode, res.Stderr)
			}
			if res.Truncated != (test.command == "flood.sh") || len(res.Stdout) > DefaultOutput+100 {
				t.Errorf("truncated %v, %d bytes", res.Truncated, len(res.Stdout))
			}
		})
	}
}

// pipes makes a workspace with pipes, with which a script and a test wait for each other.
func pipes(t *testing.T) string {
	dir := t.TempDir()
	must.Do(t, unix.Mkfifo(dir+"/up", 0o600))
	must.Do(t, unix.Mkfifo(dir+"/go", 0o600))
	return dir
}

// line waits for a line in a pipe.
func line(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	must.Do(t, err)
	defer f.Close()
	text, err := bufio.NewReader(f).ReadString('\n')
	must.Do(t, err)
	return text
}

// gone waits until processes have ended.
func gone(t *testing.T, pids ...string) {
	t.Helper()
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		must.Do(t, err)
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		for err == unix.EINTR { // by a signal of the runtime
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		}
		if n != 1 {
			t.Errorf("process %d runs on (%v)", pid, err)
		}
		_ = unix.Close(fd)
	}
}

// TestLeftBehind ends a run in all ways. No process and no folder may be left.
func TestLeftBehind(t *testing.T) {
	c := walls(t, 0, Options{})
	dir, temp := write(t, scripts), t.TempDir()
	t.Setenv("TMPDIR", temp)
	r := Request{Skill: "x", Dir: dir, Command: "./leave.sh", Allowed: []string{"*"}}

	res, err := c.Execute(t.Context(), r)
	must.Do(t, err)
	if list := strings.Fields(string(res.Stdout)); len(list) != 2 || res.ExitCode != 0 {
		t.Errorf("%+v", res)
	} else {
		gone(t, list...)
	}

	r.Args = []string{"stay"}
	r.Workspace = Workspace{Dir: pipes(t), Write: true}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		line(t, r.Workspace.Dir+"/up")
		cancel()
	}()
	if res, err := c.Execute(ctx, r); err != context.Canceled {
		t.Errorf("%+v, %v", res, err)
	}

	helper := make(chan string, 1)
	go func() {
		text, _, _ := strings.Cut(line(t, r.Workspace.Dir+"/up"), " ")
		pid, _ := strconv.Atoi(text)
		kill(pid)
		helper <- text
	}()
	res, err = c.Execute(t.Context(), r)
	must.Do(t, err)
	if list := strings.Fields(string(res.Stdout)); len(list) != 2 || res.Stopped != "its supervisor was killed" {
		t.Errorf("%+v\n%s", res, res.Stderr)
	} else {
		gone(t, append(list, <-helper)...)
	}
	if list, err := os.ReadDir(temp); err != nil || len(list) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", list, err)
	}
}

// TestCallerKilled kills the process that calls the executor. No process and no folder may be
// left.
func TestCallerKilled(t *testing.T) {
	walls(t, 0, Options{})
	dir, workspace, temp := write(t, scripts), pipes(t), t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{callerVar + "=" + dir, "WORK=" + workspace, "TMPDIR=" + temp, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	must.Do(t, cmd.Start())
	pids := strings.Fields(line(t, workspace+"/up"))
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, pids...)
	if list, err := os.ReadDir(temp); err != nil || len(list) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", list, err)
	}
}

func runAsCaller() {
	e, err := New(Options{})
	if err == nil {
		_, err = e.Execute(context.Background(), Request{Skill: "x", Dir: os.Getenv(callerVar), Command: "./leave.sh stay", Allowed: []string{"*"},
			Workspace: Workspace{Dir: os.Getenv("WORK"), Write: true}})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestSwappedLink swaps a file of the skill for a link that leads out, while a script runs.
func TestSwappedLink(t *testing.T) {
	c := walls(t, 0, Options{})
	dir, outside, workspace := write(t, scripts), write(t, map[string]string{"canary": "#!/bin/sh\necho secret\n"}), pipes(t)
	go func() {
		line(t, workspace+"/up")
		must.Do(t, os.Symlink(outside+"/canary", dir+"/new"))
		must.Do(t, os.Rename(dir+"/new", dir+"/data"))
		must.Do(t, os.WriteFile(workspace+"/go", []byte("go\n"), 0))
	}()
	res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./swap.sh", Allowed: []string{"*"}, Workspace: Workspace{Dir: workspace, Write: true}})
	must.Do(t, err)
	if string(res.Stdout) != "mine\n" || strings.Count(string(res.Stderr), "Permission denied") != 2 {
		t.Errorf("%+v\n%s\n%s", res, res.Stdout, res.Stderr)
	}
}
