package status

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/source"
)

// A Path is a file or folder that the program reads or writes.
type Path struct {
	Use      string `json:"use"` // what it is for
	Path     string `json:"path"`
	Exists   bool   `json:"exists"`
	Variable string `json:"variable,omitempty"` // of the environment, which moves it
	Source   string `json:"source,omitempty"`   // label of the source, of a place where skills are looked for
}

// paths is a list of paths to which more are added.
type paths []Path

// add adds a path; "" means that there is none, such as without a home.
func (l *paths) add(use, path, variable string) {
	if path != "" {
		_, err := os.Stat(path)
		*l = append(*l, Path{Use: use, Path: path, Exists: err == nil, Variable: variable})
	}
}

// Paths returns the places that the program uses in the folder dir; "" means the working
// folder. An error says that the configuration has a mistake; then the places are the usual
// ones.
func Paths(dir string, o *config.Options) ([]Path, error) {
	s, err := config.Read(dir, o)
	if err != nil {
		s = config.Default()
	}
	var l paths
	own, _ := config.File() // without a home there is none, as of the folders below
	l.add("your configuration", cmp.Or(o.File, own), "REPERTOIRE_CONFIG")
	if o.File == "" {
		l.add("configuration of the project", config.ProjectFile(dir), "")
	}
	l.addCatalog(dir, &s)
	l.addState()
	data, _ := config.DataDir()
	installed, _ := s.InstalledDir()
	l.add("data", data, "REPERTOIRE_DATA")
	l.add("installed skills", installed, "")
	l.addIn(data, "fetched roots", "roots", "edits that an update replaced", "edited")
	l.addSkills(dir, &s)
	return l, err
}

// addCatalog adds the catalog of the sources, and the folder of all catalogs.
func (l *paths) addCatalog(dir string, s *config.Settings) {
	cache, _ := config.CacheDir()
	db := s.DB
	if sources, err := s.Sources(dir, nil); err == nil && db == "" && cache != "" {
		db, _ = config.DefaultDB(sources)
	}
	l.add("catalog", db, "REPERTOIRE_DB")
	l.add("cache of all catalogs", cache, "REPERTOIRE_CACHE")
}

// addState adds the state folder and what is in it.
func (l *paths) addState() {
	state, _ := config.StateDir()
	l.add("state", state, "REPERTOIRE_STATE")
	l.addIn(state, "log of usage", "usage", "log of hooks", "hook.log", "sessions", "sessions", "proposed changes", "proposals",
		"trusted skills", "trusted", "what setup has written", "setup.json", "backups of settings", "backup", "last good configurations", "settings")
}

// addIn adds names in a folder, each after its use.
func (l *paths) addIn(folder string, usesAndNames ...string) {
	for i := 0; folder != "" && i < len(usesAndNames); i += 2 {
		l.add(usesAndNames[i], filepath.Join(folder, usesAndNames[i+1]), "")
	}
}

// addSkills adds the places in which skills are looked for, those that are there first.
func (l *paths) addSkills(dir string, s *config.Settings) {
	places, missing, err := s.SkillPlaces(dir)
	if err != nil {
		return // Read has reported it
	}
	for _, list := range [][]source.Place{places, missing} {
		for _, p := range list {
			l.add("skills", p.Path, "")
			if p.Path != "" {
				(*l)[len(*l)-1].Source = p.Label
			}
		}
	}
}
