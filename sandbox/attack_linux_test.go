package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attackVar is set in a process that is started to try all attempts.
const attackVar = "SANDBOX_ATTACK"

func TestMain(m *testing.M) {
	Main()
	switch {
	case os.Getenv(attackVar) != "":
		attack()
	case os.Getenv(callerVar) != "":
		runAsCaller()
	default:
		os.Exit(m.Run())
	}
}

// A target is what attempts are made on, beside what is the same everywhere.
type target struct {
	Home, Outside, Private, Skill string // folders
	Caller                        int    // process
	Port                          int    // of a TCP server
	Socket, Abstract              string // of Unix servers
	Free                          bool   // no walls: only attempts that succeed then
}

// An attempt is one try to get through the walls.
type attempt struct {
	name string
	stop string        // what stops it
	want syscall.Errno // 0 means that it must succeed
	free bool          // it succeeds without walls, so it is a real attempt
	try  func(target) error
}

// File system.
var fileAttempts = []attempt{
	{"read the accounts", "Landlock", unix.EACCES, true, func(target) error { return read("/etc/passwd") }},
	{"read the passwords", "Landlock, and file modes if not root", unix.EACCES, os.Getuid() == 0, func(target) error { return read("/etc/shadow") }},
	{"read a file in the home", "Landlock", unix.EACCES, true, func(t target) error { return read(t.Home + "/canary") }},
	{"list the home", "Landlock", unix.EACCES, true, func(t target) error { _, err := os.ReadDir(t.Home); return err }},
	{"read through a link", "Landlock", unix.EACCES, true, func(t target) error {
		return errors.Join(os.Symlink(t.Home+"/canary", t.Private+"/link"), read(t.Private+"/link"))
	}},
	{"make a file outside", "Landlock", unix.EACCES, true, func(t target) error { return os.WriteFile(t.Outside+"/new", nil, 0o600) }},
	{"make a folder outside", "Landlock", unix.EACCES, true, func(t target) error { return os.Mkdir(t.Outside+"/dir", 0o700) }},
	{"make a link outside", "Landlock", unix.EACCES, true, func(t target) error { return os.Symlink("x", t.Outside+"/link") }},
	{"change a file outside", "Landlock", unix.EACCES, true, func(t target) error { return os.WriteFile(t.Outside+"/file", nil, 0) }},
	{"empty a file outside", "Landlock", unix.EACCES, true, func(t target) error { return unix.Truncate(t.Outside+"/file", 0) }},
	{"link a file of outside", "Landlock", unix.EXDEV, true, func(t target) error { return os.Link(t.Outside+"/file", t.Private+"/hard") }},
	{"move a file outside", "Landlock", unix.EACCES, true, func(t target) error {
		return errors.Join(os.WriteFile(t.Private+"/moved", nil, 0o600), os.Rename(t.Private+"/moved", t.Outside+"/moved"))
	}},
	{"chmod outside", "supervisor", unix.EPERM, true, func(t target) error { return os.Chmod(t.Outside+"/file", 0o777) }},
	{"chmod outside through a link", "supervisor", unix.EPERM, true, func(t target) error {
		return errors.Join(os.Symlink(t.Outside, t.Private+"/outside"), os.Chmod(t.Private+"/outside/file", 0o777))
	}},
	{"chmod a file that is open for reading", "supervisor", unix.EPERM, true, func(t target) error {
		f, err := os.Open(t.Skill + "/SKILL.md")
		if err != nil {
			return err
		}
		return f.Chmod(0o666)
	}},
	{"set times outside", "supervisor", unix.EPERM, true, func(t target) error { return unix.Utimes(t.Outside+"/file", []unix.Timeval{{}, {}}) }},
	{"chown outside", "supervisor", unix.EPERM, true, func(t target) error { return os.Chown(t.Outside+"/file", os.Getuid(), os.Getgid()) }},
	{"set an attribute outside", "seccomp", unix.EOPNOTSUPP, true, func(t target) error { return unix.Setxattr(t.Outside+"/file", "user.x", []byte("x"), 0) }},
	{"remove a file outside", "Landlock", unix.EACCES, true, func(t target) error { return os.Remove(t.Outside + "/file") }},
	{"write to the skill", "Landlock", unix.EACCES, true, func(t target) error { return os.WriteFile(t.Skill+"/SKILL.md", nil, 0) }},
	{"watch the home", "seccomp", unix.EPERM, true, func(t target) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, t.Home, unix.IN_CREATE)
		return err
	}},
	{"write, chown, chmod and touch its own files", "nothing", 0, true, func(t target) error {
		name := t.Private + "/own"
		err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chown(name, os.Getuid(), -1), os.Chmod(name, 0o750), unix.Utimes(name, []unix.Timeval{{Sec: 5}, {Sec: 7}}))
		if info, err2 := os.Stat(name); err2 != nil || info.Mode() != 0o750 || info.ModTime().Unix() != 7 {
			err = fmt.Errorf("the file is %v, %v (%v)", info, err2, err)
		}
		return err
	}},
}

