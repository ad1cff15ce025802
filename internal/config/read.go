package config

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
)

// Options are the flags of a program. repertoire.ConfigOptions explains the fields. A
// nil *Options is all zero values.
type Options struct {
	File      string
	Roots     []string
	OnlyRoots bool
	DB        string
	Warn      func(error)
}

// Read returns the settings for the folder dir; "" means the working folder. Options in
// o, which may be nil, override the configuration.
func Read(dir string, o *Options) (Settings, error) {
	if o == nil {
		o = new(Options)
	}
	s := Default()
	if err := s.readFiles(dir, o.File); err != nil {
		return s, err
	}
	if o.OnlyRoots {
		if len(o.Roots) == 0 {
			return s, errors.New("no folder to look for skills in: OnlyRoots is set, and Roots is empty")
		}
		s.Roots, s.Project, s.User, s.Bundled = nil, false, false, false
	}
	var roots []Root
	for _, r := range o.Roots {
		roots = append(roots, Root{Path: r})
	}
	s.Roots = append(roots, s.Roots...)
	s.DB = cmp.Or(o.DB, os.Getenv("REPERTOIRE_DB"), s.DB)
	return s, nil
}

// readFiles adds the settings in the configuration file at name. If name is "", it reads
// the file of the user and the file of the project that dir belongs to.
func (s *Settings) readFiles(dir, name string) error {
	if name != "" {
		return s.ReadUser(name)
	}
	name, err := File()
	if err == nil {
		// Without a home there is no file of the user; that is no reason to stop.
		if err := s.ReadUser(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if dir, err = workDir(dir); err != nil {
		return err
	}
	project, err := FindProjectFile(dir)
	if err != nil || project == "" {
		return err
	}
	return s.ReadProject(project)
}
