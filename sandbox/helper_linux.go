package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An order says what a helper has to do. It is sent as JSON, whose texts are UTF-8; paths and
// arguments need not be, so they are sent as bytes.
type order struct {
	Argv    byteList // the program, an absolute path, and its arguments
	Env     byteList
	Dir     []byte // where the command starts
	Private []byte // the folder whose size is bounded
	Read    byteList
	Write   byteList
	Ports   []int
	Limits  Limits
	ABI     int  // the version of Landlock to use
	Filter  bool // filter system calls
}

// A byteList is a list of texts that is written as a list of bytes.
type byteList []string

// MarshalJSON is of interface json.Marshaler.
func (l byteList) MarshalJSON() ([]byte, error) {
	list := make([][]byte, len(l))
	for i, text := range l {
		list[i] = []byte(text)
	}
	return json.Marshal(list)
}

// UnmarshalJSON is of interface json.Unmarshaler.
func (l *byteList) UnmarshalJSON(data []byte) error {
	var list [][]byte
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, text := range list {
		*l = append(*l, string(text))
	}
	return nil
}

// A report says what became of a command.
type report struct {
	Error    *Error // the command did not start
	ExitCode int
	Signal   string
	Stopped  string
}

// help is a helper: the supervisor of one command. It is outside of the walls, and the command
// can neither signal nor trace it, nor read its memory.
//
// A wall is around a thread, and around what this thread starts. So one thread of the helper
// goes behind the walls and starts the command; the other threads supervise.
func help() int {
	orders, answer := os.NewFile(3, "orders"), os.NewFile(4, "answer")
	// The command must inherit neither these nor what the caller left open.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 2
	}
	// One thread is behind the same walls as the command, so only this keeps the command from
	// the memory and the open files of the helper.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 2
	}
	// What loses its parent becomes a child of the helper.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 2
	}
	var o order
	d := json.NewDecoder(orders)
	if err := d.Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "this is a helper of the sandbox, which only the sandbox can start")
		return 2
	}
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, unix.SIGTERM)
	var orphan atomic.Bool
	go func() { // the pipe ends with the caller
		_, _ = io.Copy(io.Discard, orders)
		orphan.Store(true)
		gone <- unix.SIGHUP
	}()
	r := supervise(&o, gone)
	if temp := filepath.Dir(string(o.Private)); orphan.Load() && strings.HasPrefix(filepath.Base(temp), runPrefix) {
		_ = (&Run{temp: temp}).Close() // nobody else does it, and nobody is left to be told of an error
	}
	if err := json.NewEncoder(answer).Encode(r); err != nil {
		return 2
	}
	return 0
}

// launch starts the command from a thread behind the walls. The thread waits for ever, because
// the kernel kills the command when the thread ends. notes is where the kernel hands over
// attributeCalls; -1 means nowhere.
func launch(o *order, limits map[int]uint64) (pid, notes int, err error) {
	done := make(chan struct{})
	apart(func() {
		notes, err = confine(o)
		if err == nil {
			giveBack := lend(limits)
			pid, err = syscall.ForkExec(o.Argv[0], o.Argv, &syscall.ProcAttr{Dir: string(o.Dir), Env: o.Env, Files: []uintptr{0, 1, 2},
				Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}})
			giveBack()
			if err != nil {
				err = cannotStart(o, err)
			}
		}
		close(done)
		select {}
	})
	<-done
	return pid, notes, err
}

// apart runs f in a goroutine with a thread of its own: nothing else may run behind the walls.
// It is never the first thread of the process. Whether a command may signal a process, Landlock
// asks that thread, and one behind the same walls says yes.
func apart(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		locked := make(chan struct{})
		go func() { // on another thread, as this one is taken
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

func cannotStart(o *order, err error) error {
	e := &Error{Reason: NotExecutable, Fact: "sh: " + o.Argv[0] + ": cannot be started: " + err.Error()}
	switch {
	case errors.Is(err, unix.EACCES):
		e.Hint = "if it, or the program in its first line, is outside of the system's folders, add its folder to Options.Read"
	case errors.Is(err, unix.ENOENT):
		e.Reason, e.Hint = NotFound, "it, or a program that it needs to start, is missing"
	case errors.Is(err, errTooLong):
		e.Reason, e.Hint = Syntax, "hand long texts over as standard input"
	default:
		e.Hint = "check that the program is made for this system"
	}
	return e
}

// confine puts the calling thread behind the walls.
func confine(o *order) (notes int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := restrictFiles(o); err != nil {
		return -1, err
	}
	if err := dropCapabilities(); err != nil {
		return -1, err
	}
	if !o.Filter {
		return -1, nil
	}
	return restrictCalls(o)
}

// dropCapabilities takes all privileges of root from the calling thread and what it starts.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); ; c++ {
			err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			if errors.Is(err, unix.EINVAL) { // the last one was before
				break
			}
			if err != nil {
				return fmt.Errorf("dropping capability %d: %w", c, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	data = [2]unix.CapUserData{}
	if err := unix.Capset(&header, (*unix.CapUserData)(unsafe.Pointer(&data))); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}
