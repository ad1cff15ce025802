package source

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
)

// isShared reports whether the folder of a skill may have other skills below it: only the top
// of a source may. Who unpacks a skill one folder too high should not lose all others.
func (s *FS) isShared(dir string) bool { return dir == "." && !s.single }

// isPartOfTop reports whether an entry of a shared folder is certainly no other skill, and
// holds none.
func isPartOfTop(e fs.DirEntry) bool {
	return !e.IsDir() && !isLink(e.Type()) || skill.IsMaterial(e.Name()) || slices.Contains(skill.FileNames, e.Name())
}

// leadsToOther reports whether a path in a shared folder leads, through links even out of the
// source, to the folder of another skill.
func (s *FS) leadsToOther(name string) bool {
	return s.onDisk() && !skill.IsMaterial(name) && holdsInstructions(name, s.tree.stat)
}

// errOther is the error for a file of another skill in a shared folder. Who asks for it is told
// that there is none: he may not be allowed to know of the other skill.
var errOther = fmt.Errorf("%w: it is part of another skill", ErrRefused)

// A sharedFolder is the open folder of a skill that may have other skills below it.
type sharedFolder struct {
	folder
	source *FS
}

// stat implements folder, and so the check of everything that is opened, see openRegular.
func (f sharedFolder) stat(name string) (fs.FileInfo, error) {
	if slices.ContainsFunc(foldersOf(name), f.source.leadsToOther) {
		return nil, errOther
	}
	real, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	isOther := func(dir string) bool { return isSkill(f, dir) }
	if !skill.IsMaterial(real) && slices.ContainsFunc(foldersOf(real), isOther) {
		return nil, errOther
	}
	return f.folder.stat(name)
}

// foldersOf returns a path and the folders above it, without the top.
func foldersOf(name string) []string { return append(parents(name), name)[1:] }

// judgeTop reports a skill at the top that has other skills below it. If there are none, the
// source is one skill, and what would be odd in a folder of skills is not odd in it.
func (w *walker) judgeTop() {
	others := -1 // the skill at the top is no other one
	for _, it := range w.items {
		if it.ref != nil {
			others++
		}
	}
	if others == 0 {
		w.deep = 0
		w.items = slices.DeleteFunc(w.items, func(it item) bool {
			note, ok := errors.AsType[*walkError](it.err)
			return ok && !note.partial
		})
		return
	}
	w.note(w.top, "skill-at-top", fmt.Errorf("it lies at the top of a folder with %s: it counts as one more skill, without their files", figures.Count(others, "other skill")),
		"move it into a folder of its own; or, if all is one skill, name the folder above as the root")
}
