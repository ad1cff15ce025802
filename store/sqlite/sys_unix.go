//go:build unix

package sqlite

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// checkWritable fails if the file cannot be written. It does not open the file, see readID.
func checkWritable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "writing", Path: path, Err: err}
	}
	return nil
}
