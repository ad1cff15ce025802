package regular

import (
	"fmt"
	"io/fs"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK // a named pipe without a writer would block

// identity returns which file it is, and when its content or attributes last changed:
// nobody can set that time, as a copy that keeps times does with the modification time.
func identity(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d %d %d.%d", s.Dev, s.Ino, s.Ctim.Sec, s.Ctim.Nsec)
}
