//go:build amd64 || arm64

package sandbox

import (
	"testing"

	"golang.org/x/sys/unix"
)

// verdict returns what a filter answers to a system call.
func verdict(t *testing.T, f filter, nr uintptr, args ...uint32) uint32 {
	t.Helper()
	words := map[uint32]uint32{atNumber: uint32(nr), atArch: auditArch}
	for i, a := range args {
		words[atArgs+8*uint32(i)] = a
	}
	var a uint32
	for pc := 0; pc < len(f); pc++ {
		in := f[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = words[in.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = a&in.K != 0
		default:
			t.Fatalf("instruction %d has the unknown code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("the filter has no answer")
	return 0
}

// TestFilter asks the filter about calls that would change this machine if they were made.
func TestFilter(t *testing.T) {
	f := newFilter(6, true)
	denied := retError(unix.EPERM)
	for _, test := range []struct {
		name string
		nr   uintptr
		args []uint32
		want uint32
	}{
		{"lower its own priority", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 0, 10}, retAllow},
		{"lower the priority of another process", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PROCESS, 7, 10}, denied},
		{"lower the priority of a group", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_PGRP, 0, 10}, denied},
		{"lower the priority of all processes of the user", unix.SYS_SETPRIORITY, []uint32{unix.PRIO_USER, 0, 10}, denied},
		{"write to disk as the last", unix.SYS_IOPRIO_SET, []uint32{ioprioProcess, 0, 3 << 13}, retAllow},
		{"let the user write to disk as the last", unix.SYS_IOPRIO_SET, []uint32{3, 0, 3 << 13}, denied},
		{"limit itself", unix.SYS_PRLIMIT64, []uint32{0, 1}, retAllow},
		{"limit another process", unix.SYS_PRLIMIT64, []uint32{7, 1}, denied},
		{"end a process", unix.SYS_KILL, []uint32{7, 9}, retAllow}, // Landlock decides
		{"reboot", unix.SYS_REBOOT, nil, denied},
		{"send", unix.SYS_SENDTO, []uint32{3, 0, 0, unix.MSG_NOSIGNAL}, retAllow},
		{"connect by sending", unix.SYS_SENDTO, []uint32{3, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_FASTOPEN}, denied},
		{"connect by sending a message", unix.SYS_SENDMSG, []uint32{3, 0, unix.MSG_FASTOPEN}, denied},
		{"connect by sending messages", unix.SYS_SENDMMSG, []uint32{3, 0, 1, unix.MSG_FASTOPEN}, denied},
		{"open TCP", unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, retAllow},
		{"open UDP", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_DGRAM, 0}, denied},
		{"open a way to the kernel", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, 0}, denied},
	} {
		if got := verdict(t, f, test.nr, test.args...); got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
}
