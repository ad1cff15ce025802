// Package scratch makes folders for work that is under way.
//
// The one rule: the file "held" in a folder is locked as long as the process lives whose folder
// it is, so the others know what a killed process has left, and remove it. The file "locked"
// says that it was.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// age is how old a folder is before others may remove it that was never locked, or that its
// process has released.
const age = time.Hour

// locked is the file that says that the process of the folder has locked it, and not released it.
const locked = "locked"

// A Folder is a folder of this process.
type Folder struct {
	Dir  string
	held *flock.Flock
}

// New makes a folder, with a name that begins with prefix, in the folder above, which it makes too.
func New(above, prefix string) (*Folder, error) {
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(above, prefix)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir, lockOf(dir)}
	if _, err := f.held.TryLock(); err != nil { // nobody else knows it yet
		return nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), os.RemoveAll(dir))
	}
	if err := os.WriteFile(filepath.Join(dir, locked), nil, 0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockOf(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "held"), flock.SetPermissions(0o600))
}

// Release leaves the folder to whoever comes next.
func (f *Folder) Release() error {
	return errors.Join(os.Remove(filepath.Join(f.Dir, locked)), f.held.Close())
}

// Close removes the folder.
func (f *Folder) Close() error { return errors.Join(f.held.Close(), os.RemoveAll(f.Dir)) }

// List returns the folders in a folder that New has made with a prefix; none if it does not exist.
func List(above, prefix string) ([]string, error) {
	entries, err := os.ReadDir(above)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			dirs = append(dirs, filepath.Join(above, e.Name()))
		}
	}
	return dirs, err
}

// Sweep removes what killed processes have left, but no folder that keep is true for; a nil keep
// keeps none. Errors do not matter: the next Sweep tries again.
func Sweep(above, prefix string, keep func(dir string) bool) {
	dirs, _ := List(above, prefix)
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || keep != nil && keep(dir) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, locked)); err != nil && time.Since(info.ModTime()) < age {
			continue
		}
		held := lockOf(dir)
		if ok, err := held.TryLock(); ok && err == nil {
			held.Close()
			os.RemoveAll(dir)
		}
	}
}