// Other processes and the kernel.
var processAttempts = []attempt{
	{"read the environment of the caller", "Landlock", unix.EACCES, true, func(t target) error { return read(fmt.Sprintf("/proc/%d/environ", t.Caller)) }},
	{"read the environment of the supervisor", "Landlock, not dumpable", unix.EACCES, true, func(target) error { return readAny("environ", os.O_RDONLY) }},
	{"open the memory of the supervisor", "not dumpable", unix.EACCES, true, func(target) error { return readAny("mem", os.O_RDONLY) }},
	{"open the pipes of the supervisor", "not dumpable", unix.EACCES, false, func(target) error {
		return errors.Join(readAny("fd/3", os.O_RDONLY|unix.O_NONBLOCK), readAny("fd/4", os.O_WRONLY|unix.O_NONBLOCK))
	}},
	{"signal the supervisor", "Landlock", unix.EPERM, true, func(target) error { return unix.Kill(os.Getppid(), 0) }},
	{"signal the caller", "Landlock", unix.EPERM, true, func(t target) error { return unix.Kill(t.Caller, 0) }},
	{"trace the supervisor", "seccomp", unix.EPERM, false, func(target) error { return unix.PtraceAttach(os.Getppid()) }},
	{"read memory of the supervisor", "seccomp", unix.EPERM, false, func(target) error {
		_, err := unix.ProcessVMReadv(os.Getppid(), nil, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
		return err
	}},
	{"limit the supervisor", "seccomp", unix.EPERM, true, func(target) error {
		var old unix.Rlimit
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_CPU, nil, &old)
	}},
	{"slow the supervisor down", "seccomp", unix.EPERM, true, func(target) error {
		p, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getppid()) // 20 less the nice value
		return errors.Join(err, unix.Setpriority(unix.PRIO_PROCESS, os.Getppid(), 20-p))
	}},
	{"slow all processes of the user down", "seccomp", unix.EPERM, false, func(target) error {
		return call(unix.SYS_IOPRIO_SET, 3, 0, 7<<13) // without the wall, the priority is malformed
	}},
	{"make a namespace", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_FS) }},
	{"start a process in a namespace", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD)) }},
	{"hide flags of clone", "seccomp", unix.ENOSYS, false, func(target) error { return call(unix.SYS_CLONE3) }},
	{"mount", "seccomp", unix.EPERM, false, func(target) error { return unix.Mount("x", "/nowhere/at/all", "tmpfs", 0, "") }},
	{"type into a terminal", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI) }},
	{"type into a terminal, upper bits set", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI) }},
	{"read keys", "seccomp", unix.EPERM, true, func(target) error { return call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1) }},
	{"load a program into the kernel", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_BPF) }},
	{"measure the kernel", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_PERF_EVENT_OPEN) }},
	{"fill memory that no limit counts", "seccomp", unix.ENOSYS, true, func(target) error { _, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC); return err }},
	{"share memory with others", "seccomp", unix.EPERM, true, func(target) error { return call(unix.SYS_SHMGET, 0, 4096, 0o600) }},
	{"go around the filter", "seccomp", unix.EPERM, false, func(target) error { return call(unix.SYS_IO_URING_SETUP, 1) }},
	{"hide its files", "seccomp", unix.EPERM, true, func(target) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
	{"keep privileges", "capabilities", unix.EPERM, os.Getuid() == 0, func(target) error {
		text, err := os.ReadFile("/proc/self/status")
		lines := []string{"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"}
		if os.Getuid() == 0 {
			lines = append(lines, "CapBnd:\t0000000000000000\n")
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				return err
			}
		}
		return unix.EPERM
	}},
	{"inherit a file", "close-on-exec", unix.EBADF, true, func(target) error {
		for fd := uintptr(3); fd < 1024; fd++ {
			if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				return nil
			}
		}
		return unix.EBADF
	}},
}

