// Package atomicfile writes small files that other processes may read at any time.
//
// The one rule: a reader finds the old content or the new one, never a mixture.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the names of files that are being written. Files with it that a killed
// process has left may be removed.
const Suffix = ".tmp"

// Write replaces the content of a file, or makes it, readable only for its owner.
// Readers find the old content or the whole new content. After a power cut they may
// find only a part of the new content, so a format that must be whole needs a check of
// its own.
func Write(name string, data []byte) error {
	return write(name, data, func(*os.File) error { return nil })
}

// Replace is Write for files that belong to the user: it survives a power cut and sets
// permissions. Just before it replaces the file it calls check; an error of check leaves
// the file as it is.
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

// write writes the data to a temporary file, calls ready, and then replaces the file.
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
