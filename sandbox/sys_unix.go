//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// errTooLong means that arguments and environment are too large.
const errTooLong = syscall.E2BIG

// group makes the command the leader of a process group.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
}

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// killRest kills what is left of the group of a command that has ended.
func killRest(cmd *exec.Cmd) { killGroup(cmd) }

// status returns the exit code as a shell gives it, and the signal that ended the command.
func status(s *os.ProcessState) (code int, signal string) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), unix.SignalName(w.Signal())
	}
	return s.ExitCode(), ""
}

// program returns the program in a file.
func program(file string) (string, bool) {
	info, err := os.Stat(file)
	return file, err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
