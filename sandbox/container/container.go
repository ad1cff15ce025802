// Package container runs commands of skills in containers of docker or podman. The one rule:
// each command gets a container of its own, which is gone when Execute returns, and no image
// is downloaded.
package container

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// DefaultImage has a shell and Python.
const DefaultImage = "docker.io/library/python:3-slim"

// Options change the executor. The zero value is the default.
type Options struct {
	// Program is docker or podman, or a program that takes the same arguments; "" means the
	// first of podman and docker in PATH.
	Program string

	// Image is what containers are made of; "" means DefaultImage. It must be there:
	// "docker pull IMAGE" downloads it.
	Image string

	// Rootfs is a folder with a system, which podman uses instead of an image; "" means none.
	Rootfs string

	// Runtime is the OCI runtime, such as "runsc" for gVisor; "" means that of Program.
	Runtime string

	// Strict refuses to run commands that a container cannot confine completely.
	Strict bool
}

// An Executor runs commands in containers.
type Executor struct{ options Options }

const (
	home = "/private" // where commands see their private folder
	path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

	removal = 20 * time.Second // how long it may take to remove a container
)

// New returns an executor. It is an *sandbox.Error if neither podman nor docker is installed.
func New(o Options) (*Executor, error) {
	names := []string{"podman", "docker"}
	if o.Program != "" {
		names = []string{o.Program}
	}
	for _, name := range names {
		if program, err := exec.LookPath(name); err == nil {
			o.Program = program
			if o.Image == "" {
				o.Image = DefaultImage
			}
			return &Executor{o}, nil
		}
	}
	return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "the program " + strings.Join(names, " or ") + " is not installed",
		Hint: "install podman or docker (apt install podman, dnf install podman, brew install podman), or use another executor"}
}

// Execute is of interface sandbox.Executor. It goes on reading from r.Stdin if the command
// ends first.
func (e *Executor) Execute(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
	unprotected := unprotected(r.Limits)
	if e.options.Strict && len(unprotected) > 0 {
		return sandbox.Result{}, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "a container cannot confine a command completely: " + strings.Join(unprotected, "; "),
			Hint: "remove the cause, or do without strict"}
	}
	s := &sandbox.Setup{Path: path, Home: home, Foreign: true}
	if runtime.GOOS == "windows" {
		s.Mount, s.Workspace = "/skill", "/workspace"
	}
	run, err := sandbox.Prepare(r, s)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer run.Close()
	name := "skill-" + strings.ToLower(rand.Text())
	args, err := e.args(run, name, s)
	if err != nil {
		return sandbox.Result{}, err
	}
	cmd := exec.Command(e.options.Program, args...)
	cmd.Env, cmd.Dir = os.Environ(), run.Private // the environment is the program's; the command gets its own as arguments
	res, err := run.Do(ctx, cmd)
	res.Executor, res.Unprotected = "container", unprotected
	if res.Stopped != "" || err != nil {
		if left := e.remove(ctx, name); left != nil {
			res.Unprotected = append(res.Unprotected, "the container "+name+" may still be running: "+left.Error())
		}
	}
	if err != nil {
		return sandbox.Result{}, err
	}
	if err := e.failed(res, run); err != nil {
		return sandbox.Result{}, err
	}
	return res, nil
}

// remove kills and removes a container.
func (e *Executor) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	out, err := exec.CommandContext(ctx, e.options.Program, "rm", "--force", name).CombinedOutput()
	if err == nil || missing(out) {
		return nil
	}
	return fmt.Errorf("%w: %s", err, firstLine(out))
}

// missing reports whether docker or podman says that there is no such container.
func missing(out []byte) bool {
	return bytes.Contains(bytes.ToLower(out), []byte("no such container")) || bytes.Contains(out, []byte("no container with"))
}

