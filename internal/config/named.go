package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/source"
)

// namedLabel begins the labels of folders of a project that settings of clients name. A project's
// file cannot choose such a label.
const namedLabel = source.KindProject + ":./"

// named adds the folders of skills that settings of clients name. A folder in the project is the
// project's, whoever names it; one elsewhere is the user's, and only his own settings name it. The
// error joins what is left out.
func (s *Settings) named(search *source.Search) error {
	home, _ := os.UserHomeDir()
	if home == "" || !s.User && search.WorkDir == "" {
		return nil
	}
	var projects []string
	root := ""
	if search.WorkDir != "" {
		if projects = source.ProjectFolders(search.WorkDir, search.Home); len(projects) > 0 {
			root = projects[len(projects)-1]
		}
	}
	found, errs := machineAt(home).NamedFolders(projects)
	for i, err := range errs {
		if of, ok := errors.AsType[*client.PluginError](err); ok {
			errs[i] = &source.PlaceError{Path: of.Path, LeftOut: true, Err: err}
		}
	}
	f := newFence(root, nil)
	for _, n := range found {
		real := regular.Real(n.Path)
		switch mine := root == "" || !regular.In(root, real) && !above(root, n.Path); {
		case !mine && f.inside(real) == nil:
			rel, _ := regular.Rel(root, real)
			label := namedLabel + strings.TrimSuffix(strings.ToValidUTF8(filepath.ToSlash(rel), "\uFFFD"), "/skills")
			search.Named = append(search.Named, source.Folder{Path: n.Path, Label: label})
		case !mine || n.Project:
			err := fmt.Errorf("%s names %s, which does not lie in the project; name that folder in your own configuration if you want its skills", n.File, n.Path)
			errs = append(errs, &source.PlaceError{Path: n.Path, LeftOut: true, Err: err})
		case s.User && search.User == "":
			search.More = append(search.More, source.Folder{Path: n.Path, Label: source.KindUser + ":" + n.Label})
		}
	}
	return errors.Join(errs...)
}
