package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// errTooLong means that arguments and environment are too large.
const errTooLong = windows.ERROR_FILENAME_EXCED_RANGE

// group keeps the command from getting the Ctrl+C of this program.
func group(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the running command and the processes that it started.
func killGroup(cmd *exec.Cmd) {
	taskkill := filepath.Join(os.Getenv("SYSTEMROOT"), "System32", "taskkill.exe")
	_ = exec.Command(taskkill, "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	_ = cmd.Process.Kill()
}

// killRest does nothing: Windows does not know what a process started that has ended.
func killRest(*exec.Cmd) {}

func status(s *os.ProcessState) (code int, signal string) { return s.ExitCode(), "" }

// program returns the program in a file, whose name may lack its end.
func program(file string) (string, bool) {
	for _, end := range []string{"", ".exe", ".com", ".bat", ".cmd"} {
		if info, err := os.Stat(file + end); err == nil && info.Mode().IsRegular() && (end != "" || filepath.Ext(file) == ".exe") {
			return file + end, true
		}
	}
	return "", false
}
