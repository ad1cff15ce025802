package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// Parts tells what in a folder is the skill's. What is not is never there for a command: nobody
// would notice a change of it, so it could be anything at the time of the run.
type Parts struct {
	dir    string          // the folder on disk, without links; "" means that the files are not on disk
	listed map[string]bool // see Request.Listed; nil means all
}

// Parts returns what is the skill's in a folder on disk, an absolute path without links, or in
// r.Files if that is "".
func (r *Request) Parts(dir string) *Parts {
	p := &Parts{dir: dir}
	if r.Listed != nil && dir != "" {
		p.listed = make(map[string]bool, len(r.Listed))
		for _, name := range r.Listed {
			p.listed[name] = true
		}
	}
	return p
}

// Has reports whether what lies at a slash-separated path is the skill's. A link to a folder is if
// it leads to a folder of the skill.
func (p *Parts) Has(name string, d fs.DirEntry) bool {
	switch {
	case skill.IsExcluded(name):
		return false
	case p.dir != "" && d.Type()&fs.ModeSymlink != 0:
		return p.hasPath(name)
	}
	return d.IsDir() || p.listed == nil || p.listed[name]
}

// hasPath is Has for a path on disk on which links may be.
func (p *Parts) hasPath(name string) bool {
	if skill.IsExcluded(name) {
		return false
	}
	if p.dir == "" || p.listed[name] {
		return true
	}
	real, err := filepath.EvalSymlinks(filepath.Join(p.dir, filepath.FromSlash(name)))
	rel, ok := regular.Rel(p.dir, real)
	if rel = filepath.ToSlash(rel); err != nil || !ok || skill.IsExcluded(rel) {
		return false
	}
	info, err := os.Lstat(real)
	return err == nil && (info.IsDir() || p.listed == nil || p.listed[rel])
}

// other returns the path of something in the folder that is not the skill's; "" means that there
// is nothing.
func (p *Parts) other() (found string, err error) {
	err = filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // nor can the command read it
		}
		rel, err := filepath.Rel(p.dir, name)
		if rel = filepath.ToSlash(rel); err == nil && !p.Has(rel, d) {
			found = rel
			return fs.SkipAll
		}
		return err
	})
	return found, err
}

// link makes a link in a copy of the folder, as name in the folder leads to another folder of the
// skill.
func (p *Parts) link(name, to string) error {
	real, err := filepath.EvalSymlinks(filepath.Join(p.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil // it is gone
	}
	target, err := filepath.Rel(filepath.Dir(filepath.Join(p.dir, filepath.FromSlash(name))), real)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// hideOthers copies the folder of the skill if it has something that is not the skill's.
func (run *Run) hideOthers() error {
	p := run.Request.Parts(run.Dir)
	found, err := p.other()
	if err != nil || found == "" {
		return err
	}
	root, err := os.OpenRoot(run.Dir) // no link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	run.from, run.Dir = run.Dir, filepath.Join(run.temp, "skill")
	if err := copyFiles(run.Dir, root.FS(), p); err != nil {
		return fmt.Errorf("%w; it must be copied, because its folder has %s, which is not part of it: remove that", err, found)
	}
	return nil
}

// moved writes a copy of a folder in the words of a command in the place of the folder. at is where
// the command sees the copy.
func moved(line []string, at string, folders ...string) {
	sep := string(filepath.Separator)
	for i, word := range line {
		for _, dir := range folders {
			if word == dir {
				word = at
			}
			word = strings.ReplaceAll(word, dir+sep, at+sep)
		}
		line[i] = word
	}
}
