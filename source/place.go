package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// The kinds of places, from the highest priority to the lowest.
const (
	KindRoot      = "root"      // given explicitly
	KindInstalled = "installed" // fetched from elsewhere by the user
	KindProject   = "project"   // of the project in which the user works
	KindUser      = "user"      // of the user, in all projects
	KindBundled   = "bundled"   // compiled into the program

	// KindPreloaded is the kind of the folder of one skill that only the agents that name it
	// see. Discover returns none: its priority is below all others.
	KindPreloaded = "preloaded"
)

// ApartFolder is the folder in the folder of installed skills that has those beside which another one
// of the same name is installed. Each of its folders is a place of its own.
const ApartFolder = ".apart"

// The groups of places that Search.Order puts in order.
const (
	groupRoots     = "roots"
	groupInstalled = "installed"
	groupProject   = "project"         // what the project's configuration names, and shared
	groupClients   = "project-clients" // the project's folders for single clients, such as .claude
	groupUser      = "user"
	groupBundled   = "bundled"
	groupElsewhere = "elsewhere" // fetched from elsewhere, and not trusted
)

// shared is the folder that all clients share.
const shared = ".agents"

// Groups returns the groups of places that Search.Order puts in order, in the default order.
func Groups() []string {
	return []string{groupRoots, groupInstalled, groupProject, groupClients, groupUser, groupBundled, groupElsewhere}
}

// A Place is a folder that may hold skills.
type Place struct {
	Path     string // absolute, links not resolved; "" for the bundled skills
	Real     string // Path with links resolved as far as it exists; Open resolves them if it is ""
	Label    string // unique among the places of one Discover
	Priority int    // unique; the highest for the first place
	Kind     string // one of the kinds
}

// Open returns the source at p. The label, priority and kind come from p, all other
// settings from opts.
func (p Place) Open(opts *Options) (*FS, error) {
	o := *cmp.Or(opts, new(Options))
	o.Label, o.Priority, o.Kind = p.Label, p.Priority, p.Kind
	if p.Kind == KindBundled {
		return New(Bundled(), &o)
	}
	return dirAt(p.Path, p.Real, &o)
}

// A Folder is a folder of skills with a label.
type Folder struct {
	Path  string // absolute
	Label string // of the place; if another place has it, Discover appends the path
}

// A PlaceError says why a place cannot be looked at.
type PlaceError struct {
	Path    string
	LeftOut bool // Discover has left out the place; otherwise its source reports what is wrong
	Err     error
}

func (e *PlaceError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *PlaceError) Unwrap() error { return e.Err }

// A Search says where Discover looks for skills.
type Search struct {
	Roots     []string // folders that the user named, the highest priority first; relative paths start at WorkDir
	Installed string   // folder of installed skills; "" means none
	Project   []string // folders that the project's configuration names, absolute; they come before its usual ones
	WorkDir   string   // the folder in which the user works; "" means no project
	Home      string   // the user's home folder; "" means no folders of the user
	Config    string   // the user's configuration folder, $XDG_CONFIG_HOME; "" means .config in Home
	User      string   // folder of the user instead of those in Home, Config and More; "" means those
	Elsewhere []string // folders, absolute, whose skills were fetched from elsewhere and are not trusted

	// Folders are the folders, such as .claude, in which Discover looks for a
	// folder "skills": in each project folder and in Home. One that is called "skill" is
	// a folder of skills itself. The highest priority is first. nil means .agents, which
	// all agents share.
	Folders []string

	// Moved names the elements of Folders that Discover leaves out in Home.
	Moved []string

	// Named are more folders of the project. They come after its usual ones.
	Named []Folder

	// More are more folders of the user. They come after those in Home and Config, and not
	// at all if User is set.
	More []Folder

	NoBundled bool // leave out the skills that are compiled into the program

	// Order is the order of Groups, the highest priority first. Groups that are missing
	// come last, in the default order; nil means the default order.
	Order []string

	// Confine says why the place of the project at path must not lead to the folder real,
	// whose links are resolved; Discover leaves out the place. nil means that it may.
	Confine func(path, real string) error

	// Missing is called for each place that Discover leaves out because it does not exist, in
	// the default order; nil means that nobody is told.
	Missing func(Place)
}

