package source

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Dirs returns the sources of the skills in folders, see Dir. Of two skills with the same name
// the one in the earlier folder wins. Each label is as much of the end of a path as tells it from
// the others, such as "skills", or "team/skills" and "own/skills". A folder that is named twice
// counts once.
func Dirs(paths ...string) ([]Source, error) {
	var all []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		switch {
		case path == "":
			return nil, errors.New(`the path of a folder is ""; "." is the working folder`)
		case err != nil:
			return nil, fmt.Errorf("finding folder %s: %w", path, err)
		}
		if !slices.Contains(all, abs) {
			all = append(all, abs)
		}
	}
	var list []Source
	for i, path := range all {
		s, err := Dir(path, &Options{Label: labelAmong(path, all), Priority: len(all) - i, Kind: KindRoot})
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// labelAmong returns the shortest end of a path that no other path has.
func labelAmong(path string, all []string) string {
	parts := splitPath(path)
	for n := 1; n < len(parts); n++ {
		end := parts[len(parts)-n:]
		same := func(other string) bool {
			parts := splitPath(other)
			return other != path && len(parts) >= n && slices.Equal(parts[len(parts)-n:], end)
		}
		if !slices.ContainsFunc(all, same) {
			return strings.Join(end, "/")
		}
	}
	return filepath.ToSlash(path)
}

func splitPath(path string) []string {
	return strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
}

// Missing returns why the top of the source is no folder now; nil means that it is one, or that it
// is one of the usual places, which need not exist.
func (s *FS) Missing() error {
	info, err := s.tree.stat(".")
	switch at := s.tree.location(s.info.Label, "."); {
	case s.isUsual() || err == nil && info.IsDir():
		return nil
	case err == nil || isMissing(err):
		return missingError("there is no folder " + at)
	default:
		return fmt.Errorf("reading the folder of skills %s: %w", at, err)
	}
}
