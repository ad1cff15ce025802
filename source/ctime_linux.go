package source

import (
	"io/fs"
	"syscall"
)

// changeOf returns when the system last noted a change of a file, and which file it is.
func changeOf(info fs.FileInfo) (ctime int64, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}