// Discover returns the places of skills, the highest priority first. In the default order
// these are the roots, the installed skills, the places in the ProjectFolders of WorkDir
// (first those that all clients share, the nearest first, then those of single clients), the
// places of the user, the bundled skills, and what was fetched from elsewhere: strangers
// choose its names, which hide nothing. If several places lead to one folder, Discover
// returns the first of them in the default order, whatever the order is: what the user
// named does not become the project's.
//
// Discover leaves out places of the project and of the user that do not exist. It returns
// roots that do not exist, and places that cannot be looked at: they may only be away for a
// time. The error joins one error for each of them, and for each missing folder of Project
// or User.
func Discover(search Search) ([]Place, error) {
	d := discovery{folders: search.Folders, confine: search.Confine, missing: search.Missing,
		labels: make(map[string]bool), seen: make(map[string]bool), reals: make(map[string]string), names: make(map[string]map[string]bool)}
	if d.folders == nil {
		d.folders = []string{shared}
	}
	d.group = groupRoots
	d.roots(search.Roots, search.WorkDir)
	d.group = groupInstalled
	if search.Installed != "" {
		d.installed(search.Installed)
	}
	d.project(search)
	d.group = groupUser
	d.user(search)
	least := 1 // 0 is for the bundled skills
	if !search.NoBundled {
		least = 0
		d.places = append(d.places, grouped{Place{Label: KindBundled, Kind: KindBundled}, groupBundled})
	}
	d.group = groupElsewhere
	d.roots(search.Elsewhere, "")
	return d.ordered(search.Order, least), errors.Join(d.errs...)
}

// A grouped is a place with its group.
type grouped struct {
	Place
	group string
}

// A discovery collects the places for one call of Discover.
type discovery struct {
	folders []string                      // of Search
	confine func(path, real string) error // of Search
	missing func(Place)                   // of Search
	group   string                        // of the places that are added
	places  []grouped
	labels  map[string]bool
	seen    map[string]bool            // real paths
	reals   map[string]string          // see real
	names   map[string]map[string]bool // see mayHave
	errs    []error
}

// ordered returns the places in an order of groups. The last one has the priority least.
func (d *discovery) ordered(order []string, least int) []Place {
	order = slices.Concat(order, Groups())
	slices.SortStableFunc(d.places, func(a, b grouped) int {
		return slices.Index(order, a.group) - slices.Index(order, b.group)
	})
	var places []Place
	for i, p := range d.places {
		p.Priority = least + len(d.places) - 1 - i
		places = append(places, p.Place)
	}
	return places
}

// installed adds the folder of installed skills, and the places in its ApartFolder.
func (d *discovery) installed(dir string) {
	d.add(KindInstalled, dir, func() string { return KindInstalled })
	apart := filepath.Join(dir, ApartFolder)
	entries, err := os.ReadDir(apart)
	if err != nil && !isMissing(err) {
		d.fail(apart, false, fmt.Errorf("looking for skills in %s: %w", apart, err))
	}
	for _, e := range entries {
		if skill.IsPortableName(e.Name()) {
			d.add(KindInstalled, filepath.Join(apart, e.Name()), func() string { return KindInstalled + ":" + e.Name() })
		}
	}
}

// project adds the places of the project: in the folders that all clients share first.
func (d *discovery) project(search Search) {
	d.group = groupProject
	for _, path := range search.Project {
		if !d.add(KindProject, path, func() string { return KindProject + ":" + filepath.ToSlash(path) }) {
			d.fail(path, true, missingError("the project's folder "+path+" does not exist"))
		}
	}
	if search.WorkDir == "" {
		return
	}
	above := ProjectFolders(search.WorkDir, search.Home)
	within := FoldersWithin(above)
	for _, group := range []string{groupProject, groupClients} {
		d.group = group
		for i, folder := range above {
			for _, name := range d.folders {
				if (name == shared) == (group == groupProject) {
					d.addUsual(KindProject, folder, within[i], name)
				}
			}
		}
	}
	for _, f := range search.Named {
		d.addFolder(KindProject, f)
	}
}

// user adds the places of the user.
func (d *discovery) user(search Search) {
	if search.User != "" {
		if !d.add(KindUser, search.User, func() string { return KindUser }) {
			d.fail(search.User, true, missingError("your folder of skills "+search.User+" does not exist"))
		}
		return
	}
	if search.Home == "" {
		return
	}
	for _, name := range d.folders {
		if !slices.Contains(search.Moved, name) {
			d.addUsual(KindUser, search.Home, "", name)
		}
	}
	config := cmp.Or(search.Config, filepath.Join(search.Home, ".config"))
	d.add(KindUser, filepath.Join(config, "agents", "skills"), func() string { return KindUser + ":.config/agents" })
	for _, f := range search.More {
		if rel, ok := regular.Rel(search.Home, f.Path); ok && !d.mayHave(search.Home, rel) {
			continue
		}
		d.addFolder(KindUser, f)
	}
}

// addFolder adds a folder with a label, which another place may have.
func (d *discovery) addFolder(kind string, f Folder) {
	d.add(kind, f.Path, func() string {
		if d.labels[f.Label] {
			return f.Label + ":" + filepath.ToSlash(f.Path)
		}
		return f.Label
	})
}

func (d *discovery) fail(path string, leftOut bool, err error) {
	d.errs = append(d.errs, &PlaceError{path, leftOut, err})
}