// Network.
var netAttempts = []attempt{
	{"connect over TCP", "seccomp", unix.EPERM, true, func(t target) error { return connectTo(unix.SOCK_STREAM, 0, t.Port) }},
	{"connect over UDP", "seccomp", unix.EPERM, true, func(t target) error { return connectTo(unix.SOCK_DGRAM, 0, t.Port) }},
	{"connect over Multipath TCP", "seccomp", unix.EPERM, false, func(t target) error { return connectTo(unix.SOCK_STREAM, 262, t.Port) }},
	{"open a raw socket", "seccomp", unix.EPERM, false, func(target) error { _, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); return err }},
	{"connect to a Unix socket", "seccomp", unix.EPERM, true, func(t target) error { return connectUnix(unix.SOCK_STREAM, t.Socket) }},
	{"connect to an abstract socket", "seccomp", unix.EPERM, true, func(t target) error { return connectUnix(unix.SOCK_STREAM, "@"+t.Abstract) }},
	{"send from a socket pair", "seccomp", unix.EPERM, true, func(t target) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		return err
	}},
	{"connect by sending data", "seccomp", unix.EPERM, false, func(t target) error { // TCP Fast Open, which Landlock does not see
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: t.Port, Addr: [4]byte{127, 0, 0, 1}})
	}},
	{"listen without an address", "seccomp", unix.EPERM, true, func(target) error { // Landlock sees bind alone
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Listen(fd, 1)
	}},
	{"make a pair of another family", "seccomp", unix.EPERM, false, func(target) error {
		_, err := unix.Socketpair(unix.AF_TIPC, unix.SOCK_STREAM, 0)
		return err
	}},
	{"use a pair of streams", "nothing", 0, true, func(target) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}},
}

func read(name string) error {
	f, err := os.Open(name)
	if err == nil {
		_, err = f.Read(make([]byte, 1))
		_ = f.Close()
	}
	return err
}

// readAny opens a file of each thread of the supervisor.
func readAny(name string, flags int) error {
	dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", os.Getppid()))
	if len(dirs) == 0 {
		return errors.Join(err, errors.New("no threads"))
	}
	for _, dir := range dirs {
		f, err2 := os.OpenFile(dir+"/"+name, flags, 0)
		if err2 == nil {
			return f.Close()
		}
		err = err2
	}
	return err
}

func call(nr uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	pid, _, errno := unix.RawSyscall(nr, a[0], a[1], a[2])
	if nr == unix.SYS_CLONE && errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func connectTo(kind, protocol, port int) error {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

func connectUnix(kind int, name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

// attack makes the attempts and prints what became of each, by name.
func attack() {
	var t target
	if err := json.Unmarshal([]byte(os.Getenv(attackVar)), &t); err != nil {
		panic(err)
	}
	t.Private = os.Getenv("HOME")
	results := make(map[string]int)
	for _, list := range [][]attempt{fileAttempts, processAttempts, netAttempts} {
		for _, a := range list {
			if t.Free && !a.free {
				continue
			}
			err := a.try(t)
			var errno syscall.Errno
			switch {
			case errors.As(err, &errno):
				results[a.name] = int(errno)
			case err != nil:
				fmt.Fprintln(os.Stderr, a.name, err)
				results[a.name] = -1
			default:
				results[a.name] = 0
			}
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(results)
	syscall.Exit(0) // as in Main
}
