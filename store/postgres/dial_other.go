//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// limitUnanswered leaves it to the system how long it sends again what is not answered.
func limitUnanswered(time.Duration) func(network, address string, c syscall.RawConn) error {
	return nil
}
