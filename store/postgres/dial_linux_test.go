package postgres

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestDial: the system ends connections to machines that do not answer any more.
func TestDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	conf, err := settings("postgres://me@" + l.Addr().String() + "/skills")
	must.Do(t, err)
	if conf.ConnConfig.ConnectTimeout != connectTime {
		t.Errorf("connecting may take %v", conf.ConnConfig.ConnectTimeout)
	}
	conn, err := conf.ConnConfig.DialFunc(t.Context(), "tcp", l.Addr().String())
	must.Do(t, err)
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	must.Do(t, err)
	want := map[int]int{unix.TCP_USER_TIMEOUT: 30_000, unix.TCP_KEEPIDLE: 15, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3}
	if err := raw.Control(func(fd uintptr) {
		for option, value := range want {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || got != value {
				t.Errorf("socket option %d is %d, %v; want %d", option, got, err, value)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	slow, err := settings("host=db.example connect_timeout=60")
	if err != nil || slow.ConnConfig.ConnectTimeout.Seconds() != 60 {
		t.Errorf("a timeout of the URL does not count: %v, %v", slow.ConnConfig.ConnectTimeout, err)
	}
}
