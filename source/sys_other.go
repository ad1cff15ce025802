//go:build !unix

package source

import (
	"errors"
	"io/fs"
	"syscall"
)

// isLoop reports whether err means that a link leads to itself; the number is
// ERROR_CANT_RESOLVE_FILENAME of Windows.
func isLoop(err error) bool { return errors.Is(err, syscall.Errno(1921)) }

// isThroughFile reports whether err means that a path leads through a file. On
// Windows that error is the same as for a missing file.
func isThroughFile(error) bool { return false }

// identity returns nothing: here, no empty folder takes the place of a missing disk.
func identity(fs.FileInfo) string { return "" }

// isOwn believes that each link is the user's own: here, others may make none without a right
// that few have.
func isOwn(fs.FileInfo) bool { return true }
