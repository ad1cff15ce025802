//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// detach gives a command a session of its own: without a terminal, ssh cannot ask for a
// password either. All of its processes end when it is cancelled.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
