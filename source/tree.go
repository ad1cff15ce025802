package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A tree is the file system under a source, seen by path. Names are slash-separated
// paths in the source, "." for the top. What a path leads to may change between two
// calls, so a tree finds skills and changes, and a folder reads them.
type tree interface {
	// readDir lists a folder, sorted by name, without opening its entries.
	readDir(dir string) ([]fs.DirEntry, error)

	// stat follows links, wherever they lead.
	stat(name string) (fs.FileInfo, error)

	// real returns the real path of a folder: the same for all paths to it.
	real(dir string) (string, error)

	// location returns where a person finds a file.
	location(label, name string) string

	// top opens the top of the source.
	top() (folder, error)
}

// A folder is an open folder. It stays the same folder when others move it or put a
// link in its place, so whoever checks it and then reads through it reads what was
// checked. This package opens the files of skills only through it. Names are
// slash-separated and relative to the folder, which itself is ".".
type folder interface {
	// readDir lists a folder, sorted by name.
	readDir(name string) ([]fs.DirEntry, error)

	// lstat does not follow a link at name itself.
	lstat(name string) (fs.FileInfo, error)

	// stat follows links that stay inside of the folder, and out of .git. It refuses
	// other links with an error that wraps ErrRefused.
	stat(name string) (fs.FileInfo, error)

	// resolve returns the path in the folder to which the links in a path lead. It refuses
	// what stat refuses, unless the path cannot be opened anyway.
	resolve(name string) (string, error)

	// open opens a file without blocking on it, see openRegular.
	open(name string) (fs.File, error)

	// enter opens the folder with this name directly below. On disk it follows a
	// link even out of the source, as a walk does, but refuses a link to a folder
	// that contains the link or the source.
	enter(name string) (folder, error)

	Close() error
}

// openRegular opens a regular file of a folder. Anything else is an error. It checks the
// file before it opens it, because opening a device can have effects.
func openRegular(d folder, name string) (fs.File, error) {
	info, err := d.stat(name)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, err
	}
	return openAndCheck(d, name)
}

// openAndCheck opens a file that may have been replaced after the check.
func openAndCheck(d folder, name string) (fs.File, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// onlyTree is a tree of which only some folders are listed.
type onlyTree struct {
	tree
	paths []string // clean, with slashes
}

func (t onlyTree) readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := t.tree.readDir(dir)
	if slices.ContainsFunc(t.paths, func(only string) bool { return within(dir, only) }) {
		return entries, err
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		at := join(dir, e.Name())
		return !slices.ContainsFunc(t.paths, func(only string) bool { return within(only, at) })
	}), err
}

// diskTree walks by path. It does not walk through an os.Root: that would refuse links
// out of the source, be a seventh slower (see BenchmarkReadDir), and keep showing the
// old folder after the source is replaced.
type diskTree struct {
	path    string             // absolute
	confine func(string) error // see Options.Confine; may be nil
}

// join is filepath.Join without cleaning, which would cost time for every file. The
// names in this package are clean already.
func (t diskTree) join(name string) string {
	if name == "." {
		return t.path
	}
	return t.path + string(filepath.Separator) + filepath.FromSlash(name)
}

func (t diskTree) readDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(t.join(dir)) }
func (t diskTree) stat(name string) (fs.FileInfo, error)     { return os.Stat(t.join(name)) }
func (t diskTree) location(_, name string) string            { return t.join(name) }

// real refuses a folder that the source must not enter with an error that wraps ErrRefused.
func (t diskTree) real(dir string) (string, error) { return t.resolve(t.join(dir)) }

// resolve is real for an absolute path.
func (t diskTree) resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || t.confine == nil {
		return real, err
	}
	if err := t.confine(real); err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return real, nil
}

func (t diskTree) top() (folder, error) { return t.open(t.path) }

// open opens a folder by its path: the top, and what a link leads to. The final "." makes
// the system refuse anything but a folder. Without it, opening would block if a FIFO has
// taken the folder's place.
func (t diskTree) open(path string) (folder, error) {
	root, err := os.OpenRoot(path + string(filepath.Separator) + ".")
	if err != nil {
		return nil, err
	}
	if err := t.checkConfined(root, path); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return diskFolder{root, t}, nil
}

// checkConfined checks that an open folder is one that the source may enter. It compares
// the open folder with the one at the real path: a link may change at any time.
func (t diskTree) checkConfined(root *os.Root, path string) error {
	if t.confine == nil {
		return nil
	}
	real, err := t.resolve(path)
	if err != nil {
		return err
	}
	opened, err1 := root.Stat(".")
	found, err2 := os.Lstat(real)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	if !os.SameFile(opened, found) {
		return fmt.Errorf("%w: the folder was replaced while it was opened", ErrRefused)
	}
	return nil
}

// diskFolder confines access by os.Root: no name and no link leads out of it.
type diskFolder struct {
	root *os.Root
	tree diskTree
}

