//go:build unix

package regular

import (
	"fmt"
	"io/fs"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK // a named pipe without a writer would block

// identity returns which file it is.
func identity(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d %d", s.Dev, s.Ino)
}
