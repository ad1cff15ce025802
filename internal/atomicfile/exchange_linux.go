package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Exchange gives each of two folders the name of the other, in one step. If the system or
// the disk cannot do that, the error is errors.ErrUnsupported.
func Exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
