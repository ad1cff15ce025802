//go:build unix

package atomicfile

import (
	"io/fs"
	"syscall"
)

// copyAttributes gives the new file the owner, the group and the extended attributes of
// the old one. It returns errUnlike if it cannot, or if the old file has several names.
func (f *tempFile) copyAttributes(name string, old fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, okNow := now.Sys().(*syscall.Stat_t)
	if !ok || !okNow || was.Nlink > 1 {
		return errUnlike
	}
	if was.Uid != is.Uid || was.Gid != is.Gid {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return errUnlike
		}
	}
	return f.copyExtended(name)
}
