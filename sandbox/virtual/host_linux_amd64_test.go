package virtual

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// hostCalls are the calls of the system that take a path, start a program, open a connection
// or tell of processes and users.
func hostCalls() []uint32 {
	return []uint32{
		unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
		unix.SYS_ACCESS, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR,
		unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2,
		unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT, unix.SYS_MKNOD, unix.SYS_MKNODAT, unix.SYS_TRUNCATE, unix.SYS_CHMOD,
		unix.SYS_FCHMODAT, unix.SYS_CHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_GETDENTS64, unix.SYS_INOTIFY_ADD_WATCH,
		unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND,
		unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_KILL, unix.SYS_UMASK,
	}
}

// forbid ends this process at the first of those calls, from any thread.
func forbid() error {
	load := unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}
	filter := []unix.SockFilter{load}
	for _, nr := range hostCalls() {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: nr},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_KILL_PROCESS})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// TestNoHost runs all transcripts and all escapes in a process that the system kills when
// it opens, looks at or makes a path, starts a program or connects.
func TestNoHost(t *testing.T) {
	switch os.Getenv("VIRTUAL_TEST_HOST") {
	case "control":
		if err := forbid(); err != nil {
			os.Exit(3)
		}
		_, _ = os.Stat("/")
		os.Exit(0)
	case "run":
		os.Exit(runWithoutHost(t))
	}
	child := func(mode string) (*exec.Cmd, string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoHost$")
		cmd.Env = append(os.Environ(), "VIRTUAL_TEST_HOST="+mode)
		out, err := cmd.CombinedOutput()
		return cmd, string(out), err
	}
	control, out, err := child("control")
	if control.ProcessState.ExitCode() == 3 {
		t.Skip("seccomp is not available here")
	}
	if status, ok := control.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != unix.SIGSYS {
		t.Fatalf("looking at a path is not noticed: %v, %s", err, out)
	}
	if _, out, err := child("run"); err != nil || !strings.HasSuffix(out, "all ran\n") {
		t.Errorf("a program reaches the system: %v; the last lines: %s", err, out[max(0, len(out)-600):])
	}
}

func runWithoutHost(t *testing.T) int {
	texts := map[string]string{}
	for _, name := range transcripts(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			return 2
		}
		texts[name] = string(data)
	}
	warm := New(Options{}) // what the runtime of Go opens once
	if _, err := warm.Run(t.Context(), "echo $(date 2>&1 | cat <<<x)"); err != nil {
		return 2
	}
	if err := forbid(); err != nil {
		return 3
	}
	for name, text := range texts {
		if got := replay(t, name, text); got != text {
			fmt.Println(name, "differs:", got)
			return 1
		}
	}
	for _, e := range escapes {
		fmt.Println(e.name)
		e.run(t, sandbox.Limits{})
	}
	fmt.Println("all ran")
	return 0
}
