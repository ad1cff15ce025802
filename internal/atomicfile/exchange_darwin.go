package atomicfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Exchange gives each of two folders the name of the other, in one step. If the system or
// the disk cannot do that, the error is errors.ErrUnsupported.
func Exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}
