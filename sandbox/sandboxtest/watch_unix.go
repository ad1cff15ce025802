//go:build unix

package sandboxtest

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// watch gives a request a workspace with a named pipe. What it returns fails unless every
// process that opened the pipe for writing ends.
func (s *suite) watch(r *sandbox.Request) (gone func()) {
	s.Helper()
	if s.options.Shell {
		s.Skip("a shell without processes has no children")
	}
	r.Workspace = sandbox.Workspace{Dir: s.workspace(), Write: true}
	name := filepath.Join(r.Workspace.Dir, "pipe")
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		s.Skip("no named pipes here: ", err)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = f.Close() })
	return func() {
		s.Helper()
		if err := f.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			s.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil {
			s.Errorf("after %q, a process still has the pipe open: %v", text, err)
		}
	}
}

// noChildren fails if this process has children, running ones or such that it must wait for.
func (s *suite) noChildren() {
	s.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		s.Errorf("there is a child %d, %v", pid, err)
	}
}