// args returns the arguments of docker or podman.
func (e *Executor) args(run *sandbox.Run, name string, s *sandbox.Setup) ([]string, error) {
	limits, workspace := run.Request.Limits, run.Request.Workspace
	args := []string{"--log-level", "error", "run", "--rm", "--name", name}
	if run.Request.Stdin != nil {
		args = append(args, "--interactive")
	}
	if len(limits.Network) == 0 {
		args = append(args, "--network", "none")
	}
	args = append(args, "--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--security-opt", "label=disable",
		"--pids-limit", strconv.Itoa(limits.Processes), "--memory", strconv.FormatInt(limits.Memory, 10),
		"--ulimit", "core=0", "--ulimit", fmt.Sprintf("cpu=%d", int64(limits.CPU.Seconds()+1)), "--ulimit", fmt.Sprintf("fsize=%d", limits.Disk))
	args = append(args, e.user(os.Getuid(), os.Getgid())...)
	for _, dir := range []string{"/tmp", home} {
		args = append(args, "--tmpfs", fmt.Sprintf("%s:rw,exec,nosuid,nodev,mode=1777,size=%d", dir, limits.Disk))
	}
	mounts := []struct {
		from, to string
		write    bool
	}{{workspace.Dir, cmp.Or(s.Workspace, workspace.Dir), workspace.Write}, {run.Dir, cmp.Or(s.Mount, run.Dir), false}}
	for _, m := range mounts {
		switch {
		case m.from == "":
		case strings.Contains(m.to, ":"):
			return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "a container cannot mount " + m.from, Hint: "use a folder without a colon in its path"}
		case m.write:
			args = append(args, "--volume", m.from+":"+m.to)
		default:
			args = append(args, "--volume", m.from+":"+m.to+":ro")
		}
	}
	args = append(args, "--workdir", cmp.Or(s.Mount, run.Dir))
	for _, v := range run.Env {
		args = append(args, "--env", v)
	}
	if e.options.Runtime != "" {
		args = append(args, "--runtime", e.options.Runtime)
	}
	// The first word is the entry point: an image may have one of its own.
	args = append(args, "--entrypoint", run.Argv[0])
	if e.options.Rootfs != "" {
		args = append(args, "--rootfs", e.options.Rootfs)
	} else {
		args = append(args, "--pull", "never", e.options.Image)
	}
	return append(args, run.Argv[1:]...), nil
}

// user returns the arguments that make the command own what the user owns, and nothing else.
func (e *Executor) user(uid, gid int) []string {
	if uid < 0 { // Windows: folders of the workspace are open to all users of the container
		uid, gid = 65534, 65534
	}
	args := []string{"--user", fmt.Sprintf("%d:%d", uid, gid)}
	if e.podman() && uid != 0 {
		args = append(args, "--userns", "keep-id")
	}
	return args
}

func (e *Executor) podman() bool {
	return strings.Contains(filepath.Base(e.options.Program), "podman")
}

// unprotected returns what nothing keeps the command from.
func unprotected(l sandbox.Limits) []string {
	if len(l.Network) == 0 {
		return nil
	}
	return []string{"it can connect to every address and port, not only to the ports that are allowed"}
}

// failed returns an error if the command did not run. docker and podman tell so by exit
// codes that a command can have too, and by messages that begin like theirs.
func (e *Executor) failed(r sandbox.Result, run *sandbox.Run) error {
	name := run.Argv[0]
	line := firstLine(withoutLog(r.Stderr))
	own := slices.ContainsFunc([]string{"docker: ", "Error: ", "Error response from daemon", "Cannot connect to the Docker daemon"},
		func(s string) bool { return strings.HasPrefix(line, s) })
	if !own || r.Stopped != "" || len(r.Stdout) > 0 || r.ExitCode < 125 || r.ExitCode > 127 {
		return nil
	}
	text := strings.ToLower(string(r.Stderr))
	err := &sandbox.Error{Reason: sandbox.Unavailable, Fact: "no container can be started: " + line,
		Hint: "check that `" + filepath.Base(e.options.Program) + " run` works, or use another executor", Err: errors.New(string(r.Stderr))}
	switch {
	case r.ExitCode == 127 && run.Script != "":
		err.Reason, err.Fact = sandbox.BadShebang, "sh: "+run.Script+": bad interpreter: "+name+": No such file"
		err.Hint = "choose an image that has it; this one is " + cmp.Or(e.options.Rootfs, e.options.Image)
	case r.ExitCode == 127 || strings.Contains(text, "executable file"):
		err.Reason, err.Fact = sandbox.NotFound, "sh: "+name+": command not found"
		err.Hint = "choose an image that has it; this one is " + cmp.Or(e.options.Rootfs, e.options.Image)
	case strings.Contains(text, "exec format error"):
		err.Reason, err.Fact, err.Hint = sandbox.NotExecutable, "sh: "+name+": cannot be started: "+line, "check that it is made for the system of the image"
	case strings.Contains(text, "no such image"), strings.Contains(text, "image not known"), strings.Contains(text, "unable to find image"):
		err.Fact = "the image " + e.options.Image + " is not on this machine"
		err.Hint = "download it: " + filepath.Base(e.options.Program) + " pull " + e.options.Image
	case strings.Contains(text, "daemon"):
		err.Hint = "start the docker daemon, or install podman, which needs none"
	}
	return err
}

// withoutLog returns a text without the lines of podman's log that it starts with.
func withoutLog(text []byte) []byte {
	for bytes.HasPrefix(text, []byte(`time="`)) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.TrimSpace(line))
}
