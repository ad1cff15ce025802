package sqlite

import (
	"errors"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// isFull reports whether the disk, or the user's part of it, has no room for the files
// that opening a catalog needs.
func isFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_WRITE:
		return true
	}
	return false
}

// isMerged reports whether the file alone holds the whole catalog: a write-ahead log
// beside it would hold newer pages, without which the older ones may not fit together.
func isMerged(path string) bool {
	if real, err := target(path); err == nil {
		path = real
	}
	info, err := os.Stat(path + walSuffix)
	return err != nil || info.Size() == 0
}
