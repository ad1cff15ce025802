package trial

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// shell returns the command with which a client runs a line.
func shell(ctx context.Context, s client.Shell, line string) (*exec.Cmd, error) {
	switch s {
	case client.PowerShell:
		return exec.CommandContext(ctx, "powershell.exe", "-NoProfile", "-Command", line), nil
	case client.GitBash, client.Posix:
		bash, err := exec.LookPath("bash.exe")
		if err != nil {
			return nil, fmt.Errorf("it cannot be tried without Git Bash: %w", err)
		}
		return exec.CommandContext(ctx, bash, "-c", line), nil
	}
	cmd := exec.CommandContext(ctx, "cmd.exe")
	// The shell takes the line as it is, without the escapes that Go writes for programs.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + line + `"`}
	return cmd, nil
}

func group(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
