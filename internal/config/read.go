package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// Options are the flags of a program. repertoire.ConfigOptions explains the fields. A
// nil *Options is all zero values.
type Options struct {
	File      string
	Roots     []string
	OnlyRoots bool
	DB        string
	Store     string
	Catalog   string
	Client    string
	State     string
	LastGood  bool
	Warn      func(error)
}

// NoStore as a store means the folders of this machine, whatever else is configured.
const NoStore = "none"

// storeVariable is the variable with the URL of the database of a shared catalog.
const storeVariable = "REPERTOIRE_STORE"

func (o *Options) warn(err error) {
	if o.Warn != nil {
		o.Warn(err)
	}
}

// Read returns the settings for the folder dir; "" means the working folder. Options in
// o, which may be nil, override the configuration.
func Read(dir string, o *Options) (Settings, error) {
	if o == nil {
		o = new(Options)
	}
	s := Default()
	if err := s.readFiles(dir, o); err != nil {
		return s, err
	}
	if o.OnlyRoots {
		if len(o.Roots) == 0 {
			return s, errors.New("no folder to look for skills in: OnlyRoots is set, and Roots is empty")
		}
		s.Roots, s.Preloaded, s.Project, s.User, s.Bundled, s.Installed = nil, nil, false, false, false, false
	}
	s.applyProjects(dir)
	s.renewLabels(dir)
	var roots []Root
	for _, r := range o.Roots {
		roots = append(roots, Root{Path: r})
	}
	s.Roots = append(roots, s.Roots...)
	for i := range s.Roots { // now: the program may change its working folder later
		abs, err := filepath.Abs(s.Roots[i].Path)
		if err != nil {
			return s, err
		}
		s.Roots[i].Path = abs
		if err := s.Roots[i].keepArchive(); err != nil {
			return s, err
		}
	}
	s.DB = cmp.Or(o.DB, os.Getenv("REPERTOIRE_DB"), s.DB)
	s.Store, s.Catalog = cmp.Or(o.Store, os.Getenv(storeVariable), s.Store), cmp.Or(o.Catalog, s.Catalog)
	if s.Store == NoStore {
		s.Store = ""
	}
	if v := os.Getenv(contextualVariable); v != "" {
		if !slices.Contains(contextuals(), v) {
			return s, fmt.Errorf("%s=%s: use %s", contextualVariable, v, strings.Join(contextuals(), ", "))
		}
		s.Contextual = v
	}
	return s, nil
}

// applyProjects makes hold what the user's file says of the project that dir belongs to, also in
// folders below it that are projects of their own or, outside of a repository, count as such.
func (s *Settings) applyProjects(dir string) {
	if len(s.Projects) == 0 {
		return
	}
	dir, err := workDir(dir)
	if err != nil {
		return // readFiles has warned of it
	}
	root := ProjectRoot(dir)
	for _, r := range s.Projects {
		if root != "" && regular.In(regular.Real(r.Folder), root) {
			s.Disabled = append(s.Disabled, r.Disabled...)
		}
	}
}

// readFiles adds the settings in the configuration file of o. Without one, it reads the file
// of the user and the file of the project that dir belongs to.
func (s *Settings) readFiles(dir string, o *Options) error {
	if o.File != "" {
		return s.readOwn(o.File, o)
	}
	name, err := File()
	if err == nil {
		// Without a home there is no file of the user; that is no reason to stop.
		if err := s.readOwn(name, o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if dir, err = workDir(dir); err != nil {
		o.warn(fmt.Errorf("no project: %w", err)) // somebody has removed the working folder
		return nil
	}
	names, err := projectFiles(dir)
	for i, name := range names {
		if i == 0 {
			err = cmp.Or(s.ReadProject(name), err)
			continue
		}
		above := Default() // a file of a subfolder takes the place of this one, but enables nothing
		err = cmp.Or(err, above.ReadProject(name))
		s.Disabled = append(s.Disabled, above.Disabled...)
	}
	if err != nil { // somebody else may have made the mistake
		o.warn(fmt.Errorf("%w (the project's configuration is left out)", err))
	}
	return nil
}

// readOwn is ReadUser, but if the file has a mistake, o may allow to go by its last content
// without one.
func (s *Settings) readOwn(name string, o *Options) error {
	data, err := readFile(name, maxFile)
	if err == nil {
		err = s.parse(name, data, nil)
	}
	good := newLastGood(o.State, name)
	switch {
	case err == nil:
		good.write(data)
	case errors.Is(err, fs.ErrNotExist):
		good.remove()
	case o.LastGood:
		if last, ok := good.read(); ok && s.parse(name, last, nil) == nil {
			o.warn(fmt.Errorf("%w (the last settings without a mistake hold until you correct it)", err))
			return nil
		}
	}
	return err
}
