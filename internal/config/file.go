package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// An Error is a mistake in a configuration file, or the reason why it cannot be read.
type Error struct {
	File string
	Line int // 0 means the whole file
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the mistake.
func (e *Error) Unwrap() error { return e.Err }

// The sizes of the largest configuration files, in bytes. A megabyte of YAML takes longer to
// parse than a hook may take, so a project gets less.
const (
	maxFile        = 1 << 20
	maxProjectFile = 64 << 10
)

// readFile reads a configuration file of bounded size. Anything but a regular file is an
// error at once: a pipe would be waited for, and a device may never end. Its errors are
// *Error.
func readFile(name string, most int64) ([]byte, error) {
	data, err := regular.ReadShort(name, most)
	if errors.Is(err, fs.ErrNotExist) && isLink(name) {
		err = errors.New("it is a link to a file that does not exist")
	}
	if err != nil {
		return nil, fileError(name, err)
	}
	return data, nil
}

// fileError returns the error for a whole file, without naming it twice.
func fileError(name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return &Error{File: name, Err: err}
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// readProject reads the configuration file of a project, which must lie in the project
// itself: messages about a file elsewhere would tell what is in it.
func readProject(name string, f *fence) ([]byte, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		if err := f.inside(real); err != nil {
			return nil, fileError(name, err)
		}
	}
	return readFile(name, maxProjectFile)
}
