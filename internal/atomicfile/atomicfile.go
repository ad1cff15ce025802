// Package atomicfile writes small files that other processes read at any time.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the names of files that are being written. What a killed process
// leaves of one may be removed.
const Suffix = ".tmp"

// Write replaces the content of a file, or makes it, readable for its owner
// only: whoever opens it finds the old content or the whole new one. After a
// power cut either may be there, or less of the new one: what must be whole says
// so itself.
func Write(name string, data []byte) error { return Replace(name, data, 0o600, nil) }

// Replace is Write with permissions, and with a check at the last moment: an
// error of it leaves the file as it is. It may be nil.
func Replace(name string, data []byte, mode fs.FileMode, check func() error) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*"+Suffix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil && check != nil {
		err = check()
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
