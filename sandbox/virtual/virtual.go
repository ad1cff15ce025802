// Package virtual runs shell scripts of skills without any process. Files are in memory, the
// shell is mvdan.cc/sh, and the few utilities are ours. The one rule: nothing that a script
// says reaches the system; files of the user come in and go out through Mount and
// Request.Workspace only.
//
// What the interpreter does by itself on the system is refused before a script runs, or said
// in another way: see prepare.go. Every run is bounded in steps, bytes, files and depth, and
// the same input gives the same output.
package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// The defaults of Options.
const (
	DefaultRoot  = "/.sandbox"
	DefaultDisk  = 64 << 20
	DefaultFiles = 10_000
	DefaultSteps = 1_000_000
	DefaultWork  = 512 << 20
)

// Options configure a Sandbox. The zero value is ready for use.
type Options struct {
	Root  string // folder of the sandbox; "" means DefaultRoot. Skills are in Root/skills
	Disk  int64  // bytes that all files may have; 0 means DefaultDisk
	Files int    // files and folders that there may be; 0 means DefaultFiles
	Steps int64  // statements, rounds of loops and calls of one run, some 3 for a command; 0 means DefaultSteps
	Work  int64  // bytes that one run may make and read, and steps of matching; it may take as much memory. 0 means DefaultWork

	// KeepGoing means that a script goes on after a command that failed, as a shell
	// does; false means that it stops there, as after "set -e".
	KeepGoing bool
}

// A Sandbox is a file system in memory and a shell in it. It lasts as long as a conversation:
// files stay from one run to the next. Variables and the working folder do not: each run is
// a new shell. It may be used from several goroutines; one runs at a time.
type Sandbox struct {
	opts   Options
	turn   chan struct{} // holds one value while a program runs, here or in a fork
	busy   chan struct{} // holds one value while a run uses the fields below
	tree   *tree
	skills map[string]string // the folder that each came from, by name; "" is unknown
	size   atomic.Int64      // of the files after the last run
}

// New returns an empty sandbox.
func New(o Options) *Sandbox {
	o.Root = absolute("", cmp.Or(o.Root, DefaultRoot))
	o.Disk, o.Files, o.Steps, o.Work = cmp.Or(o.Disk, DefaultDisk), cmp.Or(o.Files, DefaultFiles), cmp.Or(o.Steps, DefaultSteps), cmp.Or(o.Work, DefaultWork)
	return &Sandbox{opts: o, turn: make(chan struct{}, 1), busy: make(chan struct{}, 1), tree: newTree(o.Disk, o.Files), skills: map[string]string{}}
}

// lock waits until no other run uses the sandbox.
func (s *Sandbox) lock(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Sandbox) unlock() {
	s.size.Store(s.tree.size + int64(s.tree.files)*nodeSize)
	<-s.busy
}

// Folders of the sandbox.
func (s *Sandbox) skillDir(name string) string { return path.Join(s.opts.Root, "skills", name) }
func (s *Sandbox) workspaceDir() string        { return path.Join(s.opts.Root, "workspace") }
func (s *Sandbox) tempDir() string             { return path.Join(s.opts.Root, "tmp") }

// Harmless is of interface sandbox.Harmless: no command reaches more than the files here.
func (s *Sandbox) Harmless() {}

// Fork returns a sandbox with the same files and skills. Neither sees what happens in the other.
// One program of both runs at a time, because each may take hundreds of MiB of memory.
func (s *Sandbox) Fork() sandbox.Box {
	s.busy <- struct{}{}
	defer s.unlock()
	tree := *s.tree
	tree.root = s.tree.root.clone()
	f := &Sandbox{opts: s.opts, turn: s.turn, busy: make(chan struct{}, 1), tree: &tree, skills: maps.Clone(s.skills)}
	f.size.Store(s.size.Load())
	return f
}

// Size returns how many bytes of memory the files take, about: after the last run, if one is
// under way.
func (s *Sandbox) Size() int64 { return s.size.Load() }

