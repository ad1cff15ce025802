package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/source"
)

// Sources opens the folders that the settings name and the usual folders, those
// of the project for the folder dir ("" means the working folder). warn, if not
// nil, hears why a usual folder, which is then left out, cannot be read.
func (s *Settings) Sources(dir string, warn func(error)) ([]source.Source, error) {
	roots := make(map[string]Root) // by path
	search := source.Search{Folders: client.SkillFolders(), NoBundled: !s.Bundled}
	for _, r := range s.Roots {
		abs, err := filepath.Abs(r.Path)
		if err != nil {
			return nil, err
		}
		roots[abs] = r
		search.Roots = append(search.Roots, abs)
	}
	if s.Project {
		var err error
		if search.WorkDir, err = workDir(dir); err != nil {
			return nil, err
		}
	}
	if s.User {
		// Without a home there are no folders of the user to look at.
		if home, err := os.UserHomeDir(); err == nil {
			search.Home, search.Config = home, os.Getenv("XDG_CONFIG_HOME")
		}
	}
	places, err := source.Discover(search)
	if err := unreachable(err, roots, warn); err != nil {
		return nil, err
	}
	var sources []source.Source
	for _, p := range places {
		r := roots[p.Path]
		p.Label = cmp.Or(r.Label, p.Label)
		src, err := p.Open(&source.Options{Names: r.Names, MaxFile: s.MaxFile})
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// unreachable returns the errors of Discover that concern a root, which somebody
// asked for. The others, about usual folders, go to warn.
func unreachable(err error, roots map[string]Root, warn func(error)) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var fatal []error
	for _, err := range joined.Unwrap() {
		var at *fs.PathError
		usual := errors.As(err, &at)
		if usual {
			_, named := roots[at.Path]
			usual = !named
		}
		switch {
		case !usual:
			fatal = append(fatal, err)
		case warn != nil:
			warn(err)
		}
	}
	return errors.Join(fatal...)
}
