package unpack

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A folderTree is the tree of a folder on disk, from which no path and no link leads out.
type folderTree struct {
	root *os.Root
}

func (t folderTree) walk(ctx context.Context, visit func(entry) error) error {
	return t.folder(ctx, ".", visit)
}

// folder visits what is in a folder, in the order of names.
func (t folderTree) folder(ctx context.Context, dir string, visit func(entry) error) error {
	names, err := t.list(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel := path.Join(dir, name)
		e, err := t.entry(rel)
		if err == nil {
			err = visit(e)
		}
		if err == nil && e.mode.IsDir() && !skill.IsExcluded(rel) && len(rel) <= skill.MaxPath {
			err = t.folder(ctx, rel, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t folderTree) list(dir string) ([]string, error) {
	f, err := t.root.OpenFile(filepath.FromSlash(dir), os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxMembers + 1) // the gate refuses that many
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// entry describes what is at a path. A link to a regular file is that file.
func (t folderTree) entry(rel string) (entry, error) {
	e := entry{path: rel}
	info, err := t.root.Lstat(filepath.FromSlash(rel))
	if err != nil {
		return e, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := t.root.Stat(filepath.FromSlash(rel))
		switch {
		case err != nil:
			e.bad = refuse(rel, "symlink", "it is a symbolic link that leads out of the folder or nowhere; put the file itself in its place")
		case t.leadsToLeftOut(rel):
			e.bad = refuse(rel, "symlink", "it is a symbolic link into a folder that is no part of a skill, such as .git; put the file itself in its place")
		case !target.Mode().IsRegular():
			e.bad = refuse(rel, "symlink", "it is a symbolic link to something other than a file; put the files themselves in its place")
		default:
			info = target
		}
	}
	e.mode = info.Mode()
	if !info.IsDir() {
		e.size = info.Size()
		e.open = func() (io.ReadCloser, error) { return t.open(rel, info) }
	}
	return e, nil
}

// leadsToLeftOut reports whether a link leads into a folder that is left out. In doubt it does.
func (t folderTree) leadsToLeftOut(rel string) bool {
	top, err := filepath.EvalSymlinks(t.root.Name())
	if err != nil {
		return true
	}
	real, err := filepath.EvalSymlinks(filepath.Join(top, filepath.FromSlash(rel)))
	if err != nil {
		return true
	}
	inside, err := filepath.Rel(top, real)
	return err != nil || skill.IsExcluded(filepath.ToSlash(inside))
}

// open opens the file that the gate has seen, without waiting for a named pipe that may
// have taken its place.
func (t folderTree) open(rel string, seen fs.FileInfo) (io.ReadCloser, error) {
	f, err := t.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, seen) {
		err = refuse(rel, "changed", "it was replaced while it was read")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
