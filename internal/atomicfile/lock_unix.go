//go:build unix && !aix && !solaris && !illumos

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// lock locks a file for this process; false means that another process has locked it. On a
// file system without locks it returns true: a file there counts as left by a killed
// process.
func lock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK)
}

// removeLeft removes a temporary file that a killed process has left. If a process still
// writes it, removeLeft waits a moment and leaves it.
func removeLeft(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return os.Remove(name) // a link or a pipe is not ours, and opening it may wait for ever
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return os.Remove(name) // another user left it, as after sudo
	case err != nil:
		return err
	}
	defer f.Close()
	switch {
	case !lock(f):
		time.Sleep(time.Millisecond)
	case isAt(f, name): // else the process that wrote it has moved it
		return os.Remove(name)
	}
	return nil
}
