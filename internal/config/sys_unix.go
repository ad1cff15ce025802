//go:build unix

package config

import "syscall"

// nonblock keeps open from waiting for the writer of a pipe.
const nonblock = syscall.O_NONBLOCK
