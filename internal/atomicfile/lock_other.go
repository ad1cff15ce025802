//go:build !unix || aix || solaris || illumos

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lock does nothing: Windows locks every file that is open against removal.
func lock(*os.File) bool { return true }

// removeLeft removes a temporary file that a killed process has left. If a process still
// writes it, removeLeft waits a moment and leaves it.
func removeLeft(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		time.Sleep(time.Millisecond)
	}
	return nil
}
