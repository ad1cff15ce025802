//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that no script needs and that reach around Landlock: into
// other processes, the kernel, mounts, namespaces, keys and shared memory, or, with io_uring,
// around this very filter. Watching folders would show the names of files.
var deniedCalls = []uintptr{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_PROCESS_MADVISE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_INOTIFY_ADD_WATCH,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_LISTEN, // without bind, which Landlock sees, it takes a free port of all addresses
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// missingCalls answer that the kernel does not have them, and programs then use others:
// clone for clone3, whose flags no filter can read; files in the private folder for those in
// memory, which no limit counts; and no extended attributes, which Landlock does not see.
var missingCalls = []uintptr{unix.SYS_CLONE3, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_FILE_SETATTR}

var unsupportedCalls = []uintptr{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
}

// attributeCalls change the mode, the times or the owner of a file. Landlock does not see
// them, so the supervisor does what they ask for, in the folders that the command may write.
var attributeCalls = map[uintptr]string{
	unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat", unix.SYS_FCHMODAT2: "fchmodat2", unix.SYS_UTIMENSAT: "utimensat",
	unix.SYS_FCHOWN: "fchown", unix.SYS_FCHOWNAT: "fchownat",
}

// selfCalls change a process, and are for the caller alone: these arguments must have these
// values. 0 is the caller where a process is meant, and where a user is meant it is all that
// the user runs. Landlock lets the calls reach each process of the user, the supervisor too.
var selfCalls = map[uintptr]map[int]uint32{
	unix.SYS_PRLIMIT64: {0: 0}, unix.SYS_SCHED_SETAFFINITY: {0: 0}, unix.SYS_SCHED_SETATTR: {0: 0}, unix.SYS_SCHED_SETPARAM: {0: 0},
	unix.SYS_SCHED_SETSCHEDULER: {0: 0}, unix.SYS_SETPRIORITY: {0: unix.PRIO_PROCESS, 1: 0}, unix.SYS_IOPRIO_SET: {0: ioprioProcess, 1: 0},
}

const ioprioProcess = 1 // IOPRIO_WHO_PROCESS

// sendCalls send, with flags in an argument. MSG_FASTOPEN connects, which Landlock does not
// see.
var sendCalls = map[uintptr]int{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3}

// namespaces are the flags of clone that make one. CLONE_NEWTIME is none of them: in clone,
// its bit belongs to a signal number.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// deniedControls are ioctl requests that type into a terminal, or change flags of a file that
// is open for reading only.
var deniedControls = []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.FS_IOC_SETFLAGS, fsSetXattr}

const fsSetXattr = 0x401c5820 // FS_IOC_FSSETXATTR

// Offsets in what the kernel shows to a filter.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16 // of 8 bytes each, the lower half first on the processors that are known here
)

const (
	retAllow  = unix.SECCOMP_RET_ALLOW
	retNotify = unix.SECCOMP_RET_USER_NOTIF
	retKill   = unix.SECCOMP_RET_KILL_PROCESS
)

func retError(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

type filter []unix.SockFilter

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) ret(k uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k})
}

// when lets the next n instructions run only if the loaded word compares with k.
func (f *filter) when(compare uint16, k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jf: n, K: k})
}

// unless is the opposite of when.
func (f *filter) unless(compare uint16, k uint32, n uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jt: n, K: k})
}

// calls returns k for each of the system calls.
func (f *filter) calls(numbers []uintptr, k uint32) {
	for _, nr := range numbers {
		f.when(unix.BPF_JEQ, uint32(nr), 1)
		f.ret(k)
	}
}

// block runs the instructions of body for one system call. Each body ends with a return.
func (f *filter) block(nr uintptr, body filter) {
	f.when(unix.BPF_JEQ, uint32(nr), uint8(len(body)))
	*f = append(*f, body...)
}

// deny returns denied for a system call if an argument compares with one of the values.
func (f *filter) deny(nr uintptr, arg int, compare uint16, values []uint32, denied uint32) {
	var body filter
	body.load(atArgs + 8*uint32(arg))
	for _, v := range values {
		body.when(compare, v, 1)
		body.ret(denied)
	}
	body.ret(retAllow)
	f.block(nr, body)
}

