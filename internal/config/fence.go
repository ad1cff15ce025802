package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A fence says which folders a project may use as its own. The files and links of a
// project may come from somebody else: they must neither bring in other folders of this
// machine nor pass off skills of the user as the project's.
type fence struct {
	project string          // root of the project, links resolved
	home    string          // of the user, links resolved; "" means that there is none
	user    func() []string // the places of the user's skills, links resolved
}

// newFence returns the fence of the project with this root. places returns the places of the
// user's skills; few projects have links that ask for them. nil will do if usual is not asked.
func newFence(project string, places func() []string) *fence {
	home, err := os.UserHomeDir()
	if err == nil {
		home = regular.Real(home)
	}
	return &fence{project, home, sync.OnceValue(func() []string {
		var real []string
		for _, place := range places() {
			real = append(real, regular.Real(place))
		}
		return real
	})}
}

// inside says why a folder or file, whose links are resolved, is not the project's.
func (f *fence) inside(real string) error {
	// A project above the user's home does not own what is in there.
	ofUser := f.home != "" && above(f.project, f.home) && (above(f.home, real) || above(real, f.home))
	if regular.In(f.project, real) && !ofUser {
		return nil
	}
	return fmt.Errorf("it leads to %s, out of the project", real)
}

// folder is inside for a folder of skills that the project's configuration names.
func (f *fence) folder(real string) error {
	if err := f.inside(real); err != nil {
		return fmt.Errorf("%w; name that folder in your own configuration if you want its skills", err)
	}
	return nil
}

// usual is inside for the usual folders of a project, such as .claude/skills: people link
// them to folders elsewhere, and may, unless the user's skills are there.
func (f *fence) usual(real string) error {
	err := f.inside(real)
	if err == nil || !slices.ContainsFunc(f.user(), func(place string) bool { return above(place, real) || above(real, place) }) {
		return nil
	}
	return fmt.Errorf("it leads to %s, where your own skills are: they are not the project's", real)
}

// above reports whether folder is path or above it. It compares the folders themselves:
// where case makes no difference, one folder has many names.
func above(folder, path string) bool {
	want, err := os.Stat(folder)
	if err != nil {
		return regular.In(folder, path)
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, want) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// badPath says what is wrong with the path of a folder in the file of a project, which
// must mean the same folder on every system; "" means nothing.
func badPath(path string) string {
	switch {
	case strings.HasPrefix(path, "~"):
		return "the path starts with ~"
	case strings.HasPrefix(path, "/"):
		return "the path is absolute"
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			continue
		}
		if bad, ok := errors.AsType[*skill.PathError](skill.CheckPart(part)); ok {
			return bad.Reason
		}
	}
	return ""
}
