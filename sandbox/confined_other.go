//go:build !linux

package sandbox

import "runtime"

// New returns an error: the walls of the confined executor are those of Linux.
func New(Options) (Executor, error) {
	return nil, &Error{Reason: Unavailable, Fact: "the confined executor needs Linux, and this system is " + runtime.GOOS,
		Hint: "to run commands without walls, pass --allow-unconfined; or use the virtual executor"}
}

func help() int { return 2 }
