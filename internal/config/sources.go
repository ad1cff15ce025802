package config

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/source"
)

// Sources opens the configured folders, and the usual folders of the user and of the
// project that dir belongs to ("" means the working folder). For each folder that cannot be
// looked at it calls warn, unless that is nil; the folder is a source all the same.
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
	warnEach(err, warn)
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

// warnEach calls warn, unless that is nil, for each of the errors that err joins.
func warnEach(err error, warn func(error)) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || warn == nil {
		return
	}
	for _, err := range joined.Unwrap() {
		warn(err)
	}
}
