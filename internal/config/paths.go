package config

import (
	"path/filepath"

	"github.com/repertoire-skills/repertoire/source"
)

// ProjectFile returns the configuration file that the project of dir has, or would have in its
// root; "" means the working folder. Outside of a project it returns "".
func ProjectFile(dir string) string {
	dir, err := workDir(dir)
	if err != nil {
		return ""
	}
	name, err := FindProjectFile(dir)
	if root := ProjectRoot(dir); err == nil && name == "" && root != "" {
		name = filepath.Join(root, filepath.FromSlash(projectFile))
	}
	return name
}

// SkillPlaces returns all places in which skills are looked for from the folder dir, the highest
// priority first; "" means the working folder. Further it returns those that do not exist.
func (s *Settings) SkillPlaces(dir string) (places, missing []source.Place, err error) {
	roots, err := s.rootsByPath()
	if err != nil {
		return nil, nil, err
	}
	search, err := s.search(dir, roots)
	if err != nil {
		return nil, nil, err
	}
	_ = s.named(&search) // Sources tells of its errors
	search.Missing = func(p source.Place) { missing = append(missing, p) }
	places, _ = source.Discover(search) // a place that cannot be looked at is one, too
	for i, p := range places {
		if label := roots[p.Path].Label; label != "" {
			places[i].Label = label
		}
	}
	return places, missing, nil
}