// arguments looks at the arguments of selfCalls and sendCalls.
func (f *filter) arguments(denied uint32) {
	for nr, args := range selfCalls {
		var body filter
		for arg, value := range args {
			body.load(atArgs + 8*uint32(arg))
			body.unless(unix.BPF_JEQ, value, 1)
			body.ret(denied)
		}
		body.ret(retAllow)
		f.block(nr, body)
	}
	for nr, arg := range sendCalls {
		f.deny(nr, arg, unix.BPF_JSET, []uint32{unix.MSG_FASTOPEN}, denied)
	}
}

// ofThisProcessor returns the beginning of a filter: it lets only calls of this processor on, and
// loads their numbers.
func ofThisProcessor() filter {
	var f filter
	f.load(atArch)
	f.unless(unix.BPF_JEQ, auditArch, 1)
	f.ret(retKill) // programs for another processor, whose calls have other numbers
	f.load(atNumber)
	f.when(unix.BPF_JGE, 0x40000000, 1)
	f.ret(retError(unix.ENOSYS)) // the x32 numbers of amd64
	return f
}

// newFilter returns the filter of a command.
func newFilter(abi int, ports bool) filter {
	denied := retError(unix.EPERM)
	f := ofThisProcessor()
	f.calls(slices.Concat(deniedCalls, deniedHere), denied)
	f.calls(slices.Concat(missingCalls, missingHere), retError(unix.ENOSYS))
	f.calls(unsupportedCalls, retError(unix.EOPNOTSUPP))
	for _, calls := range []map[uintptr]string{attributeCalls, attributesHere} {
		f.calls(slices.Sorted(maps.Keys(calls)), retNotify)
	}
	if abi < 3 {
		f.calls([]uintptr{unix.SYS_TRUNCATE}, denied) // later versions of Landlock see it
	}
	f.arguments(denied)
	f.deny(unix.SYS_CLONE, 0, unix.BPF_JSET, []uint32{namespaces}, denied)
	f.deny(unix.SYS_IOCTL, 1, unix.BPF_JEQ, deniedControls, denied)
	f.deny(unix.SYS_PRCTL, 0, unix.BPF_JEQ, []uint32{unix.PR_SET_DUMPABLE}, denied) // a process that hides could not be measured
	f.block(unix.SYS_SOCKETPAIR, socketPair())
	f.block(unix.SYS_SOCKET, socket(ports))
	f.ret(retAllow)
	return f
}

// socketPair allows pairs of Unix streams. A pair of datagram sockets could be connected to
// any other socket of the machine.
func socketPair() filter {
	var f filter
	f.load(atArgs)
	f.unless(unix.BPF_JEQ, unix.AF_UNIX, 1)
	f.ret(retError(unix.EPERM))
	f.load(atArgs + 8)
	f = append(f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
	f.when(unix.BPF_JEQ, unix.SOCK_STREAM, 1)
	f.ret(retAllow)
	f.ret(retError(unix.EPERM))
	return f
}

// socket allows TCP if there are ports to connect to, and nothing else: Landlock sees neither
// UDP (before version 10) nor Multipath TCP, and a Unix socket leads to any server of the user.
func socket(ports bool) filter {
	denied := retError(unix.EPERM)
	var f filter
	if !ports {
		f.ret(denied)
		return f
	}
	f.load(atArgs)
	f.unless(unix.BPF_JEQ, unix.AF_INET, 2)
	f.unless(unix.BPF_JEQ, unix.AF_INET6, 1)
	f.ret(denied)
	f.load(atArgs + 8)
	f = append(f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
	f.unless(unix.BPF_JEQ, unix.SOCK_STREAM, 1)
	f.ret(denied)
	f.load(atArgs + 16)
	f.unless(unix.BPF_JEQ, 0, 2)
	f.unless(unix.BPF_JEQ, unix.IPPROTO_TCP, 1)
	f.ret(denied)
	f.ret(retAllow)
	return f
}

// restrictCalls puts the calling thread, and what it starts, behind the filter. It returns
// the descriptor on which the kernel hands over attributeCalls.
func restrictCalls(o *order) (int, error) {
	f := newFilter(o.ABI, len(o.Ports) > 0)
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	install := func(flags uintptr) (uintptr, unix.Errno) {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
		return fd, errno
	}
	// A signal must not interrupt a call that is being answered; Linux before 5.19 cannot do this.
	fd, errno := install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL {
		fd, errno = install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return -1, fmt.Errorf("filtering system calls: %w", errno)
	}
	return int(fd), nil
}

// canFilter reports whether the kernel can filter system calls and hand some over.
func canFilter() bool {
	action := uint32(retNotify)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
