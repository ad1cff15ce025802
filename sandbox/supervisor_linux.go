package sandbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sampling is how often the supervisor looks at what the command and its processes use. For
// this long they can exceed their bounds.
const sampling = 50 * time.Millisecond

// A supervisor watches one command and all processes that come of it.
type supervisor struct {
	order   *order
	command int // its process
	limits  map[int]uint64
	limited map[int]bool // processes that have their limits
	ended   chan struct{}
	goOn    chan struct{}
	result  *report // of the command; nil while it runs
}

// supervise runs a command to its end, and ends all processes that it left behind.
func supervise(o *order, gone <-chan os.Signal) report {
	limits := limitsOf(o.Limits)
	pid, notes, err := launch(o, limits)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Reason: Unavailable, Fact: "the walls around the command cannot be built: " + err.Error(), Hint: "use another executor"}
		}
		return report{Error: &Error{Reason: e.Reason, Fact: e.Fact, Hint: e.Hint}}
	}
	if notes >= 0 {
		go answerNotes(notes, o.Write)
	}
	s := &supervisor{order: o, command: pid, limits: limits, limited: make(map[int]bool), ended: make(chan struct{}), goOn: make(chan struct{})}
	s.limit(pid)
	go s.wait()
	stopped := s.watch(gone)
	s.end()
	s.result.Stopped = stopped
	return *s.result
}

// watch returns when the command has ended, or why it must.
func (s *supervisor) watch(gone <-chan os.Signal) (stopped string) {
	limit := time.NewTimer(s.order.Limits.Timeout + grace) // the caller may be stopped itself
	tick := time.NewTimer(time.Millisecond)
	for s.result == nil {
		select {
		case <-s.ended:
			s.reap()
		case <-limit.C:
			return fmt.Sprintf("it ran longer than %s", s.order.Limits.Timeout)
		case <-gone:
			return "the caller cancelled it"
		case <-tick.C:
			start := time.Now()
			if stopped := s.sample(); stopped != "" {
				return stopped
			}
			// A look that takes long, at many files, comes less often.
			tick.Reset(min(max(sampling, 2*time.Since(start)), 4*sampling))
		}
	}
	return ""
}

// wait reports on s.ended that a child has ended. It leaves the child to reap, so that the
// process numbers that a sample sees cannot belong to other processes.
func (s *supervisor) wait() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.ECHILD {
			close(s.ended)
			return
		}
		if err == nil {
			s.ended <- struct{}{}
			<-s.goOn
		}
	}
}

// reap takes what s.ended reported.
func (s *supervisor) reap() {
	for {
		var w unix.WaitStatus
		pid, err := unix.Wait4(-1, &w, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			break
		}
		delete(s.limited, pid)
		if pid != s.command {
			continue
		}
		s.result = &report{ExitCode: w.ExitStatus()}
		if w.Signaled() {
			s.result.ExitCode, s.result.Signal = 128+int(w.Signal()), unix.SignalName(w.Signal())
		}
	}
	s.goOn <- struct{}{}
}

// end kills all that is left. It stops all processes first: one that runs can start others
// faster than they can be killed.
func (s *supervisor) end() {
	stopped := make(map[int]bool)
	pause := time.NewTimer(time.Millisecond / 4) // mostly, nothing is left
	for {
		select {
		case _, more := <-s.ended:
			if !more {
				return // no child is left, and so no descendant
			}
			s.reap()
			continue
		case <-pause.C:
		}
		list := descendants()
		for again := true; again; list = descendants() {
			again = false
			for _, p := range list {
				if !stopped[p.pid] {
					stopped[p.pid], again = true, true
					_ = unix.Kill(p.pid, unix.SIGSTOP) // it may have ended
				}
			}
		}
		for _, p := range list {
			kill(p.pid)
		}
		pause.Reset(time.Millisecond)
	}
}

func kill(pid int) { _ = unix.Kill(pid, unix.SIGKILL) } // it may have ended

// sample looks at all processes, and returns which bound they exceed.
func (s *supervisor) sample() string {
	l := s.order.Limits
	var count, threads int
	var memory int64
	list := descendants()
	for _, p := range list {
		if p.state == 'Z' {
			continue
		}
		s.limit(p.pid)
		count, threads, memory = count+1, threads+p.threads, memory+p.memory
	}
	switch {
	case count > l.Processes:
		return fmt.Sprintf("it had more than %d processes at once", l.Processes)
	case threads > threadsPerProcess*l.Processes:
		return fmt.Sprintf("it had more than %d threads at once", threadsPerProcess*l.Processes)
	case memory > l.Memory:
		return fmt.Sprintf("it used more than %s of memory", size(l.Memory))
	}
	private := string(s.order.Private)
	used, err := usage(private)
	files, removed := opened(private, list)
	switch {
	case err != nil:
		return "it hid files in its private folder"
	case files > mostFiles(l):
		return fmt.Sprintf("it had more than %d files open at once", mostFiles(l))
	case used+removed > l.Disk:
		return fmt.Sprintf("it wrote more than %s to its private folder", size(l.Disk))
	}
	return ""
}

// mostFiles is how many files all processes may have open. The kernel keeps memory for each
// pipe and socket, which no other limit counts.
func mostFiles(l Limits) int { return max(maxFiles, filesPerProcess*l.Processes) }

// limit sets the limits of a process, which those that it starts inherit. A process that was
// started before its parent had limits gets them with the next sample.
func (s *supervisor) limit(pid int) {
	if s.limited[pid] {
		return
	}
	s.limited[pid] = true
	for resource, value := range s.limits {
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil) // it may have ended
	}
}

// limitsOf returns the limits of each process of a command. That of threads counts all of the
// user, so what runs now comes on top.
func limitsOf(l Limits) map[int]uint64 {
	return map[int]uint64{
		unix.RLIMIT_CPU: uint64((l.CPU + time.Second - 1) / time.Second), unix.RLIMIT_AS: uint64(l.Memory),
		unix.RLIMIT_FSIZE: uint64(l.Disk), unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxFiles,
		unix.RLIMIT_NPROC: uint64(tasks() + threadsPerProcess*l.Processes),
	}
}

// lend lowers the limits of this process, so that the command begins with them, and returns
// how to undo this. The limit of memory is not lent: Go needs more than a command may have.
func lend(limits map[int]uint64) (giveBack func()) {
	old := make(map[int]unix.Rlimit)
	for resource, value := range limits {
		var was unix.Rlimit
		if resource == unix.RLIMIT_AS || unix.Getrlimit(resource, &was) != nil {
			continue
		}
		old[resource] = was
		_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: min(value, was.Max), Max: was.Max}) // lowering always works
	}
	return func() {
		for resource, was := range old {
			_ = unix.Setrlimit(resource, &was)
		}
	}
}

const (
	maxFiles          = 1024 // open in one process
	threadsPerProcess = 8    // on average
	filesPerProcess   = 64   // open, on average
)

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
