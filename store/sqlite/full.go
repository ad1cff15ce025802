package sqlite

import (
	"errors"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// isFull reports whether the disk, or the user's part of it, has no room for the files
// that opening a catalog needs.
func isFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_WRITE:
		return true
	}
	return false
}
