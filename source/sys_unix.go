//go:build unix

package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isLoop reports whether err means that a link leads to itself.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// isThroughFile reports whether err means that a path leads through a file.
func isThroughFile(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// identity returns what tells a folder from all others of the system.
func identity(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// isOwn reports whether a file belongs to the user or to the superuser.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}
