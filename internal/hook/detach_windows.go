package hook

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the one that starts it, without a console.
func detach(cmd *exec.Cmd) {
	const detachedProcess, belowNormal = 0x8, 0x4000
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess | belowNormal | syscall.CREATE_NEW_PROCESS_GROUP}
}

// yield has nothing to do: a detached process has a low priority from the start.
func yield(*exec.Cmd) error { return nil }
