//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// KeyFilter returns a seccomp program, as the kernel reads it, that refuses the calls with which a
// command could read and use the keys that the kernel keeps for its user. nil means that
// there is none for this processor.
func KeyFilter() []byte {
	f := ofThisProcessor()
	f.calls([]uintptr{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}, retError(unix.EPERM))
	f.ret(retAllow)
	var b []byte
	for _, i := range f {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = binary.NativeEndian.AppendUint32(append(b, i.Jt, i.Jf), i.K)
	}
	return b
}
