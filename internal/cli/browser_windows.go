package cli

import (
	"os/exec"
	"syscall"
)

// detachBrowser keeps an interrupt of this process from another one.
func detachBrowser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
