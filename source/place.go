package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The kinds of places, from the highest priority to the lowest.
const (
	KindRoot    = "root"    // given explicitly
	KindProject = "project" // of the project that one works in
	KindUser    = "user"    // of the user, for all projects
	KindBundled = "bundled" // compiled into the program
)

// A Place is a folder where skills may be.
type Place struct {
	Path     string // absolute, links not resolved; "" for the bundled skills
	Label    string // unique among the places of one Discover
	Priority int    // differs for each; 0 for the bundled skills, higher for all others
	Kind     string // KindRoot, KindProject, KindUser or KindBundled
}

// Open returns the source at p, with the label, the priority and the kind of p in
// place of those in opts.
func (p Place) Open(opts *Options) (*FS, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Label, o.Priority, o.Kind = p.Label, p.Priority, p.Kind
	if p.Kind == KindBundled {
		return New(Bundled(), &o)
	}
	return Dir(p.Path, &o)
}

// A Search says where Discover looks.
type Search struct {
	// Roots are folders given explicitly; an earlier one wins over a later
	// one. Relative ones start at WorkDir.
	Roots []string

	// WorkDir is the folder that the user works in. "" looks at no project.
	WorkDir string

	// Home is the user's home folder. "" looks at no folder of the user.
	Home string

	// Config is the user's folder of configurations, $XDG_CONFIG_HOME.
	// "" means .config in Home.
	Config string

	// Folders are the folders in a project or a home whose folder "skills" is
	// looked at, such as .claude, the highest priority first. Nil means .agents,
	// which agents share.
	Folders []string

	// NoBundled leaves out the skills that are compiled in.
	NoBundled bool
}

// Discover returns the usual places of skills that exist, the highest priority
// first: the roots; the project's, from WorkDir up to the root of its
// repository, nearer folders first (outside of a repository, WorkDir only);
// the user's; the bundled skills. A folder that several places lead to is
// returned once, at the highest of them, but the folders of Home are always
// the user's.
//
// The error joins one for each root that does not exist and each place that
// could not be looked at; the other places are returned nevertheless.
func Discover(search Search) ([]Place, error) {
	d := discovery{folders: search.Folders, labels: make(map[string]bool), seen: make(map[string]bool)}
	if d.folders == nil {
		d.folders = []string{".agents"}
	}
	d.roots(search)
	d.project(search)
	d.user(search)
	if !search.NoBundled {
		d.places = append(d.places, Place{Label: KindBundled, Kind: KindBundled})
	}
	for i := range d.places {
		d.places[i].Priority = len(d.places) - 1 - i
		if search.NoBundled {
			d.places[i].Priority++
		}
	}
	return d.places, errors.Join(d.errs...)
}

// A discovery collects the places of one Discover.
type discovery struct {
	folders []string // of Search
	places  []Place
	labels  map[string]bool
	seen    map[string]bool // by real path
	errs    []error
}

// add adds the folder at path if there is one that is not known yet. The label
// is made only then. It reports whether there is such a folder.
func (d *discovery) add(kind, path string, label func() string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || isThroughFile(err) {
		return false
	}
	real := path
	if err == nil {
		real, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("looking for skills in %s: %w", path, err))
		return true
	}
	if info.IsDir() && !d.seen[real] {
		d.seen[real] = true
		p := Place{Path: path, Label: label(), Kind: kind}
		d.labels[p.Label] = true
		d.places = append(d.places, p)
	}
	return info.IsDir()
}

func (d *discovery) roots(search Search) {
	for _, root := range search.Roots {
		path := root
		if !filepath.IsAbs(path) {
			path = filepath.Join(search.WorkDir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			d.errs = append(d.errs, fmt.Errorf("finding root %s: %w", root, err))
			continue
		}
		if !d.add(KindRoot, path, func() string { return d.rootLabel(path) }) {
			d.errs = append(d.errs, fmt.Errorf("root %s is not a folder: %w", path, fs.ErrNotExist))
		}
	}
}

// rootLabel returns the shortest end of path that no root before it has. What
// comes later does not change a label, as configurations name it.
func (d *discovery) rootLabel(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for n := 1; n <= len(parts); n++ {
		label := KindRoot + ":" + strings.Join(parts[len(parts)-n:], "/")
		if !d.labels[label] {
			return label
		}
	}
	return KindRoot + ":" + filepath.ToSlash(path) // an end of a longer path before it
}

// project adds the places of WorkDir and above. Links in WorkDir are resolved
// first, as git does, or else ".." would not be what is above.
func (d *discovery) project(search Search) {
	if search.WorkDir == "" {
		return
	}
	up := ""
	for _, folder := range ProjectFolders(search.WorkDir, search.Home) {
		d.usual(KindProject, folder, up)
		up += "../"
	}
}

// usual adds the usual folders of skills in one folder.
func (d *discovery) usual(kind, folder, up string) {
	for _, name := range d.folders {
		d.add(kind, filepath.Join(folder, name, "skills"), func() string { return kind + ":" + up + name })
	}
}

func (d *discovery) user(search Search) {
	if search.Home == "" {
		return
	}
	config := search.Config
	if config == "" {
		config = filepath.Join(search.Home, ".config")
	}
	d.usual(KindUser, search.Home, "")
	d.add(KindUser, filepath.Join(config, "agents", "skills"), func() string { return KindUser + ":.config/agents" })
}

// ProjectFolders returns dir and the folders above it up to the root of its
// repository, dir first, or dir alone outside of a repository; their links are
// resolved, so that what is above is what git takes for it. A repository at
// home or above is not a project, and home is none either: its folders are the
// user's. A home of "" is none.
func ProjectFolders(dir, home string) []string {
	dir = realPath(dir)
	if home != "" {
		home = realPath(home)
	}
	var folders []string
	for folder := dir; folder != home && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		folders = append(folders, folder)
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return folders
		}
	}
	if dir == home {
		return nil
	}
	return []string{dir}
}

// realPath resolves links as far as it can.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}
