// Package atomicfile writes files that other processes may read at any time.
//
// The one rule: a reader finds the old content or the new one, never a mixture. The only
// exception is a file of the user's that cannot be replaced without a loss, see Replace.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Suffix ends the names of temporary files.
const Suffix = ".tmp"

// Temp returns the name of the temporary file with the new content of a file. The name is
// always the same, so that the next process that writes the file finds what a killed
// process has left.
func Temp(name string) string { return name + ".repertoire" + Suffix }

// Write replaces the content of a file on a disk, or makes it, readable only for its
// owner. Readers find the old content or the whole new content. After a power cut they may
// find only a part of the new content, so a format that must be whole needs a check of
// its own.
func Write(d Disk, name string, data []byte) error {
	f, err := d.Create(Temp(name))
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.MoveTo(name)
}

// Replace is Write for files that cannot be made again: it survives a power cut. A new
// file gets these permissions; an existing file keeps its own, its owner and group, and its
// extended attributes. Just before Replace changes the file it calls check, unless that is
// nil; an error of check leaves the file as it is.
//
// If an existing file has several names (hard links), or attributes that a new file cannot
// be given, Replace overwrites it instead: then a reader, or a killed process, may find
// or leave a mixture. Both names stay the same file, as with most editors.
func Replace(name string, data []byte, mode fs.FileMode, check func() error) error {
	if check == nil {
		check = func() error { return nil }
	}
	f, err := create(Temp(name))
	if err != nil {
		return err
	}
	if err := f.imitate(name, mode); err != nil {
		err = errors.Join(err, f.Discard())
		if errors.Is(err, errUnlike) {
			err = overwrite(name, data, check)
		}
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = check()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.MoveTo(name); err != nil {
		return err
	}
	syncFolder(filepath.Dir(name)) // if it fails, a power cut may bring the old file back, whole
	return nil
}

// errUnlike means that a new file cannot take the place of the old one without a loss.
var errUnlike = errors.New("the file cannot be replaced without a loss")

// imitate gives a new file the permissions, the owner and the attributes of the file that
// it will replace; mode is for a file that does not exist yet.
func (f *tempFile) imitate(name string, mode fs.FileMode) error {
	old, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.Chmod(mode)
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", name)
	}
	if err := f.copyAttributes(name, old); err != nil {
		return err
	}
	return f.Chmod(old.Mode())
}

// overwrite writes into an existing file. If that fails, it writes back what was there.
func overwrite(name string, data []byte, check func() error) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !isAt(f, name) {
		return fmt.Errorf("%s has been replaced meanwhile", name)
	}
	before, err := io.ReadAll(f)
	if err == nil {
		err = check()
	}
	if err != nil {
		return err
	}
	if err := put(f, data); err != nil {
		return errors.Join(err, put(f, before))
	}
	return nil
}

// put makes data the whole content of a file.
func put(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(len(data))), f.Sync())
}

// syncFolder makes a power cut not undo what was renamed in a folder.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
