//go:build !windows

package cli

import (
	"os/exec"
	"syscall"
)

// detachBrowser makes a process outlive this one, in a session of its own.
func detachBrowser(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
