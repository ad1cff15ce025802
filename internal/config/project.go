package config

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// A Project is the project whose skills a catalog holds. It may be used from
// several goroutines.
type Project struct {
	root   string   // "" means that the catalog has no skills of a project
	labels []string // of its sources

	scopes sync.Map // *search.Agent to the same agent without the skills of the project
}

// NewProject returns the project of sources that were opened for the folder dir;
// "" means the working folder.
func NewProject(dir string, sources []source.Source) (*Project, error) {
	p := new(Project)
	for _, s := range sources {
		if info := s.Info(); info.Kind == source.KindProject {
			p.labels = append(p.labels, info.Label)
		}
	}
	if len(p.labels) == 0 {
		return p, nil
	}
	dir, err := workDir(dir)
	if err != nil {
		return nil, err
	}
	p.root = ProjectRoot(dir)
	return p, nil
}

// holds reports whether the project holds a folder, which a model or a client over HTTP
// may have chosen. It does not look for a folder of another machine: Windows would log in
// there, so //host/share is the project's only if its name says so.
func (p *Project) holds(dir string) bool {
	if slashed := strings.ReplaceAll(dir, `\`, "/"); strings.HasPrefix(slashed, "//") || strings.HasPrefix(slashed, "/??/") {
		return within(p.root, filepath.Clean(dir))
	}
	return within(p.root, resolved(dir))
}

// Scope returns the agent a as it is for work in the folder dir: outside the project it
// does not see the project's own skills. A nil agent sees all skills. If dir is not
// absolute, it is unknown, and Scope returns a unchanged.
func (p *Project) Scope(dir string, a *search.Agent) *search.Agent {
	if p.root == "" || !filepath.IsAbs(dir) || p.holds(dir) {
		return a
	}
	var elsewhere search.Agent
	if a != nil {
		elsewhere = *a
	}
	elsewhere.Exclude.Sources = slices.Concat(elsewhere.Exclude.Sources, p.labels)
	// Return the same address each time: the catalog caches scopes by address.
	scope, _ := p.scopes.LoadOrStore(a, &elsewhere)
	return scope.(*search.Agent)
}
