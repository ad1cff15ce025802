//go:build unix

package regular

import (
	"io/fs"
	"syscall"
)

// Nonblock is the flag that keeps the opening of a named pipe from waiting for its writer.
const Nonblock = syscall.O_NONBLOCK

// identity returns which file it is.
func identity(info fs.FileInfo) []uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return []uint64{uint64(s.Dev), uint64(s.Ino)} // their types differ between systems
}