func (d diskFolder) Close() error { return d.root.Close() }

// readDir asks the folder for each entry. The entries that os.File.ReadDir returns may
// look themselves up by path.
func (d diskFolder) readDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, rootError(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	entries := make([]fs.DirEntry, 0, len(names))
	for _, base := range names {
		info, statErr := d.root.Lstat(path.Join(name, base))
		switch {
		case statErr == nil:
			entries = append(entries, fs.FileInfoToDirEntry(info))
		case !errors.Is(statErr, fs.ErrNotExist): // else it was deleted meanwhile
			err = cmp.Or(err, statErr)
		}
	}
	return entries, err
}

func (d diskFolder) lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, rootError(err)
}

func (d diskFolder) stat(name string) (fs.FileInfo, error) {
	if _, err := d.resolve(name); err != nil {
		return nil, err
	}
	info, err := d.root.Stat(name)
	return info, rootError(err)
}

func (d diskFolder) enter(name string) (folder, error) {
	if _, err := filepath.Localize(name); err != nil { // on Windows it could be several folders
		return nil, fmt.Errorf("%w: %q is not the name of a folder", ErrRefused, name)
	}
	info, err := d.lstat(name)
	if err != nil {
		return nil, err
	}
	if isLink(info.Mode()) {
		return d.follow(name)
	}
	sub, err := d.root.OpenRoot(name + "/.") // "." as in open
	if err != nil {
		return nil, rootError(err)
	}
	return diskFolder{sub, d.tree}, nil
}

// follow opens the folder behind a link.
func (d diskFolder) follow(name string) (folder, error) {
	sub, err := d.tree.open(filepath.Join(d.root.Name(), name))
	if err != nil {
		return nil, err
	}
	for _, inner := range []string{d.root.Name(), d.tree.path} {
		contains, err := surrounds(sub, inner)
		if contains {
			err = fmt.Errorf("%w: the folder is a link to a folder that contains it or the source", ErrRefused)
		}
		if err != nil {
			return nil, errors.Join(err, sub.Close())
		}
	}
	return sub, nil
}

// surrounds reports whether an open folder is the folder with this path, or above it.
func surrounds(outer folder, inner string) (bool, error) {
	is, err := outer.lstat(".")
	if err != nil {
		return false, err
	}
	dir, err := filepath.EvalSymlinks(inner)
	for err == nil {
		var at fs.FileInfo
		if at, err = os.Stat(dir); err == nil && os.SameFile(is, at) {
			return true, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return false, err
}

func (d diskFolder) open(name string) (fs.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, rootError(err) // and no *os.File, which would not be a nil fs.File
	}
	return f, nil
}

// rootError turns the refusals of os.Root into ErrRefused. os.Root exports no error
// for them, but the system's errors can be recognised by their errno.
func rootError(err error) error {
	var errno syscall.Errno
	if err == nil || errors.As(err, &errno) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: it leads outside of the skill's folder or is an absolute link", ErrRefused)
}

// fsTree is a tree on any fs.FS. It follows no links; it refuses them if the file
// system reports them (fs.ReadLinkFS).
type fsTree struct {
	fsys fs.FS
}

func (t fsTree) readDir(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(t.fsys, dir) }
func (t fsTree) stat(name string) (fs.FileInfo, error)     { return fs.Stat(t.fsys, name) }
func (t fsTree) real(dir string) (string, error)           { return dir, nil }
func (t fsTree) location(label, name string) string        { return label + ":" + name }

func (t fsTree) top() (folder, error) { return fsFolder{t}, nil }

// An fsFolder is a folder of an fsTree, as a tree of its own.
type fsFolder struct{ fsTree }

func (d fsFolder) Close() error                           { return nil }
func (d fsFolder) lstat(name string) (fs.FileInfo, error) { return fs.Lstat(d.fsys, name) }
func (d fsFolder) open(name string) (fs.File, error)      { return d.fsys.Open(name) }
func (d fsFolder) resolve(name string) (string, error)    { return name, nil } // stat refuses links

// stat refuses links anywhere on the path.
func (d fsFolder) stat(name string) (info fs.FileInfo, err error) {
	for _, p := range append(parents(name), name) {
		if info, err = d.lstat(p); err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%w: links are followed only in folders on disk", ErrRefused)
		}
	}
	return info, nil
}

func (d fsFolder) enter(name string) (folder, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %q is not a folder", ErrRefused, name)
	}
	sub, err := fs.Sub(d.fsys, name)
	return fsFolder{fsTree{sub}}, err
}

func checkRegular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%w: it is a folder", ErrRefused)
	default:
		return fmt.Errorf("%w: it is not a regular file (%s)", ErrRefused, regular.Kind(mode))
	}
}

// parents returns the folders above name, the top first; the top has none.
func parents(name string) []string {
	if name == "." {
		return nil
	}
	return append(parents(path.Dir(name)), path.Dir(name))
}
