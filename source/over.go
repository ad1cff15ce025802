package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// isOfSkills reports whether each folder in a folder is meant as a skill: in the usual places of
// skills, and wherever a folder is called so. Elsewhere, as in a repository, there are others.
func (s *FS) isOfSkills(dir string) bool {
	if dir == "." {
		return s.isUsual() || strings.EqualFold(s.base, "skills")
	}
	return strings.EqualFold(path.Base(dir), "skills")
}

// readsAsSkill reports whether a file in a folder of skills has the frontmatter of a skill.
func (s *FS) readsAsSkill(name string) bool {
	const most = 64 << 10
	top, err := s.tree.top()
	if err != nil {
		return false
	}
	defer top.Close()
	f, err := openRegular(top, name)
	if err != nil {
		return false // it lies behind a link, or cannot be read
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return false
	}
	sk, err := skill.ParseBytes(text, name, "folder")
	return err == nil && !slices.ContainsFunc(sk.Problems, func(p skill.Problem) bool { return p.Rule == "missing-name" })
}

// hasFiles reports whether a folder has files that people see.
func hasFiles(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && !strings.HasPrefix(e.Name(), ".") })
}

// keepWithin notes which SKILL.md files lie in the folder of a skill.
func (w *walker) keepWithin(dir string, files []string) {
	if w.src.single {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, file := range files {
		w.within = append(w.within, join(dir, file))
	}
}

// passedOver reports what somebody may mean as a skill and what is none of its own: a folder
// without a SKILL.md in which no other skill lies, and a SKILL.md in the folder of a skill.
func (w *walker) passedOver() {
	holds := make(map[string]bool) // folders with a skill in them, or with what is wrong there
	for _, it := range w.items {
		for dir := it.path; dir != "." && !holds[dir]; dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	for _, dir := range w.bare {
		name := path.Base(dir)
		if strings.ContainsAny(name[:1], "._") || skill.IsMaterial(name) || holds[dir] {
			continue
		}
		w.note(dir, "no-skill-file", errors.New("not a skill: the folder has no SKILL.md"), "call its instructions SKILL.md, or move it out of the folder of skills")
	}
	for _, file := range w.within {
		above := path.Dir(path.Dir(file))
		w.note(file, "skill-in-skill", fmt.Errorf("no skill of its own: it is a part of the skill around it, above %s", path.Base(path.Dir(file))),
			"if it should be one, move its folder out of "+above)
	}
}
