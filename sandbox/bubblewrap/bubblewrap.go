// Package bubblewrap runs commands of skills in namespaces that the program bwrap makes. The
// one rule: a command sees only what its arguments mount: system folders and the skill to
// read, a private folder that vanishes, and the workspace.
package bubblewrap

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// Options change the executor. The zero value is the default.
type Options struct {
	// Program is bwrap; "" means the one in PATH.
	Program string

	// Read are further folders that commands may read, such as "/opt/tools". Programs in
	// them run if PATH names them. nil means none beside the system folders.
	Read []string

	// Strict refuses to run commands that bwrap cannot confine completely.
	Strict bool
}

// An Executor runs commands with bwrap.
type Executor struct {
	strict  bool
	program string
	limiter string // prlimit; "" means that it is not there
	mounts  []mount
	path    string
	filter  []byte // see sandbox.KeyFilter
}

// A mount is a folder of this system that each command may read.
type mount struct {
	name string
	link string // where it links to; "" means that it is no link
}

// home is where commands see their private folder.
const home = "/tmp/home"

// system are the files and folders that programs need. What does not exist is left out.
var system = [...]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/ca-certificates", "/etc/mime.types"}

// network are further files, for commands that may connect.
var network = [...]string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services"}

// New returns an executor. It is an *sandbox.Error if bwrap is not installed.
func New(o Options) (*Executor, error) {
	program, err := exec.LookPath(cmp.Or(o.Program, "bwrap"))
	if err != nil {
		return nil, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "the program bwrap is not installed",
			Hint: "install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap), or use another executor", Err: err}
	}
	limiter := "/usr/bin/prlimit"
	if info, err := os.Stat(limiter); err != nil || info.IsDir() {
		limiter = ""
	}
	e := &Executor{strict: o.Strict, program: program, limiter: limiter, mounts: mounts(append(system[:len(system):len(system)], o.Read...)), filter: sandbox.KeyFilter()}
	e.path = e.visible(os.Getenv("PATH"))
	return e, nil
}

// mounts returns the names that exist. A link stays one, so that its target is mounted once.
func mounts(names []string) []mount {
	var list []mount
	for _, name := range names {
		name = filepath.Clean(name)
		if link, err := os.Readlink(name); err == nil && filepath.Dir(name) == "/" {
			list = append(list, mount{name, link})
		} else if _, err := os.Stat(name); err == nil && filepath.IsAbs(name) {
			list = append(list, mount{name: name})
		}
	}
	return list
}

// visible returns the folders of path, a value of PATH, that commands see.
func (e *Executor) visible(path string) string {
	dirs := filepath.SplitList(path)
	return strings.Join(slices.DeleteFunc(dirs, func(dir string) bool { return !e.sees(dir) }), string(filepath.ListSeparator))
}

// sees reports whether commands see a file. Whether a link in a mounted folder leads to
// what they do not see shows when they open it.
func (e *Executor) sees(name string) bool {
	return slices.ContainsFunc(e.mounts, func(m mount) bool { return regular.In(m.name, name) })
}

// Execute is of interface sandbox.Executor. It goes on reading from r.Stdin if the command
// ends first.
func (e *Executor) Execute(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
	unprotected := e.unprotected(r.Limits)
	if e.strict && len(unprotected) > 0 {
		return sandbox.Result{}, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "bubblewrap cannot confine a command completely: " + strings.Join(unprotected, "; "),
			Hint: "remove the cause, or do without strict"}
	}
	run, err := sandbox.Prepare(r, &sandbox.Setup{Path: cmp.Or(e.path, "/usr/bin:/bin"), Home: home})
	if err != nil {
		return sandbox.Result{}, err
	}
	defer run.Close()
	if program := run.Argv[0]; !e.sees(program) && !regular.In(run.Dir, program) {
		return sandbox.Result{}, &sandbox.Error{Reason: sandbox.NotFound, Fact: "sh: " + program + ": No such file",
			Hint: "bubblewrap shows system folders only; install the program there, or add its folder to those that commands may read"}
	}
	status, w, err := os.Pipe()
	if err != nil {
		return sandbox.Result{}, err
	}
	defer status.Close()
	filter, err := piped(e.filter)
	if err != nil {
		return sandbox.Result{}, errors.Join(err, w.Close())
	}
	cmd := exec.Command(e.program, e.args(run)...)
	cmd.ExtraFiles, cmd.Dir = []*os.File{w, filter}, "/"
	res, err := run.Do(ctx, cmd)
	_, _ = w.Close(), filter.Close()
	if err != nil {
		return res, err
	}
	if res.Stopped == "" && !started(status) {
		return sandbox.Result{}, notStarted(res)
	}
	res.Executor, res.Unprotected = "bubblewrap", unprotected
	return res, nil
}

