//go:build unix

package unpack_test

import (
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// special makes a named pipe, a socket or a device.
func special(t testing.TB, name string, mode fs.FileMode) {
	t.Helper()
	switch {
	case mode&fs.ModeNamedPipe != 0:
		must.Do(t, syscall.Mkfifo(name, 0o600))
	case mode&fs.ModeSocket != 0:
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Skip("a path for a socket is too long here: ", err)
		}
		t.Cleanup(func() { l.Close() })
	default:
		if err := syscall.Mknod(name, syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
			t.Skip("making a device needs more rights: ", err)
		}
	}
}
