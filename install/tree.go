package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A found is a skill in a source.
type found struct {
	dir  string // in the source, slash-separated
	name string
	err  error // why it cannot be installed; nil if it can
}

// confined returns the source of the skills in a folder of the folder top, which no link leaves. single is
// source.Options.Single.
func confined(top, dir string, single bool) (*source.FS, error) {
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return nil, err
	}
	return source.Dir(filepath.Join(real, filepath.FromSlash(dir)), &source.Options{Label: "source", Single: single, Confine: func(p string) error {
		if !regular.In(real, p) {
			return errors.New("it leads out of the source")
		}
		return nil
	}})
}

// find finds the skills in a folder of a source, and what is wrong with the rest of it. A folder with a
// SKILL.md is one skill: whoever publishes it means all of it. Folders that links lead to count as
// where they are in the source.
func find(ctx context.Context, top, dir string) ([]found, []skill.Problem, error) {
	src, err := confined(top, dir, true)
	if err != nil {
		return nil, nil, err
	}
	var list []found
	var problems []skill.Problem
	for ref, err := range src.Skills(ctx, nil) {
		if err != nil {
			problems = append(problems, problemOf(err))
			continue
		}
		file := path.Join(dir, ref.Path)
		f := found{dir: path.Dir(file)}
		if f.name, f.err = nameOf(top, file); f.err == nil {
			f.dir, f.err = unpack.Resolve(top, f.dir)
		}
		list = append(list, f)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return list, problems, nil
}

func problemOf(err error) skill.Problem {
	if p, ok := err.(interface{ Problem() skill.Problem }); ok {
		return p.Problem()
	}
	return skill.Problem{Rule: "unreadable", Severity: skill.Warning, Path: ".", Message: err.Error()}
}

// nameOf reads the name of a skill, without reading its other files.
func nameOf(top, file string) (string, error) {
	text, err := unpack.ReadFile(top, file, skill.MaxFile)
	if err != nil {
		return path.Base(path.Dir(file)), err
	}
	s, err := skill.ParseBytes(text, file, "")
	if err != nil {
		return path.Base(path.Dir(file)), err
	}
	return s.Name, nil
}

// A tree is a skill's folder as it is now.
type tree struct {
	skill *skill.Skill
	files map[string]File
	odd   []string // links, pipes and so on, which are never installed
}

// readTree reads all of a skill's folder.
func readTree(ctx context.Context, parent, name string) (*tree, error) {
	src, err := confined(parent, ".", false)
	if err != nil {
		return nil, err
	}
	t := &tree{files: make(map[string]File)}
	if t.skill, err = source.Load(ctx, src, name); err != nil {
		return nil, err
	}
	return t, t.walk(ctx, filepath.Join(parent, name))
}

// walk hashes all files, also those that no source serves. It leaves out what is never part of
// a skill.
func (t *tree) walk(ctx context.Context, dir string) error {
	known := make(map[string]string, len(t.skill.Files))
	for _, f := range t.skill.Files {
		known[f.Path] = f.SHA256
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.IsDir() && skill.IsExcluded(rel):
			return filepath.SkipDir
		case d.IsDir() || skill.IsExcluded(rel):
			return nil
		}
		if !d.Type().IsRegular() {
			t.odd = append(t.odd, rel)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := known[rel]
		if sum == "" {
			sum, err = remote.Digest(name)
			sum = strings.TrimPrefix(sum, "sha256:")
		}
		t.files[rel] = File{sum, info.Mode()&0o111 != 0}
		return err
	})
}

// Files says how the files of a skill differ from what was installed, or from a new version
// of it. Paths are slash-separated and sorted.
type Files struct {
	Changed []string `json:"changed,omitempty"` // other contents, or no longer or newly executable
	Missing []string `json:"missing,omitempty"` // only the old version has them
	Extra   []string `json:"extra,omitempty"`   // only the new version has them
}

// Same reports whether there is no difference.
func (f Files) Same() bool { return len(f.Changed)+len(f.Missing)+len(f.Extra) == 0 }

// compare says how the files now differ from the files before.
func compare(before, now map[string]File) Files {
	var f Files
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch file, ok := now[name]; {
		case !ok:
			f.Missing = append(f.Missing, name)
		case file != before[name]:
			f.Changed = append(f.Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, ok := before[name]; !ok {
			f.Extra = append(f.Extra, name)
		}
	}
	return f
}

// hash returns the files in the folder of an installed skill; none if it does not exist. A
// link or a pipe counts as a file with other contents.
func (in *Installer) hash(ctx context.Context, name string) (map[string]File, error) {
	t := &tree{files: make(map[string]File), skill: new(skill.Skill)}
	err := t.walk(ctx, in.folder(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, odd := range t.odd {
		t.files[odd] = File{}
	}
	if err != nil {
		err = fmt.Errorf("reading the installed skill %s: %w", name, err)
	}
	return t.files, err
}

// list returns names for a message, at most 20 of them.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
