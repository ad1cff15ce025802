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
func Write(name string, data []byte) error {
	return write(name, data, func(*os.File) error { return nil })
}

// Replace is Write for files that are not ours: it survives a power cut, sets
// permissions, and asks check at the last moment, an error of which leaves the
// file as it is.
func Replace(name string, data []byte, mode fs.FileMode, check func() error) error {
	return write(name, data, func(f *os.File) error {
		if err := f.Chmod(mode); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return check()
	})
}

// write calls ready between the writing of the data and the replacement.
func write(name string, data []byte, ready func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*"+Suffix)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = ready(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
