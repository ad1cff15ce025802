package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// New returns the executor that puts walls around commands.
//
// A command can read and run what is in the folders of the system (not accounts, keys and data
// of other programs), programs on PATH, its skill, Options.Read and its workspace. It can write
// to its private folder, and to the workspace if it may. It can connect to the TCP ports of
// Limits.Network alone, and to port 53 for names if there are any. It can signal, trace and
// read no process but its own. All of these end with it, and when it exceeds its limits.
//
// What gets through: it sees names and command lines of other processes, and whether a file
// exists and how large it is. It can exceed its limits for the 50 ms between two looks. Files
// that it maps into memory, closes and removes do not count as disk space. Shared memory and
// locks between processes (/dev/shm, such as multiprocessing of Python) do not work.
//
// What the kernel cannot do stands in Result.Unprotected; with Options.Strict, New or Execute
// refuse instead.
func New(o Options) (Executor, error) {
	if !mainCalled.Load() {
		return nil, &Error{Reason: Unavailable, Fact: "the confined executor cannot start its helper", Hint: "call sandbox.Main() first in main"}
	}
	c, err := newConfined(o, landlockABI(), canFilter())
	if err != nil {
		return nil, err
	}
	return c, nil
}

func newConfined(o Options, abi int, filter bool) (*confined, error) {
	if abi == 0 {
		return nil, &Error{Reason: Unavailable, Fact: "the confined executor needs Landlock, which this kernel lacks or has switched off",
			Hint: "use Linux 5.13 or later with landlock in its option lsm=; to run commands without walls, pass --allow-unconfined"}
	}
	c := &confined{options: o, abi: abi, filter: filter}
	return c, c.strict(nil)
}

type confined struct {
	options Options
	abi     int  // the version of Landlock that is used
	filter  bool // system calls can be filtered
}

// unprotected returns what nothing keeps a command from.
func (c *confined) unprotected(ports []int) []string {
	var list []string
	if c.abi < 3 {
		list = append(list, "it can empty files that it may only read (Landlock 3 of Linux 6.2 prevents this)")
	}
	if c.abi < 4 && len(ports) > 0 && c.filter {
		list = append(list, "it can connect to every TCP port (Landlock 4 of Linux 6.7 prevents this)")
	}
	if c.abi < 6 {
		list = append(list, "it can end other processes of yours (Landlock 6 of Linux 6.12 prevents this)")
	}
	if !c.filter {
		list = append(list, "it can connect to every address and change modes and times of your files (a filter of system calls, for amd64 and arm64, prevents this)")
	}
	return list
}

// strict returns an error if something is unprotected that must not be.
func (c *confined) strict(ports []int) error {
	list := c.unprotected(ports)
	if !c.options.Strict || len(list) == 0 {
		return nil
	}
	return &Error{Reason: Unavailable, Fact: "this kernel cannot confine a command completely: " + strings.Join(list, "; "),
		Hint: "use a newer kernel, or do without strict"}
}

// Execute is of interface Executor.
func (c *confined) Execute(ctx context.Context, r Request) (Result, error) {
	if err := c.strict(r.Limits.Network); err != nil {
		return Result{}, err
	}
	run, err := Prepare(r, nil)
	if err != nil {
		return Result{}, err
	}
	defer run.Close()
	o, err := c.order(run)
	if err != nil {
		return Result{}, err
	}
	res, err := c.start(ctx, run, o)
	res.Executor, res.Unprotected = "confined", c.unprotected(o.Ports)
	if w := run.Request.Workspace; w.Write && regular.In(w.Dir, run.Dir) { // Landlock cannot take back what a rule gives
		res.Unprotected = append(res.Unprotected, "it can change its own skill, which is in the workspace")
	}
	return res, err
}

