package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// A Project is the project whose skills a catalog holds. It may be used from
// several goroutines.
type Project struct {
	root string // "" means that there is none
}

// NewProject returns the project that the folder dir belongs to; "" means the working
// folder.
func NewProject(dir string) *Project {
	dir, err := workDir(dir)
	if err != nil {
		return new(Project) // Sources has none of its folders either
	}
	return &Project{root: ProjectRoot(dir)}
}

// CurrentProject returns the root of the project that the folder dir belongs to; "" means
// the working folder. That there is none is an error.
func CurrentProject(dir string) (string, error) {
	dir, err := workDir(dir)
	if err != nil {
		return "", err
	}
	if root := ProjectRoot(dir); root != "" {
		return root, nil
	}
	return "", fmt.Errorf("%s belongs to no project: it is your home, or a folder above", dir)
}

// holds reports whether the project holds a folder, which a model or a client over HTTP
// may have chosen. It does not look for a folder of another machine: Windows would log in
// there, so //host/share is the project's only if its name says so.
func (p *Project) holds(dir string) bool {
	if slashed := strings.ReplaceAll(dir, `\`, "/"); strings.HasPrefix(slashed, "//") || strings.HasPrefix(slashed, "/??/") {
		return regular.In(p.root, filepath.Clean(dir))
	}
	return regular.In(p.root, regular.Real(dir))
}

// Scope returns the agent a as it is for work in the folder dir: outside the project it
// does not see the project's own skills, which are in some of the sources of the catalog.
// A nil agent sees all skills. If dir is not absolute, it is unknown, and Scope returns a
// unchanged.
func (p *Project) Scope(dir string, sources []source.Source, a *search.Agent) *search.Agent {
	if p.root == "" || !filepath.IsAbs(dir) || p.holds(dir) {
		return a
	}
	var labels []string
	for _, s := range sources {
		if info := s.Info(); info.Kind == source.KindProject {
			labels = append(labels, info.Label)
		}
	}
	if len(labels) == 0 {
		return a
	}
	elsewhere := new(search.Agent)
	if a != nil {
		*elsewhere = *a
	}
	elsewhere.Exclude.Sources = slices.Concat(elsewhere.Exclude.Sources, labels)
	return elsewhere
}
