package hook

import (
	"os/exec"
	"syscall"
)

// detach makes a process outlive the one that starts it, without a console.
func detach(cmd *exec.Cmd) {
	const detachedProcess = 0x8
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}
