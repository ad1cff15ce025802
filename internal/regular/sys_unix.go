//go:build unix

package regular

import (
	"io/fs"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK // a named pipe without a writer would block

// identity returns which file it is.
func identity(info fs.FileInfo) []uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return []uint64{uint64(s.Dev), uint64(s.Ino)} // their types differ between systems
}
