package proposal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A swap replaces a skill's folder on disk by a changed copy of it, which lies beside it
// until it is complete.
type swap struct {
	Folder string `yaml:"folder"`        // of the skill, links resolved
	Was    string `yaml:"was,omitempty"` // digest of the skill before; "" means that there was none
	Will   string `yaml:"will"`          // digest of the skill after
}

// stage returns the folder of what is not complete. It is not below the skill's folder, which
// cannot be renamed into itself, but on the same disk.
func (s *swap) stage() string {
	return filepath.Join(filepath.Dir(s.Folder), "."+filepath.Base(s.Folder)+skill.StagingSuffix)
}

// copied returns the folder of the changed copy. Nothing looks for skills below node_modules.
func (s *swap) copied() string {
	return filepath.Join(s.stage(), "node_modules", filepath.Base(s.Folder))
}

// old returns where the skill's folder is for a moment, on systems that cannot exchange two
// folders in one step.
func (s *swap) old() string { return filepath.Join(s.stage(), "node_modules", ".old") }

// prepare makes the changed copy: files that stay are the same files as before. before are
// nil for a new skill.
func (s *swap) prepare(ctx context.Context, before, after Files) (err error) {
	if err := os.RemoveAll(s.stage()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.copied()), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if before == nil {
		err = os.Mkdir(s.copied(), mode)
	} else {
		mode, err = copyFolder(s.Folder, s.copied())
	}
	if err != nil {
		return err
	}
	if err := s.edit(before, after, mode); err != nil {
		return err
	}
	s.Will, err = digestOf(ctx, s.copied())
	return err
}

// edit brings the copy in step with a change. It writes nothing but files of the skill,
// whatever was checked before: there is no way back from a change of anything else.
func (s *swap) edit(before, after Files, mode fs.FileMode) error {
	list := changed(before, after)
	path := func(name string) string { return filepath.Join(s.copied(), filepath.FromSlash(name)) }
	for _, name := range list {
		if clean, err := skill.CleanPath(name); err != nil || clean != name {
			return refuse("%w: %q cannot be one of its files", ErrLocked, name)
		}
		if _, ok := before[name]; ok {
			if err := os.Remove(path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, name := range list {
		f, ok := after[name]
		if !ok {
			continue
		}
		if _, err := os.Lstat(path(name)); !errors.Is(err, fs.ErrNotExist) {
			return refuse("%w: something is at %s that is no file of the skill; move it away, or propose another name", ErrLocked, name)
		}
		if err := writeFile(path(name), f, mode); err != nil {
			return err
		}
	}
	return nil
}

// finish puts the copy in the place of the skill's folder, unless that has been changed.
func (s *swap) finish(ctx context.Context) error {
	now, err := digestOf(ctx, s.Folder)
	if err != nil {
		return err
	}
	if now != s.Was {
		return refusal{source.ErrChanged}
	}
	if s.Was == "" {
		return os.Rename(s.copied(), s.Folder)
	}
	if err := atomicfile.Exchange(s.copied(), s.Folder); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := os.Rename(s.Folder, s.old()); err != nil {
		return err
	}
	if err := os.Rename(s.copied(), s.Folder); err != nil {
		return errors.Join(err, os.Rename(s.old(), s.Folder))
	}
	return nil
}

// recover completes what a killed process has left, or undoes it. done means that the skill
// is changed.
func (s *swap) recover(ctx context.Context) (done bool, err error) {
	if _, err := os.Lstat(s.Folder); errors.Is(err, fs.ErrNotExist) && s.Was != "" {
		if err := os.Rename(s.old(), s.Folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	now, err := digestOf(ctx, s.Folder)
	if err != nil {
		return false, err
	}
	return now == s.Will && now != "", os.RemoveAll(s.stage())
}

// copyFolder makes a copy of a folder whose files are the same files as far as the disk
// allows it, and returns the permissions of the folder.
func copyFolder(from, to string) (mode fs.FileMode, err error) {
	entries := 0
	err = filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > 20*skill.MaxPublishedFiles {
			return fmt.Errorf("%w: %w", ErrLocked, &fs.PathError{Op: "copying", Path: from, Err: errors.New("it has too many files")})
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch info, err := d.Info(); {
		case err != nil:
			return err
		case d.IsDir():
			if rel == "." {
				mode = info.Mode().Perm()
			}
			if err := os.Mkdir(target, 0o700); err != nil {
				return err
			}
			return os.Chmod(target, info.Mode().Perm()|0o700)
		case !d.Type().IsRegular():
			return fmt.Errorf("%w: %w", ErrLocked, &fs.PathError{Op: "copying", Path: name, Err: errors.New("it is a link, or no regular file")})
		case os.Link(name, target) == nil:
			return nil
		default:
			return copyFile(name, target, info.Mode().Perm())
		}
	})
	return mode, err
}

func copyFile(from, to string, mode fs.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, File{data, mode}, 0o700)
}

// isBelow reports whether a path is one of the folders or in one of them.
func isBelow(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return regular.In(regular.Real(folder), name)
	})
}
