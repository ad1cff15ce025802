package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/source"
)

// Sources opens the configured folders, the installed skills, and the usual folders of the
// user and of the project that dir belongs to ("" means the working folder). For each folder
// that cannot be looked at it calls warn, unless that is nil; the folder is a source all the
// same. It leaves out, with a warning, folders of the project that lead to somebody else's.
func (s *Settings) Sources(dir string, warn func(error)) ([]source.Source, error) {
	roots, err := s.rootsByPath()
	if err != nil {
		return nil, err
	}
	search, err := s.search(dir, roots)
	if err != nil {
		return nil, err
	}
	warnEach(s.named(&search), warn)
	plugins, err := s.plugins(&search)
	warnEach(err, warn)
	confine := confinement(&search, roots)
	search.Confine = func(path, real string) error { return confine(path)(real) }
	places, err := source.Discover(search)
	warnEach(unfetched(err, roots), warn)
	var sources []source.Source
	for _, p := range places {
		r := roots[p.Path]
		p.Label = cmp.Or(r.Label, p.Label)
		o := source.Options{Names: r.Names, MaxFile: s.MaxFile, Limits: s.Limits, Apart: r.Elsewhere() || p.Kind == source.KindInstalled && p.Label != source.KindInstalled}
		switch plugin, ok := plugins[p.Path]; {
		case p.Kind == source.KindProject && strings.HasPrefix(p.Label, namedLabel):
			o.Confine = newFence(ProjectRoot(search.WorkDir), nil).folder
		case p.Kind == source.KindProject:
			o.Confine = confine(p.Path)
		case p.Kind == source.KindBundled:
			o.Only = s.BundledOnly
		case ok && p.Kind == source.KindUser:
			o.Only, o.Confine, o.Apart = plugin.only, plugin.confine, true
		case p.Kind == source.KindUser, p.Kind == source.KindRoot && !r.Elsewhere():
			o.Own = true
		}
		src, err := p.Open(&o)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s.fetched(src, r))
	}
	preloaded, err := s.preloaded()
	return append(sources, preloaded...), err
}

// rootsByPath returns the roots by their absolute paths.
func (s *Settings) rootsByPath() (map[string]Root, error) {
	roots := make(map[string]Root)
	for _, r := range s.Roots {
		abs, err := filepath.Abs(r.Path)
		if err != nil {
			return nil, err
		}
		if old, ok := roots[abs]; ok && r.Project != "" && old.Project == "" {
			continue // a project does not relabel or rename what the user named
		}
		roots[abs] = r
	}
	return roots, nil
}

// search returns where skills are looked for, without Confine.
func (s *Settings) search(dir string, roots map[string]Root) (source.Search, error) {
	search := source.Search{Folders: client.SkillFolders(), NoBundled: !s.Bundled, Order: s.Order}
	for _, r := range s.Roots {
		abs, err := filepath.Abs(r.Path)
		if err != nil {
			return search, err
		}
		switch {
		case roots[abs].Project != "":
			search.Project = append(search.Project, abs)
		case r.Elsewhere() && !r.Trusted:
			search.Elsewhere = append(search.Elsewhere, abs)
		default:
			search.Roots = append(search.Roots, abs)
		}
	}
	if s.Project {
		search.WorkDir, _ = workDir(dir) // Read has warned of an error
	}
	if s.User {
		// Without a home there are no folders of the user.
		if home, err := os.UserHomeDir(); err == nil {
			m := machineAt(home)
			search.Home, search.Config, search.More, search.Moved = home, os.Getenv("XDG_CONFIG_HOME"), userFolders(m), m.MovedFolders()
		}
		search.User = s.UserDir
	}
	if s.Installed {
		// Without a home there are no installed skills.
		search.Installed, _ = s.InstalledDir()
	}
	return search, nil
}

// machineAt returns this machine with a home.
func machineAt(home string) *client.Machine {
	return &client.Machine{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
}

// userFolders returns the folders of the user that clients read, except those that a project
// may have too.
func userFolders(m *client.Machine) []source.Folder {
	var folders []source.Folder
	for _, f := range m.UserFolders() {
		folders = append(folders, source.Folder{Path: f.Path, Label: source.KindUser + ":" + f.Label})
	}
	return folders
}

// InstalledDir returns the folder of installed skills.
func (s *Settings) InstalledDir() (string, error) {
	if s.InstallDir != "" {
		return filepath.Abs(s.InstallDir)
	}
	data, err := DataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(data, "skills"), nil
}

// unfetched says of roots from elsewhere that are missing what is to be done.
func unfetched(err error, roots map[string]Root) error {
	var errs []error
	for _, err := range joined(err) {
		if place, ok := errors.AsType[*source.PlaceError](err); ok && errors.Is(err, fs.ErrNotExist) {
			if r := roots[place.Path]; r.Elsewhere() {
				err = &source.PlaceError{Path: place.Path, Err: fmt.Errorf("%s has not been fetched yet; run \"skills index\"", r.Label)}
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// confinement returns a function that returns where the place of a project at a path may
// lead to.
func confinement(search *source.Search, roots map[string]Root) func(path string) func(real string) error {
	usual := newFence(ProjectRoot(search.WorkDir), func() []string { return userPlaces(search) })
	return func(path string) func(real string) error {
		if project := roots[path].Project; project != "" {
			return newFence(project, nil).folder
		}
		return usual.usual
	}
}

// userPlaces returns the places of the user's skills, also those that are not looked at. It
// leaves out folders of clients that do not exist: there are dozens, and each is compared with
// each link that leads out of a project.
func userPlaces(search *source.Search) []string {
	places := slices.Concat(search.Roots, search.Elsewhere)
	for _, path := range []string{search.Installed, search.User} {
		if path != "" {
			places = append(places, path)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return places
	}
	clients := userFolders(machineAt(home))
	clients = append(clients, search.More...) // the plugins, too
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	clients = append(clients, source.Folder{Path: filepath.Join(config, "agents", "skills")})
	for _, c := range slices.Concat(client.All(), client.Others()) { // which read the same folders in the home as in a project
		for _, dir := range (&client.Machine{Project: home}).SkillDirs(c, client.Project) {
			clients = append(clients, source.Folder{Path: dir})
		}
	}
	for _, f := range clients {
		if _, err := os.Stat(f.Path); err == nil {
			places = append(places, f.Path)
		}
	}
	return places
}

// warnEach calls warn, unless that is nil, for each of the errors that err joins.
func warnEach(err error, warn func(error)) {
	for _, err := range joined(err) {
		if warn != nil {
			warn(err)
		}
	}
}

// joined returns the errors that errors.Join has joined; nil for any other error.
func joined(err error) []error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	return list.Unwrap()
}
