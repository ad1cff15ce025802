//go:build linux || darwin || freebsd || netbsd

package atomicfile

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// maxExtended is the largest list of attributes, or value, that Linux knows, in bytes.
const maxExtended = 64 << 10

// copyExtended gives the new file the extended attributes of the file of a name: labels of
// the system, access lists, tags of the user's.
func (f *tempFile) copyExtended(name string) error {
	names := make([]byte, maxExtended)
	n, err := unix.Llistxattr(name, names)
	switch {
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP):
		return nil // the file system has none
	case err != nil:
		return errUnlike
	}
	was, is := make([]byte, maxExtended), make([]byte, maxExtended)
	for _, attr := range strings.Split(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if attr == "" {
			continue
		}
		n, err := unix.Lgetxattr(name, attr, was)
		if err != nil {
			return errUnlike
		}
		if m, err := unix.Fgetxattr(int(f.Fd()), attr, is); err == nil && bytes.Equal(is[:m], was[:n]) {
			continue // the system has set it already
		}
		if err := unix.Fsetxattr(int(f.Fd()), attr, was[:n], 0); err != nil {
			return errUnlike
		}
	}
	return nil
}
