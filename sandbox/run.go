package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Times that a command gets after it was asked to end, and after it ended.
const (
	grace = time.Second            // from SIGTERM to SIGKILL
	drain = 500 * time.Millisecond // to read what is left in the pipes
)

// Do starts cmd, which runs the command of the request, and waits for it. Do gives it a
// process group, and a standard input, output and error. When the command ends, when its
// time is over or when ctx ends, Do kills the group. The environment and the folder are set
// unless cmd has them.
func (run *Run) Do(ctx context.Context, cmd *exec.Cmd) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if cmd.Env == nil {
		cmd.Env = run.Env
	}
	if cmd.Dir == "" {
		cmd.Dir = run.Dir
	}
	group(cmd)
	streams, err := connect(cmd, run.Request.Stdin, run.Request.Limits.Output)
	if err != nil {
		return Result{}, err
	}
	start := time.Now()
	err = cmd.Start()
	streams.started()
	if err != nil {
		streams.close()
		return Result{}, notStarted(cmd, err)
	}
	stopped := run.wait(ctx, cmd)
	killRest(cmd)
	streams.drain()
	if err := ctx.Err(); err != nil && stopped != "" {
		return Result{}, err
	}
	r := Result{Duration: time.Since(start), Stopped: stopped}
	r.ExitCode, r.Signal = status(cmd.ProcessState)
	var cutOut, cutErr bool
	r.Stdout, cutOut = streams.out.Bytes()
	r.Stderr, cutErr = streams.err.Bytes()
	r.Truncated = cutOut || cutErr
	return r, nil
}

// wait waits for the command, and stops it when ctx or its time ends. It returns why.
func (run *Run) wait(ctx context.Context, cmd *exec.Cmd) (stopped string) {
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(done)
	}()
	limit := time.NewTimer(run.Request.Limits.Timeout)
	defer limit.Stop()
	select {
	case <-done:
		return ""
	case <-ctx.Done():
		stopped = "the caller cancelled it"
	case <-limit.C:
		stopped = fmt.Sprintf("it ran longer than %s", run.Request.Limits.Timeout)
	}
	terminateGroup(cmd)
	select {
	case <-done:
	case <-time.After(grace):
		killGroup(cmd)
		<-done
	}
	return stopped
}

// notStarted explains why the system did not start a program that is there.
func notStarted(cmd *exec.Cmd, err error) error {
	reason, hint := NotExecutable, "check that the program is made for this system"
	switch {
	case errors.Is(err, os.ErrNotExist):
		reason, hint = NotFound, "it was there a moment ago; try again"
	case errors.Is(err, errTooLong):
		reason, hint = Syntax, "hand long texts over as standard input"
	}
	return &Error{Reason: reason, Fact: fmt.Sprintf("sh: %s: cannot be started: %v", cmd.Path, cause(err)), Hint: hint, Err: err}
}

// cause returns the innermost error.
func cause(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// streams connect a command with its request. They are pipes of our own and not those of
// package exec, which waits for processes that inherited them.
type streams struct {
	out, err *Output
	theirs   []*os.File // ends that the command has
	ours     []*os.File
	copies   sync.WaitGroup
}

func connect(cmd *exec.Cmd, stdin io.Reader, limit int64) (*streams, error) {
	s := &streams{out: NewOutput(limit), err: NewOutput(limit)}
	for _, to := range []struct {
		end *io.Writer
		out *Output
	}{{&cmd.Stdout, s.out}, {&cmd.Stderr, s.err}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.started()
			s.close()
			return nil, fmt.Errorf("making a pipe: %w", err)
		}
		*to.end = w
		s.ours, s.theirs = append(s.ours, r), append(s.theirs, w)
		s.copies.Go(func() { _, _ = io.Copy(to.out, r) }) // ends when r is closed
	}
	if stdin == nil {
		return s, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		s.started()
		s.close()
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	cmd.Stdin = r
	s.ours, s.theirs = append(s.ours, w), append(s.theirs, r)
	go func() { // a command need not read its input; a reader that blocks must not hold the result
		_, _ = io.Copy(w, stdin)
		_ = w.Close()
	}()
	return s, nil
}

// started closes the ends that the command has by now.
func (s *streams) started() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
}

// drain reads what is left in the pipes. A process that left the group may hold them open,
// so drain waits for a short time only.
func (s *streams) drain() {
	done := make(chan struct{})
	go func() { s.copies.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drain):
	}
	s.close()
	<-done
}

func (s *streams) close() {
	for _, f := range s.ours {
		_ = f.Close()
	}
}
