package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// A Disk is where this program writes files of its own. Every program uses OS; tests use
// the disk of package crashtest, which knows what a power cut would leave.
type Disk interface {
	// Create makes a new temporary file, which only its owner can read. It removes a file
	// of this name that a killed process has left. While another process still writes
	// the file of this name, Create waits, for two seconds at most.
	Create(name string) (File, error)
	// Remove removes a file.
	Remove(name string) error
}

// A File is a temporary file that is being written. It ends with MoveTo or Discard.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Sync makes the content survive a power cut.
	Sync() error
	// MoveTo closes the file and gives it its final name; a file of that name is
	// replaced. If MoveTo fails, it discards the file.
	MoveTo(name string) error
	// Discard closes and removes the file.
	Discard() error
}

// OS is the disk of the operating system.
type OS struct{}

// Create implements Disk.
func (OS) Create(name string) (File, error) {
	f, err := create(name)
	if err != nil {
		return nil, err // not f: a nil *tempFile is no nil File
	}
	return f, nil
}

// Remove implements Disk.
func (OS) Remove(name string) error { return os.Remove(name) }

// tempFile implements File. As long as it is open, it is locked: so other processes see
// that it was not left by a killed process.
type tempFile struct{ *os.File }

// patience is how long create waits for another process.
const patience = 2 * time.Second

func create(name string) (*tempFile, error) {
	for start := time.Now(); time.Since(start) < patience; {
		// O_EXCL: nobody else can hold this file open, and no link is followed.
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist):
			if err := removeLeft(name); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case lock(f) && isAt(f, name):
			return &tempFile{f}, nil
		default: // another process has taken the new file for one that was left
			f.Close()
		}
	}
	return nil, fmt.Errorf("%s: another process has been writing this file for %v; end it, or remove the file", name, patience)
}

// isAt reports whether an open file still has a name.
func isAt(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, there)
}

// MoveTo implements File.
func (f *tempFile) MoveTo(name string) error {
	if !isAt(f.File, f.Name()) {
		return errors.Join(fmt.Errorf("%s was removed while it was written", f.Name()), f.Close())
	}
	return f.end(func() error {
		err := os.Rename(f.Name(), name)
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return err
	})
}

// Discard implements File.
func (f *tempFile) Discard() error {
	return f.end(func() error { return os.Remove(f.Name()) })
}

// end calls act and closes the file. The file is locked until it is closed, so act comes
// first, except on Windows, where an open file can neither be renamed nor removed.
func (f *tempFile) end(act func() error) error {
	if runtime.GOOS == "windows" {
		return errors.Join(f.Close(), act())
	}
	return errors.Join(act(), f.Close())
}
