package proposal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange gives each of two folders the name of the other, in one step. If the disk cannot
// do that, the error is errors.ErrUnsupported.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
