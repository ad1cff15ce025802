// Package regular opens files that must be regular ones, such as a catalog or settings, and
// says which files lie in a folder.
//
// The one rule: a directory, named pipe, socket or device in the place of a file is an error
// at once. Such a thing is never read, waited for or replaced.
package regular

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// ErrSpecial means that something other than a regular file is in the place of a file.
var ErrSpecial = errors.New("not a regular file")

// Open opens the file for reading. A link to a regular file is as good as the file.
func Open(name string) (*os.File, error) { return open(name, os.O_RDONLY) }

// OpenToWrite opens the file, which must be there, for reading and writing.
func OpenToWrite(name string) (*os.File, error) { return open(name, os.O_RDWR) }

func open(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag|Nonblock, 0)
	if err != nil {
		if special := Check(name); special != nil { // a socket cannot be opened
			return nil, special
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile returns the content of the file.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// ReadShort returns the content of a file, which is an error if it is longer than most bytes. It
// says so without the name of the file.
func ReadShort(name string, most int64) ([]byte, error) {
	// Look before opening, which can have effects on a device.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return data, err
}

var errNoFile = fmt.Errorf("it is %w", ErrSpecial)

// Real returns the absolute path with links resolved as far as the path exists; "" for "". So a
// folder on a disk that is not mounted has the same real path as when it is, unless the
// links are on that disk.
func Real(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	const most = 40 // steps; links may lead to themselves
	at, missing := path, ""
	for range most {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, missing)
		}
		dir := filepath.Dir(at)
		target, err := os.Readlink(at)
		switch {
		case err != nil && dir == at:
			return filepath.Clean(path)
		case err != nil:
			at, missing = dir, filepath.Join(filepath.Base(at), missing)
		case filepath.IsAbs(target):
			at = target
		default:
			at = filepath.Join(Real(dir), target)
		}
	}
	return filepath.Clean(path)
}

// Links resolves the links in many paths as Real does, and looks at each folder once. The zero value is
// not ready: use make.
type Links map[string]string

// Real returns the real path of an absolute one.
func (l Links) Real(path string) string {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if real, ok := l[path]; ok || dir == path {
		return cmp.Or(real, path)
	}
	at := filepath.Join(l.Real(dir), name)
	if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		at = Real(at)
	}
	l[path] = at
	return at
}

// Rel returns the path of a file relative to a folder; ok is false if the file is neither the
// folder nor in it. It looks at the names only, and nothing lies in "".
func Rel(folder, name string) (rel string, ok bool) {
	if folder == "" {
		return "", false
	}
	rel, err := filepath.Rel(folder, name)
	return rel, err == nil && filepath.IsLocal(rel)
}

// In reports whether a file is a folder or lies in it, see Rel.
func In(folder, name string) bool {
	_, ok := Rel(folder, name)
	return ok
}

// Check returns an error that matches ErrSpecial for the first name that something other
// than a regular file has. A missing file is no error: it can be made.
func Check(names ...string) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			continue // whoever opens the file tells why it cannot be used
		}
		if err := check(name, info); err != nil {
			return err
		}
	}
	return nil
}

func check(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is %s (%w); a file of the catalog belongs there: move it away", name, Kind(info.Mode()), ErrSpecial)
}

// Kind says what something is that is not a regular file.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a special file"
}

// Size returns the bytes of all regular files below a folder, as far as they can be read, and
// the first error of the rest.
func Size(folder string) (n int64, err error) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, failed error) error {
		if failed == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, failed = d.Info(); failed == nil {
				n += info.Size()
			}
		}
		err = cmp.Or(err, failed)
		return nil
	})
	return n, err
}

// Look returns a text that differs after somebody has written the file or has put another
// one in its place: its identity, size and time. "" means that there is no such file, or
// that it is empty.
func Look(name string) string {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	text := make([]byte, 0, 96) // no Sprintf: each search takes a look
	for _, n := range append(identity(info), uint64(info.Size()), uint64(info.ModTime().UnixNano())) {
		text = append(strconv.AppendUint(text, n, 10), ' ')
	}
	return string(text)
}
