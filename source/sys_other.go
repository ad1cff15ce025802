//go:build !unix

package source

import (
	"errors"
	"syscall"
)

// nonblock is of no use here: only Unix has FIFOs among its files.
const nonblock = 0

// isLoop reports whether err says that a link leads to itself; the number is
// ERROR_CANT_RESOLVE_FILENAME of Windows.
func isLoop(err error) bool { return errors.Is(err, syscall.Errno(1921)) }

// isThroughFile reports whether err says that a path leads through a file;
// Windows says that it does not exist.
func isThroughFile(error) bool { return false }