// Run runs a program of the shell in the sandbox; its working folder is the one that holds
// the skills' folders.
func (s *Sandbox) Run(ctx context.Context, command string) (sandbox.Result, error) {
	return s.Execute(ctx, sandbox.Request{Command: command})
}

// Execute runs Request.Command, which may be a whole program of the shell, in a new shell
// whose working folder is the skill's. It mounts the skill if it is not mounted yet, in
// the place of one of this name from another folder. Args are appended to a command that is
// a single one. A list of allowed tools is not needed: the commands here can harm nothing.
// Of Limits, Timeout, Output and Disk hold; there is no network and no second process.
//
// A workspace is at Root/workspace during the run, whose environment has the path in
// WORKSPACE. What a successful run changed there is written back if Workspace.Write is
// set; if that fails, Execute returns the result and an error.
func (s *Sandbox) Execute(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
	if runtime.GOOS == "windows" {
		return sandbox.Result{}, &sandbox.Error{Reason: sandbox.Unavailable, Fact: "the virtual executor does not run on Windows",
			Hint: "its shell takes paths as Windows does; use another executor"}
	}
	if err := s.lock(ctx); err != nil {
		return sandbox.Result{}, err
	}
	defer s.unlock()
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, err
	}
	defer func() { s.tree.maxSize = s.opts.Disk }()
	dir, err := s.open(r)
	if err != nil {
		return sandbox.Result{}, err
	}
	w, err := s.bringWorkspace(r.Workspace)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer s.dropWorkspace()
	result, err := s.execute(ctx, r, dir)
	if err == nil && result.ExitCode == 0 && result.Stopped == "" {
		err = w.writeBack(s)
	}
	return result, err
}

// open mounts the skill of a request and returns the working folder.
func (s *Sandbox) open(r sandbox.Request) (string, error) {
	if err := errors.Join(s.tree.mkdirAll(s.skillDir("")), s.tree.mkdirAll(s.tempDir())); err != nil {
		return "", err
	}
	if r.Skill == "" && r.Dir == "" && r.Files == nil {
		return s.skillDir(""), nil
	}
	if from := s.skills[r.Skill]; s.mounted(r.Skill) && (from == "" || r.Dir == "" || from == r.Dir) {
		return s.skillDir(r.Skill), nil // else it is another skill of this name
	}
	if err := s.mountRequest(r); err != nil {
		return "", &sandbox.Error{Reason: sandbox.NotFound, Fact: fmt.Sprintf("the files of the skill %q cannot be read", tidy.Line(r.Skill)),
			Hint: "check that its folder exists and is not too large: " + err.Error(), Err: err}
	}
	return s.skillDir(r.Skill), nil
}

// execute runs one program under its limits, when no other program runs.
func (s *Sandbox) execute(ctx context.Context, r sandbox.Request, dir string) (sandbox.Result, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return sandbox.Result{}, ctx.Err()
	}
	timeout := r.Limits.Timeout
	if timeout <= 0 {
		timeout = sandbox.DefaultTimeout
	}
	if r.Limits.Disk > 0 {
		s.tree.maxSize = min(s.opts.Disk, s.tree.size+r.Limits.Disk)
	}
	start := time.Now()
	timed, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	run := newRun(s, timed, r)
	defer run.m.cancel()
	code, err := run.main(r, dir)
	if err != nil {
		return sandbox.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, err
	}
	result := sandbox.Result{ExitCode: code, Duration: time.Since(start), Executor: "virtual"}
	if why := run.m.why.Load(); why != nil {
		result.Stopped = why.reason
	} else if timed.Err() != nil {
		result.Stopped = fmt.Sprintf("it ran longer than %s", timeout)
	}
	if result.Stopped != "" {
		result.ExitCode, result.Signal = 128+9, "SIGKILL" // as where a process is killed
	}
	var cutOut, cutErr bool
	result.Stdout, cutOut = run.out.Bytes()
	result.Stderr, cutErr = run.err.Bytes()
	result.Truncated = cutOut || cutErr
	return result, nil
}
