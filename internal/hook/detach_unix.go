//go:build !windows

package hook

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the one that starts it, in a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// yield gives a detached process a low priority, with all threads that it has and will have.
func yield(cmd *exec.Cmd) error { return syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, 10) }
