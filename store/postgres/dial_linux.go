package postgres

import (
	"cmp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnanswered bounds how long the other machine may leave unanswered what was sent. Until
// then the system sends it again and again, and asks in no other way.
func limitUnanswered(limit time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) (err error) {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
		})
		return cmp.Or(failed, err)
	}
}
