// Package source is where skills come from: folders on disk, embedded and in-memory
// file systems, and other implementations of Source. It finds skills, detects
// changes cheaply, reads skills and opens their files. Its one rule: it opens files
// inside of a skill's folder only, and text and digest come from the same bytes.
package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Source is a place that skills come from: a folder, an archive, a database,
// an API. Its paths are slash-separated and relative to its top, which is ".".
// Every call returns the current state, not a cached one. Several goroutines may
// use a Source at once. Package sourcetest checks implementations.
type Source interface {
	// Info describes the source. It returns the same value at every call.
	Info() Info

	// Skills finds the skills of the source, in the order of their folders. An
	// error means that a part of the source could not be read; the search goes
	// on after it. Because skills may be missing then, a catalog removes none,
	// unless the error has a method Incomplete() bool that returns false. If it has
	// a method Missed() string, only skills in that folder may be missing. An error
	// that wraps ErrAway means that the source cannot be read at all.
	//
	// After a search that was not cut off, Skills calls trace for the folder of
	// each skill and for each folder in which a new skill could appear, also for
	// those that could not be read. The top may be both, with a trace for each. A nil trace
	// means that the caller needs neither traces nor the stamps of the skills, which may then
	// be "".
	Skills(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error]

	// Skill returns the skill in a folder and the folder's trace, as Skills
	// would; ok is false if no skill is there.
	Skill(dir string) (ref *skill.Ref, t Trace, ok bool)

	// Unchanged reports whether a folder is still as its trace describes it. It
	// is called often, so it should be cheaper than Skill. In doubt it returns
	// false.
	Unchanged(t Trace) bool

	// List lists the files of the skill in a folder without opening them. If
	// there is no skill, the error wraps fs.ErrNotExist.
	List(ctx context.Context, dir string) (Listing, error)

	// Open opens a regular file of the skill in a folder. Anything else is an
	// error that wraps ErrRefused or fs.ErrNotExist. The functions of this
	// package pass only plain relative paths to it.
	Open(ctx context.Context, dir, name string) (fs.File, error)
}

// Info describes a source.
type Info struct {
	Label    string // names the source in a catalog
	Priority int    // of two skills with the same name, the one with the higher priority wins
	Kind     string // one of the kinds, such as KindRoot; "" means unknown
	Apart    bool   // no skill of it hides one of the same name elsewhere, or is hidden by it: both have full names
	Root     string // absolute path of the source, links resolved when it was opened as far as it existed; "" if it is not on disk
	MaxFile  int64  // bytes of the largest file that ReadFile returns; 0 means 1 MiB
	Settings string // hash of all other settings that decide what a skill is, such as renames; "" means none
}

// A Listing is the contents of a skill's folder, found without opening a file.
type Listing struct {
	Files    []skill.File    // the regular files, including SKILL.md, sorted by path; a file has a digest only if Open checks it
	Links    []string        // links to folders, whose files are not in Files
	Skills   []string        // folders of other skills, whose files are not in Files; only a skill at the top of a source has any
	Partial  bool            // Files is incomplete: a bound was reached or a folder could not be read
	Unserved string          // why the files cannot all be served one by one; "" if they can
	Problems []skill.Problem // what is wrong with the files; paths are relative to the source
}

// Options describe one source. nil means all zero values.
type Options struct {
	Label    string // unique in a catalog; "" means the last part of the folder's path, or "fs" without a path
	Priority int    // see Info; 0 is the priority of the bundled skills
	Kind     string // see Info
	Apart    bool   // see Info
	MaxFile  int64  // see Info

	// Confine says why the source must not enter a folder, given its absolute path with
	// links resolved. Dir asks it about its own folder and about links, whenever it
	// follows them. nil means that the source enters every folder.
	Confine func(real string) error

	// Names renames skills. A key is the path of a skill's folder in the source
	// ("." for a skill at the top) or else the skill's own name. nil means no
	// renames.
	Names map[string]string

	// Only are the paths of the only folders that are searched; nil means all.
	Only []string

	// Single means that the top folder, if it has a SKILL.md, is one skill with all that lies
	// below it. Otherwise the skills below it are skills of their own, see FS.Skills.
	Single bool

	// Own means that the folder is the user's own, so that strangers choose nothing in it. There a
	// SKILL.md may be a link to a file outside of its folder, as programs make them that put skills
	// together from elsewhere (see linkedFolder for what it may lead to), and what the ignore files
	// of a skill name is not part of it.
	Own bool

	// Limits are what a skill may be before its source reports a problem.
	Limits skill.Limits
}

const defaultMaxFile = 1 << 20

// An FS is the source of the skills in a file system. It keeps no file open and
// caches nothing.
type FS struct {
	tree    tree
	info    Info
	base    string            // name of the top folder
	renames map[string]string // Options.Names with clean keys
	limits  skill.Limits      // without zero values
	single  bool              // see Options.Single
	own     bool              // see Options.Own
}

// Dir returns the source of the skills in a folder on disk. The folder may be missing or
// unreadable, such as a share that is not mounted: then Skills reports that, and finds the
// skills as soon as the folder can be read. If path is a symbolic link, every use follows
// it anew, so that a link moved to another folder is noticed.
func Dir(path string, opts *Options) (*FS, error) { return dirAt(path, "", opts) }

// dirAt is Dir for a path of which the real path is known, unless that is "".
func dirAt(path, real string, opts *Options) (*FS, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding folder %s: %w", path, err)
	}
	t := diskTree{path: abs, confine: cmp.Or(opts, new(Options)).Confine}
	if real == "" {
		real = regular.Real(abs)
	}
	return newFS(t, real, filepath.Base(abs), opts)
}

