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

// Sources opens the configured folders, and the usual folders of the user and of the
// project that dir belongs to ("" means the working folder). It leaves out usual folders
// that cannot be read, and calls warn, unless that is nil, with the reason.
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
		// Without a home there are no folders of the user.
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

// unreachable returns the errors of Discover about roots, which somebody has configured.
// It passes the others, about usual folders, to warn.
func unreachable(err error, roots map[string]Root, warn func(error)) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var fatal []error
	for _, err := range joined.Unwrap() {
		at, ok := errors.AsType[*fs.PathError](err)
		if ok {
			_, named := roots[at.Path]
			ok = !named
		}
		switch {
		case !ok:
			fatal = append(fatal, err)
		case warn != nil:
			warn(err)
		}
	}
	return errors.Join(fatal...)
}
