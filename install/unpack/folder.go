package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A folderTree is the tree of a folder on disk, from which no path and no link leads out.
type folderTree struct {
	root *os.Root
	dir  string // of the entries, a path of the space; links may lead anywhere in root
}

// opened calls act with the tree of a folder.
func opened(top string, act func(folderTree) error) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	return act(folderTree{root, "."})
}

// resolve returns the path without links to which a path leads, and what is there. An *Error or one that
// wraps fs.ErrNotExist means that it leads to nothing in the tree.
func (t folderTree) resolve(name string) (real string, e entry, err error) {
	r := resolver{space: t}
	real, e, err = r.resolve(name)
	if out, ok := errors.AsType[*wayOut](err); ok {
		if err = out.at(name); out.missing != "" {
			err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
		}
	}
	return real, e, err
}

// folderAt is resolve for a folder.
func (t folderTree) folderAt(name string) (string, error) {
	real, e, err := t.resolve(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !e.mode.IsDir() {
		return "", fmt.Errorf("it has no folder %s", name)
	}
	return real, err
}

// Resolve returns the path without links to which the path of a folder in the folder top leads. Both are
// slash-separated. If it leads out of top, or into what is no part of a skill, that is an *Error.
func Resolve(top, dir string) (real string, err error) {
	err = opened(top, func(t folderTree) error {
		real, err = t.folderAt(dir)
		return err
	})
	return real, err
}

// ReadFile reads a file in the folder top, of at most a number of bytes. Links are followed as in Folder.
func ReadFile(top, name string, most int64) (data []byte, err error) {
	err = opened(top, func(t folderTree) error {
		_, e, err := t.resolve(name)
		if err == nil && !e.mode.IsRegular() {
			err = fmt.Errorf("%s is %w", name, regular.ErrSpecial)
		}
		if err != nil {
			return err
		}
		f, err := e.open()
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, most+1))
		if err == nil && int64(len(data)) > most {
			err = fmt.Errorf("%s is longer than %d bytes", name, most)
		}
		return err
	})
	return data, err
}

// Targets returns the paths in the folder top to which the links in some of its folders lead, also those at
// which nothing is: who has only a part of a tree gets these next. The folders may be links or files, too.
func Targets(ctx context.Context, top string, dirs []string) (targets []string, err error) {
	err = opened(top, func(t folderTree) error {
		r := resolver{space: t}
		add := func(name string) (string, entry, error) {
			real, e, err := r.resolve(name)
			if out, ok := errors.AsType[*wayOut](err); ok {
				real, e, err = out.missing, entry{}, nil
			}
			if real != "" && fs.ValidPath(real) {
				targets = append(targets, real)
			}
			return real, e, err
		}
		for _, dir := range dirs {
			real, e, err := add(dir)
			if err == nil && e.mode.IsDir() {
				err = t.folder(ctx, real, func(e entry) (err error) {
					if e.isLink() && !skill.IsExcluded(e.path) {
						_, _, err = add(e.from)
					}
					return err
				})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.Sort(targets)
	return slices.Compact(targets), err
}

func (t folderTree) walk(ctx context.Context, visit func(entry) error) error {
	return t.folder(ctx, t.dir, visit)
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
		e, err := t.at(path.Join(dir, name))
		if err == nil {
			err = visit(e)
		}
		if err == nil && e.mode.IsDir() && !skill.IsExcluded(e.path) && len(e.path) <= skill.MaxPath {
			err = t.folder(ctx, e.from, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list implements space.
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

// at implements space.
func (t folderTree) at(name string) (entry, error) {
	e := entry{path: name, from: name}
	if below, ok := strings.CutPrefix(name, t.dir+"/"); ok {
		e.path = below
	}
	info, err := t.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return e, err
	}
	e.mode = info.Mode()
	if e.mode&fs.ModeSymlink != 0 {
		target, err := t.root.Readlink(filepath.FromSlash(name))
		if err != nil {
			return e, err
		}
		e.link = short(filepath.ToSlash(target))
	}
	if !info.IsDir() {
		e.size = info.Size()
		e.open = func() (io.ReadCloser, error) { return t.open(e, info) }
	}
	return e, nil
}

// short returns what a link leads to, or "" for a text that is longer than any path of a skill.
func short(target string) string {
	if len(target) > skill.MaxPath {
		return ""
	}
	return target
}

// open opens the file that the gate has seen, without waiting for a named pipe that may
// have taken its place.
func (t folderTree) open(e entry, seen fs.FileInfo) (io.ReadCloser, error) {
	f, err := t.root.OpenFile(filepath.FromSlash(e.from), os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, seen) {
		err = refuse(e.path, "changed", "it was replaced while it was read")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