// New returns the source of the skills in fsys, which must confine itself. Symbolic
// links in fsys are reported and not followed, because an fs.FS cannot confine them.
func New(fsys fs.FS, opts *Options) (*FS, error) {
	if fsys == nil {
		return nil, errors.New("source without a file system")
	}
	base := "fs"
	if opts != nil && opts.Label != "" {
		base = path.Base(opts.Label)
	}
	return newFS(fsTree{fsys}, "", base, opts)
}

func newFS(t tree, root, base string, opts *Options) (*FS, error) {
	o := *cmp.Or(opts, new(Options))
	info := Info{Label: cmp.Or(o.Label, base), Priority: o.Priority, Kind: o.Kind, Apart: o.Apart, Root: root, MaxFile: o.MaxFile}
	if o.MaxFile < 0 {
		return nil, fmt.Errorf("source %s: MaxFile is negative: %d", info.Label, o.MaxFile)
	}
	names, err := cleanNames(o.Names)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", info.Label, err)
	}
	if o.Only != nil {
		t = onlyTree{t, slices.Clone(o.Only)}
	}
	s := &FS{tree: t, info: info, base: base, renames: names, limits: o.Limits.OrDefault(), single: o.Single || o.Kind == KindPreloaded, own: o.Own}
	// A skill's location and name depend on the source's settings, so a changed setting
	// must change the stamps of its skills and of its list of stamps.
	settings := fmt.Appendf(nil, "%q %q %q", info.Label, t.location(info.Label, "."), names)
	if o.Only != nil || s.limits != (skill.Limits{}).OrDefault() {
		settings = fmt.Appendf(settings, " %q %+v", o.Only, s.limits)
	}
	if s.single {
		settings = append(settings, " single"...)
	}
	if s.own {
		settings = append(settings, " own"...)
	}
	sum := sha256.Sum256(settings)
	s.info.Settings = hex.EncodeToString(sum[:8])
	return s, nil
}

// cleanNames copies names and cleans its folder paths, so that "./pdf/" means "pdf".
func cleanNames(names map[string]string) (map[string]string, error) {
	clean := make(map[string]string, len(names))
	for _, from := range slices.Sorted(maps.Keys(names)) {
		to := names[from]
		if from == "" || to == "" {
			return nil, fmt.Errorf("renaming %q to %q: empty name", from, to)
		}
		key := path.Clean(from)
		if old, ok := clean[key]; ok && old != to {
			return nil, fmt.Errorf("renaming %q to both %q and %q", key, old, to)
		}
		clean[key] = to
	}
	return clean, nil
}

// Info describes the source.
func (s *FS) Info() Info { return s.info }

// Identity returns which folder is at the root now. If that is not the one in which a
// catalog found skills, and it has none, a disk may not be mounted on it. Identity returns
// "" if it does not know, and for a usual place, which is empty when it does not exist.
func (s *FS) Identity() string {
	if !s.onDisk() || s.isUsual() {
		return ""
	}
	info, err := s.tree.stat(".")
	if err != nil {
		return ""
	}
	return identity(info)
}

// isUsual reports whether the source is one of the usual places, of which most people have
// only some, a folder that a project names, or that of the installed skills.
func (s *FS) isUsual() bool {
	return s.info.Kind == KindProject || s.info.Kind == KindUser || s.info.Kind == KindInstalled
}

// onDisk reports whether the source is a folder on disk, in which links are followed and
// the times of folders can be trusted.
func (s *FS) onDisk() bool { return s.info.Root != "" }

// Skills finds the skills of the source, see Source. A folder that holds a SKILL.md (or
// else a skill.md) is a skill and is not searched further. The top folder is searched all the
// same, without scripts, references and assets: a SKILL.md that lies there by mistake must not
// hide the others. The files of a skill at the top end where another skill begins.
// Skills skips folders that are never part of a skill, see skill.IsExcluded, and folders
// nested more than six deep. On disk, it follows links to folders, even out of the source,
// but visits no folder twice. Every error has the methods Incomplete and Missed, see Source, and Problem, which
// returns the error as a skill.Problem. The whole search is done before the first result.
func (s *FS) Skills(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		w := s.walk(ctx, trace != nil, false)
		if !w.each(yield) || w.stopped || trace == nil {
			return
		}
		for _, t := range w.traces {
			trace(*t)
		}
	}
}

// Stamped is Skills without traces, for those who must never miss a change. Its stamps hold the
// inode of each file too, and when the system last noted a change of it: nobody can give a file
// the time that it had before. Where the system does not tell that, there are no stamps.
func (s *FS) Stamped(ctx context.Context) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) { s.walk(ctx, true, true).each(yield) }
}

//go:embed all:bundled
var bundled embed.FS

// Bundled returns the skills that are compiled into the program.
func Bundled() fs.FS {
	sub, err := fs.Sub(bundled, "bundled")
	if err != nil {
		panic(err) // unreachable: the folder is embedded above
	}
	return sub
}

// Foreign reports whether strangers may have written the skills of a source: of a project, of
// a label or kind in lower, which is search.Policy.Lower, or of nil, which is an unknown one.
func Foreign(s Source, lower []string) bool {
	if s == nil {
		return true
	}
	info := s.Info()
	return info.Kind == KindProject || slices.Contains(lower, info.Label) || info.Kind != "" && slices.Contains(lower, info.Kind)
}
