package postgres

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// An unconnected is the error of a connection that could not be made, in one line that says
// what to do.
type unconnected struct {
	text  string
	cause error
}

func (e *unconnected) Error() string { return e.text }

func (e *unconnected) Unwrap() error { return e.cause }

// withRemedy returns err. If it tells that no connection could be made, it gets a text that says
// each reason once, and what to do. The driver repeats them for each way that it tried: of each
// server with TLS and without.
func withRemedy(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return err
	}
	tries := []error{failed.Unwrap()}
	if all, ok := tries[0].(interface{ Unwrap() []error }); ok {
		tries = all.Unwrap()
	}
	var reasons []string
	for _, try := range tries {
		reason := cmp.Or(errors.Unwrap(try), try).Error() // without the address, which the caller says
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 1 {
		reasons = slices.DeleteFunc(reasons, func(s string) bool { return strings.HasSuffix(s, "server refused TLS connection") })
	}
	return &unconnected{"cannot connect: " + strings.Join(reasons, "; ") + "; " + remedy(err, failed.Config), err}
}

// remedy returns what to do about a connection that could not be made.
func remedy(err error, c *pgconn.Config) string {
	switch {
	case isState(err, "28P01", "28000") && c.Password == "":
		return "give the password of " + c.User + " in ~/.pgpass, in $PGPASSWORD or in a service file"
	case isState(err, "28P01", "28000"):
		return "correct the user or the password, which comes from the URL, $PGPASSWORD, ~/.pgpass or a service file"
	case isState(err, "3D000"):
		return "correct the name of the database, or create it"
	case isState(err, "53300", "57P03"):
		return "try again later"
	case strings.Contains(err.Error(), "TLS") || strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:"):
		return "see sslmode and sslrootcert of the URL"
	}
	return "look whether the server runs there, and correct the URL if not"
}

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
