//go:build unix

package trial

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// shell returns the command with which a client runs a line.
func shell(ctx context.Context, _ client.Shell, line string) (*exec.Cmd, error) {
	return exec.CommandContext(ctx, "/bin/sh", "-c", line), nil
}

// group makes the command the leader of a process group.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
