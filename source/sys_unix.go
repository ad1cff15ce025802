//go:build unix

package source

import (
	"errors"
	"syscall"
)

// nonblock keeps an open from waiting for the writer of a FIFO.
const nonblock = syscall.O_NONBLOCK

// isLoop reports whether err says that a link leads to itself.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// isThroughFile reports whether err says that a path leads through a file.
func isThroughFile(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
