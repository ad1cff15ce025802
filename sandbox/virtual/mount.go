package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// maxFile is the size of the largest file that is copied into a sandbox.
const maxFile = 16 << 20

// Mount copies the files of a skill into the sandbox, at Root/skills/name. A skill that is
// mounted already is replaced.
func (s *Sandbox) Mount(name string, files fs.FS) error {
	s.busy <- struct{}{}
	defer s.unlock()
	return s.mount(name, files, new(sandbox.Request).Parts(""))
}

// MountSkill mounts the skill of a request, as Execute does: in the place of one of this name
// from another folder, but not again. It is of interface sandbox.Box.
func (s *Sandbox) MountSkill(ctx context.Context, r sandbox.Request) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	_, err := s.open(r)
	return err
}

// MountedSkills returns the names of the skills in the sandbox, sorted. Like Mount, it waits
// for the end of a run.
func (s *Sandbox) MountedSkills() []string {
	s.busy <- struct{}{}
	defer s.unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.skills)), func(name string) bool { return !s.mounted(name) })
}

// mounted reports whether a skill is in the sandbox: a script may have removed it.
func (s *Sandbox) mounted(name string) bool {
	n, _, err := s.tree.lookup("open", s.skillDir(name))
	_, known := s.skills[name]
	return known && err == nil && n.isDir()
}

// SkillPath returns where the files of a skill are in the sandbox, once it is mounted.
func (s *Sandbox) SkillPath(name string) string { return s.skillDir(name) }

// mountRequest copies the skill of a request, from Files or from Dir.
func (s *Sandbox) mountRequest(r sandbox.Request) error {
	if r.Files != nil {
		return s.mount(r.Skill, r.Files, r.Parts(""))
	}
	if r.Dir == "" {
		return errors.New("the request has neither a folder nor files")
	}
	root, err := os.OpenRoot(r.Dir) // no link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	real, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return err
	}
	if err := s.mount(r.Skill, root.FS(), r.Parts(real)); err != nil {
		return err
	}
	s.skills[r.Skill] = r.Dir
	return nil
}

func (s *Sandbox) mount(name string, files fs.FS, parts *sandbox.Parts) error {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("mounting %q: a skill's name is one folder's name", tidy.Line(name))
	}
	dir := s.skillDir(name)
	if _, _, err := s.tree.lookup("mount", dir); err == nil {
		if err := s.tree.remove(dir); err != nil {
			return err
		}
		delete(s.skills, name)
	}
	if err := s.tree.mkdirAll(dir); err != nil {
		return err
	}
	if err := s.copyIn(dir, files, parts, nil); err != nil {
		return errors.Join(fmt.Errorf("mounting skill %q: %w", tidy.Line(name), err), s.tree.remove(dir))
	}
	s.skills[name] = ""
	return nil
}

// copyIn copies folders and regular files. seen is called for each file; nil means nobody asks.
// parts tells what is a skill's: nothing else is copied, but links to regular files that files can
// open are. nil means that the files are no skill's.
func (s *Sandbox) copyIn(dir string, files fs.FS, parts *sandbox.Parts, seen func(name string, n *node, info fs.FileInfo)) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		to := path.Join(dir, name)
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // what cannot be read is not there
		case parts != nil && !parts.Has(name, d) && d.IsDir():
			return fs.SkipDir
		case parts != nil && !parts.Has(name, d):
			return nil
		case d.IsDir():
			return s.tree.mkdirAll(to)
		}
		info, err := fs.Stat(files, name)
		if err != nil || !info.Mode().IsRegular() || parts == nil && !d.Type().IsRegular() {
			return nil
		}
		data, err := readFile(files, name)
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o600
		if strings.HasPrefix(string(data), "#!") && !keepsModes(info) {
			mode |= 0o111
		}
		if err := s.tree.put(to, data, mode); err != nil {
			return err
		}
		if n, _, err := s.tree.lookup("open", to); err == nil && seen != nil {
			seen(name, n, info)
		}
		return nil
	})
}

// keepsModes reports whether the permissions of a file come from a disk. Not every other
// source of skills has them.
func keepsModes(info fs.FileInfo) bool { return info.Sys() != nil }

// readFile reads a file that must not be larger than maxFile.
func readFile(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", tidy.Line(name), maxFile>>20)
	}
	return data, nil
}