// add adds the place at path unless its folder is there already. It reports whether there
// is a folder, or may be one. It adds a root even if there is none. It calls label only for
// a place that it adds.
func (d *discovery) add(kind, path string, label func() string) bool {
	info, err := os.Stat(path)
	missing := isMissing(err) || err == nil && !info.IsDir()
	if missing && kind != KindRoot {
		if d.missing != nil {
			d.missing(Place{Path: path, Label: label(), Kind: kind})
		}
		return false
	}
	if err != nil && !missing {
		d.fail(path, false, fmt.Errorf("looking for skills in %s: %w", path, err))
	}
	real := d.real(path)
	if d.seen[real] {
		return !missing
	}
	if kind == KindProject && d.confine != nil {
		if err := d.confine(path, real); err != nil {
			d.fail(path, true, fmt.Errorf("looking for skills in %s: %w", path, err))
			return true
		}
	}
	d.seen[real] = true
	p := Place{Path: path, Real: real, Label: label(), Kind: kind}
	d.labels[p.Label] = true
	d.places = append(d.places, grouped{p, d.group})
	return !missing
}

// roots adds folders; relative paths start at workDir.
func (d *discovery) roots(roots []string, workDir string) {
	for _, root := range roots {
		path := root
		if !filepath.IsAbs(path) {
			path = filepath.Join(workDir, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			d.fail(root, true, fmt.Errorf("finding root %s: %w", root, err))
			continue
		}
		if !d.add(KindRoot, path, func() string { return d.rootLabel(path) }) {
			d.fail(path, false, missingError("root "+path+" is not a folder"))
		}
	}
}

// rootLabel returns the shortest tail of path that no earlier root has as its label.
// Configurations name labels, so a root added later must not change an earlier one.
func (d *discovery) rootLabel(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for n := 1; n <= len(parts); n++ {
		label := KindRoot + ":" + strings.Join(parts[len(parts)-n:], "/")
		if !d.labels[label] {
			return label
		}
	}
	return KindRoot + ":" + filepath.ToSlash(path) // an earlier, longer path has every tail of this one
}

// addUsual adds the folder for skills of a client in a folder of a project, of which within is the
// path in the project, or in Home.
func (d *discovery) addUsual(kind, folder, within, name string) {
	skills := name
	if path.Base(name) != "skill" {
		skills += "/skills"
	}
	if d.mayHave(folder, name) {
		d.add(kind, filepath.Join(folder, filepath.FromSlash(skills)), func() string { return kind + ":" + within + name })
	}
}

// mayHave reports whether a folder has, or may have, the first folder of a path in it. There
// are dozens of clients, and asking the system for the folder of each costs more than
// listing the folder once, unless it has many files.
func (d *discovery) mayHave(folder, path string) bool {
	const most = 500
	if d.missing != nil {
		return true // it is told of each place
	}
	names, listed := d.names[folder]
	if !listed {
		if f, err := os.Open(folder); err == nil {
			if list, err := f.Readdirnames(most); len(list) < most && (err == nil || err == io.EOF) {
				names = make(map[string]bool, len(list))
				for _, name := range list {
					names[strings.ToLower(name)] = true // where case makes no difference, a name has many forms
				}
			}
			f.Close()
		}
		d.names[folder] = names
	}
	first, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	return names == nil || names[strings.ToLower(first)]
}

// ProjectFolders returns dir and the folders above it up to the root of its
// repository, dir first; outside of a repository, dir alone. Links in dir are
// resolved first, as git does. The home folder and those above it are never project
// folders, even if they are a repository, because their skills are the user's. A
// home of "" means that the user has no home folder.
func ProjectFolders(dir, home string) []string {
	dir = regular.Real(dir)
	if home != "" {
		home = regular.Real(home)
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

// FoldersWithin returns the paths of ProjectFolders in the project, as labels have them: "" for the
// root, else "sub/dir/". So a label says where in the project a folder is, wherever one works.
func FoldersWithin(folders []string) []string {
	list := make([]string, len(folders))
	for i, folder := range folders {
		if rel, ok := regular.Rel(folders[len(folders)-1], folder); ok && rel != "." {
			list[i] = strings.ToValidUTF8(filepath.ToSlash(rel), "\uFFFD") + "/"
		}
	}
	return list
}

// real is regular.Real. It remembers folders, because places lie deep and have many of them in
// common.
func (d *discovery) real(path string) string {
	real, ok := d.reals[path]
	if ok {
		return real
	}
	info, err := os.Lstat(path)
	if up := filepath.Dir(path); err == nil && up != path && !isLink(info.Mode().Type()) && runtime.GOOS != "windows" {
		real = filepath.Join(d.real(up), filepath.Base(path))
	} else {
		real = regular.Real(path) // on Windows it also finds the names as they are written
	}
	d.reals[path] = real
	return real
}
