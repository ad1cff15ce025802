package postgres

import (
	"cmp"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A network that is dead says nothing, and a call may have no deadline of its own: a push may
// take minutes. So the system ends a connection whose other machine does not answer for
// this time, whatever the server is at. For the system, a server that takes nothing of a
// push for so long is dead too.
const (
	deadReader = 30 * time.Second
	deadWriter = 5 * time.Minute
)

// connectTime is how long connecting to one host may take, unless the URL says otherwise.
const connectTime = 10 * time.Second

// dialing makes conf connect so that its connections end when the other machine is dead.
func dialing(conf *pgconn.Config, dead time.Duration) {
	conf.ConnectTimeout = cmp.Or(conf.ConnectTimeout, connectTime)
	d := net.Dialer{
		Timeout:         conf.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: dead / 2, Interval: dead / 6, Count: 3},
		Control:         limitUnanswered(dead),
	}
	conf.DialFunc = d.DialContext
}
