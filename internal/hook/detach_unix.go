//go:build !windows

package hook

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the one that starts it, in a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