// order says what the helper has to do.
func (c *confined) order(run *Run) (*order, error) {
	o := &order{Argv: run.Argv, Env: run.Env, Dir: []byte(run.Dir), Private: []byte(run.Private), Limits: run.Request.Limits,
		ABI: c.abi, Filter: c.filter, Ports: slices.Clone(run.Request.Limits.Network),
		Read: []string{run.Dir}, Write: []string{run.Private}}
	if w := run.Request.Workspace; w.Dir != "" && w.Write {
		o.Write = append(o.Write, w.Dir)
	} else if w.Dir != "" {
		o.Read = append(o.Read, w.Dir)
	}
	for _, dir := range c.options.Read {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) {
			return nil, &Error{Reason: Unavailable, Fact: "commands cannot be let read " + dir, Hint: "name an existing folder by its absolute path in Options.Read", Err: err}
		}
		o.Read = append(o.Read, real)
	}
	if len(o.Ports) > 0 && !slices.Contains(o.Ports, 53) {
		o.Ports = append(o.Ports, 53)
	}
	if len(o.Ports) > 0 && run.Request.Env["RES_OPTIONS"] == "" {
		o.Env = append(slices.Clone(o.Env), "RES_OPTIONS=use-vc") // names over TCP, for there is no UDP
	}
	o.Read = append(o.Read, installations(run)...)
	return o, nil
}

// installations returns the folders of the programs on PATH and of the program that starts,
// with their libraries.
func installations(run *Run) []string {
	var dirs []string
	for _, v := range run.Env {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs = filepath.SplitList(list)
		}
	}
	files := []string{run.Argv[0]}
	if real, err := filepath.EvalSymlinks(run.Argv[0]); err == nil {
		files = append(files, real)
		dirs = append(dirs, filepath.Dir(run.Argv[0]), filepath.Dir(real))
	}
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if root := installation(real); root != "" {
				files = append(files, root)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// installation returns the folder that holds a folder of programs and their libraries, as
// version managers and /opt have it; "" means none. Folders called bin alone hold programs
// only, such as those in a home: what lies beside them may be anything.
func installation(programs string) string {
	root := filepath.Dir(programs)
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // unknown, so it could be anywhere
	}
	home = regular.Real(home)
	// The homes of other users lie beside the home.
	private := root == "/" || regular.In(root, home) || filepath.Dir(root) == filepath.Dir(home) || root == filepath.Join(home, ".local")
	switch filepath.Base(programs) {
	case "shims":
		if private {
			return programs
		}
		return root
	case "bin", "sbin":
		info, err := os.Stat(filepath.Join(root, "lib"))
		if err == nil && info.IsDir() && !private {
			return root
		}
		return programs
	}
	return ""
}

// start starts the helper, hands it the order and returns what became of the command.
func (c *confined) start(ctx context.Context, run *Run, o *order) (Result, error) {
	ordered, orders, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("making a pipe: %w", err)
	}
	defer ordered.Close()
	defer orders.Close() // the helper ends when its end of the pipe does, so also with this process
	answers, answer, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("making a pipe: %w", err)
	}
	defer answers.Close()
	defer answer.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{helperName}, Dir: "/", ExtraFiles: []*os.File{ordered, answer},
		Env: []string{"GOTRACEBACK=none", "GOGC=off", "GOMAXPROCS=2", "GOMEMLIMIT=64MiB"}} // nothing of this process
	go func() { _ = json.NewEncoder(orders).Encode(o) }() // a helper that cannot read it says so
	res, err := run.Do(ctx, cmd)
	_ = answer.Close()
	var r report
	if err2 := json.NewDecoder(io.LimitReader(answers, 1<<20)).Decode(&r); err2 != nil {
		killOrphans(run.Private)
		res.ExitCode, res.Signal = 128+int(unix.SIGKILL), "SIGKILL" // the kernel kills the command with its supervisor
		if err == nil && res.Stopped == "" {
			res.Stopped = "its supervisor was killed"
		}
		return res, helperFailed(err)
	}
	switch {
	case err != nil:
		return res, err
	case r.Error != nil:
		return Result{}, r.Error
	}
	res.ExitCode, res.Signal = r.ExitCode, r.Signal
	if res.Stopped == "" {
		res.Stopped = r.Stopped
	}
	return res, nil
}

// helperFailed explains that the helper did not start. Another error stays as it is.
func helperFailed(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Reason: Unavailable, Fact: "the confined executor cannot start its helper: " + e.Fact, Hint: "check that /proc is mounted", Err: err}
	}
	return err
}

// killOrphans ends what a killed helper left behind: the processes whose environment names
// the private folder. The kernel has killed the command itself by then.
func killOrphans(private string) {
	for range 100 {
		found := false
		for _, p := range processes() {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
			if err == nil && p.state != 'Z' && strings.Contains(string(env), "="+private+"\x00") {
				found = true
				kill(p.pid)
			}
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