// piped returns the end of a pipe from which some bytes, fewer than a pipe holds, can be read.
func piped(data []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// args returns the arguments of bwrap. Later mounts cover earlier ones.
func (e *Executor) args(run *sandbox.Run) []string {
	limits, workspace := run.Request.Limits, run.Request.Workspace
	disk := strconv.FormatInt(limits.Disk, 10)
	args := []string{"--unshare-all"}
	if len(limits.Network) > 0 {
		args = append(args, "--share-net")
	}
	if e.filter != nil {
		args = append(args, "--seccomp", "4")
	}
	args = append(args, "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--json-status-fd", "3",
		"--proc", "/proc", "--dev", "/dev", "--size", disk, "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev", // which has no bound
		"--size", disk, "--perms", "0700", "--tmpfs", "/tmp", "--dir", home)
	for _, m := range e.mounts {
		if m.link != "" {
			args = append(args, "--symlink", m.link, m.name)
		} else {
			args = append(args, "--ro-bind", m.name, m.name)
		}
	}
	if len(limits.Network) > 0 {
		for _, name := range network {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	if workspace.Dir != "" {
		bind := "--ro-bind"
		if workspace.Write {
			bind = "--bind"
		}
		args = append(args, bind, workspace.Dir, workspace.Dir)
	}
	args = append(args, "--ro-bind", run.Dir, run.Dir, "--remount-ro", "/", "--chdir", run.Dir, "--")
	if e.limiter != "" {
		args = append(args, e.limiter, "--core=0", "--cpu="+strconv.FormatInt(int64(limits.CPU.Seconds()+1), 10),
			"--as="+strconv.FormatInt(limits.Memory, 10), "--nproc="+strconv.Itoa(limits.Processes), "--fsize="+disk, "--")
	}
	return append(args, run.Argv...)
}

// unprotected returns what nothing keeps the command from.
func (e *Executor) unprotected(l sandbox.Limits) []string {
	var list []string
	if len(l.Network) > 0 {
		list = append(list, "it can connect to every address and port, not only to the ports that are allowed")
	}
	if e.filter == nil {
		list = append(list, "it can read the keys that the kernel keeps for you, because no filter for this processor is known")
	}
	if e.limiter == "" {
		list = append(list, "its memory, CPU time and processes have no limit, because the program prlimit is not installed")
	} else if os.Getuid() == 0 {
		list = append(list, "the number of its processes has no limit, because root started it")
	}
	return list
}

// started reports whether bwrap started the command: it writes an exit code to its status
// then.
func started(status io.Reader) bool {
	lines := bufio.NewScanner(status)
	for lines.Scan() {
		var s struct {
			ExitCode *int `json:"exit-code"`
		}
		if json.Unmarshal(lines.Bytes(), &s) == nil && s.ExitCode != nil {
			return true
		}
	}
	return false
}

// notStarted explains why bwrap did not start a command.
func notStarted(r sandbox.Result) error {
	text, _, _ := bytes.Cut(bytes.TrimSpace(r.Stderr), []byte("\n"))
	return &sandbox.Error{Reason: sandbox.Unavailable, Fact: "bubblewrap cannot make a sandbox: " + string(text),
		Hint: "allow users to make namespaces (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or use another executor"}
}
