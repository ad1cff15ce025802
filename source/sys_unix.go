//go:build unix

package source

import (
	"errors"
	"syscall"
)

// nonblock keeps open from waiting for a FIFO's writer.
const nonblock = syscall.O_NONBLOCK

// isLoop reports whether err means that a link leads to itself.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// isThroughFile reports whether err means that a path leads through a file.
func isThroughFile(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
