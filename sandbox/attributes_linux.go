//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A note is a system call that waits for the supervisor, as the kernel describes it
// (struct seccomp_notif).
type note struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		nr   int32
		arch uint32
		ip   uint64
		args [6]uint64
	}
}

// An answer ends a note (struct seccomp_notif_resp).
type noteAnswer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// answerNotes does what commands ask for with attributeCalls, if the file is in one of the
// folders, until nothing is left that could ask.
func answerNotes(fd int, folders []string) {
	for {
		var n note
		switch err := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT): // the caller has ended
			continue
		case err != nil:
			return
		}
		a := noteAnswer{id: n.id}
		if err := n.obey(folders); err != nil {
			var errno unix.Errno
			if !errors.As(err, &errno) {
				errno = unix.EPERM
			}
			a.errno = -int32(errno)
		}
		_ = control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // the caller may have ended
	}
}

func control(fd int, request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}

// obey does what the call asks for. It opens the file first and looks then where it is, so a
// link that is swapped in between leads nowhere else.
func (n *note) obey(folders []string) error {
	c, err := n.call()
	if err != nil {
		return err
	}
	fd, err := n.open(c)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	handle := fmt.Sprintf("/proc/self/fd/%d", fd)
	real, err := os.Readlink(handle)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	inside := slices.ContainsFunc(folders, func(folder string) bool { return regular.In(folder, real) })
	if !inside || int(st.Uid) != os.Geteuid() {
		return unix.EPERM
	}
	switch c.what {
	case chmod:
		return unix.Chmod(handle, c.mode&0o1777) // no file of a skill needs the rights of its owner
	case utimes:
		return unix.UtimesNanoAt(unix.AT_FDCWD, handle, c.times[:], 0)
	}
	if keeps(c.owner, st.Uid) && keeps(c.group, st.Gid) {
		return nil // programs that copy as root ask for the owner that the file has
	}
	return unix.EPERM
}

// keeps reports whether chown would leave an owner or a group as it is.
func keeps(asked, is uint32) bool { return asked == is || asked == math.MaxUint32 }

// An attributeCall is one of attributeCalls.
type attributeCall struct {
	what         int
	dir          int32  // descriptor of the folder where the path begins, or of the file
	path         string // "" means the file that dir is
	flags        uint64
	mode         uint32
	owner, group uint32
	times        [2]unix.Timespec
}

// What an attributeCall changes.
const (
	chmod = iota
	utimes
	chown
)

// call reads the arguments of the system call.
func (n *note) call() (attributeCall, error) {
	a := n.data.args
	c := attributeCall{dir: int32(a[0])}
	at := a[1]
	nr := uintptr(n.data.nr)
	switch name := attributeCalls[nr] + attributesHere[nr]; name {
	case "fchmod":
		c.mode, at = uint32(a[1]), 0
	case "chmod":
		c.dir, c.mode, at = unix.AT_FDCWD, uint32(a[1]), a[0]
	case "fchmodat":
		c.mode = uint32(a[2])
	case "fchmodat2":
		c.mode, c.flags = uint32(a[2]), a[3]
	case "fchown":
		c.what, c.owner, c.group, at = chown, uint32(a[1]), uint32(a[2]), 0
	case "chown", "lchown":
		c.what, c.dir, c.owner, c.group, at = chown, unix.AT_FDCWD, uint32(a[1]), uint32(a[2]), a[0]
		if name == "lchown" {
			c.flags = unix.AT_SYMLINK_NOFOLLOW
		}
	case "fchownat":
		c.what, c.owner, c.group, c.flags = chown, uint32(a[2]), uint32(a[3]), a[4]
	case "utimensat":
		c.what, c.flags = utimes, a[3]
		c.times = [2]unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
		raw := (*[unsafe.Sizeof(c.times)]byte)(unsafe.Pointer(&c.times))
		if a[2] != 0 {
			if k, err := n.read(raw[:], a[2]); err != nil || k < len(raw) {
				return c, unix.EFAULT
			}
		}
	}
	if at == 0 {
		return c, nil
	}
	var err error
	if c.path, err = n.text(at); err == nil && c.path == "" && c.flags&unix.AT_EMPTY_PATH == 0 {
		err = unix.ENOENT
	}
	return c, err
}

// open opens the file that the call names, as the caller of the system call sees it, without
// the right to read or write it.
func (n *note) open(c attributeCall) (int, error) {
	how := unix.O_PATH | unix.O_CLOEXEC
	if c.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how |= unix.O_NOFOLLOW
	}
	name := c.path
	for _, self := range []string{"/proc/self/", "/proc/thread-self/", "/dev/fd/"} {
		if rest, ok := strings.CutPrefix(name, self); ok {
			name = path.Join(fmt.Sprintf("/proc/%d", n.pid), map[bool]string{true: "fd"}[self == "/dev/fd/"], rest)
		}
	}
	if !path.IsAbs(name) {
		base := fmt.Sprintf("/proc/%d/cwd", n.pid)
		if c.dir != unix.AT_FDCWD {
			base = fmt.Sprintf("/proc/%d/fd/%d", n.pid, c.dir)
		}
		if name != "" {
			base += "/" + name
		} else {
			how &^= unix.O_NOFOLLOW // base itself is a link
		}
		name = base
	}
	return unix.Open(name, how, 0)
}

// text reads a path from the memory of the caller.
func (n *note) text(at uint64) (string, error) {
	var buf [unix.PathMax]byte
	k, err := n.read(buf[:], at)
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(buf[:k], 0)
	switch {
	case end >= 0:
		return string(buf[:end]), nil
	case k < len(buf):
		return "", unix.EFAULT
	}
	return "", unix.ENAMETOOLONG
}

// read reads memory of the caller, page by page, for the next page need not be there.
func (n *note) read(buf []byte, at uint64) (int, error) {
	done := 0
	for done < len(buf) {
		size := min(len(buf)-done, os.Getpagesize()-int((at+uint64(done))%uint64(os.Getpagesize())))
		local := []unix.Iovec{{Base: &buf[done]}}
		local[0].SetLen(size)
		k, err := unix.ProcessVMReadv(int(n.pid), local, []unix.RemoteIovec{{Base: uintptr(at) + uintptr(done), Len: size}}, 0)
		runtime.KeepAlive(buf)
		if err != nil && done == 0 {
			return 0, err
		}
		if err != nil || k <= 0 {
			break
		}
		done += k
		if bytes.IndexByte(buf[done-k:done], 0) >= 0 && len(buf) == unix.PathMax {
			break
		}
	}
	return done, nil
}
