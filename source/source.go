// Package source is where skills come from: folders on disk, embedded and
// in-memory file systems, and whatever else implements Source. It finds skills,
// tells cheaply whether one changed, reads them, and opens their files without
// ever leaving a skill's folder.
package source

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Source is a place that skills come from: a folder, an archive, a database,
// an API. Paths in it are slash-separated and relative to its top, which is ".".
// Every call answers from what is there now. A Source may be used by several
// goroutines. Package sourcetest checks an implementation.
type Source interface {
	// Info describes the source. It returns the same at every call.
	Info() Info

	// Skills finds the skills of the source, in the order of their folders.
	// An error means that some part could not be read, and the search goes on
	// behind it. Skills may be missing then, so that a catalog removes none,
	// unless the error has a method Incomplete() bool that returns false.
	//
	// When the search has seen everything, Skills at last calls trace, if it
	// is not nil, for each folder whose change could change what it yields:
	// those of the skills, and those in which new skills could appear.
	Skills(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error]

	// Skill returns the skill in a folder and the folder's trace, as Skills
	// does; ok is false when no skill is there.
	Skill(dir string) (ref *skill.Ref, t Trace, ok bool)

	// Unchanged reports whether a folder is still as its trace says. It is
	// called often, so it should cost less than Skill. When in doubt it
	// returns false.
	Unchanged(t Trace) bool

	// List lists the files of the skill in a folder and opens none of them. It
	// fails with an error that wraps fs.ErrNotExist when no skill is there.
	List(ctx context.Context, dir string) (Listing, error)

	// Open opens a file of the skill in a folder, and nothing that is not one
	// of its regular files: that is an error that wraps ErrRefused or
	// fs.ErrNotExist. ReadFile and the other functions of this package call it
	// with plain relative paths only.
	Open(ctx context.Context, dir, name string) (fs.File, error)
}

// Info describes a source.
type Info struct {
	Label    string // names the source in a catalog
	Priority int    // of two skills of one name, the one of the higher priority wins
	Kind     string // KindRoot, KindProject, KindUser or KindBundled; "" means that nobody said
	Root     string // absolute path of the source, links resolved when it was opened; "" when it is not on disk
	MaxFile  int64  // bytes of the largest file that ReadFile returns; 0 means 1 MiB
}

// A Listing is what a skill's folder holds, found without opening a file.
type Listing struct {
	Files    []skill.File    // the regular files, SKILL.md included, by path, without digests
	Links    []string        // links to folders, whose files are not in Files
	Partial  bool            // Files lacks some for another reason
	Unserved string          // why Files lacks a file or has one that ReadFile refuses; "" when neither
	Problems []skill.Problem // what is wrong with the files; paths are those in the source
}

// Options describe one source. A nil *Options is all zero values.
type Options struct {
	// Label names the source; it must be unique in a catalog. "" means the
	// base of the folder's path, or "fs" for a file system that has none.
	Label string

	// Priority decides when two sources hold a skill of the same name: the
	// higher one wins. 0 is the priority of the bundled skills.
	Priority int

	// Kind says whose skills they are, see Info.
	Kind string

	// Names renames skills. A key is the path of a skill's folder in the
	// source ("." for a skill at the top) or else the name that a skill
	// states. nil renames none.
	Names map[string]string

	// MaxFile is the size in bytes of the largest file that ReadFile returns.
	// 0 means 1 MiB.
	MaxFile int64
}

const defaultMaxFile = 1 << 20

// An FS is the source of the skills in a file system. It holds nothing open and
// caches nothing.
type FS struct {
	tree    tree
	info    Info
	base    string            // name of the top folder
	renames map[string]string // Options.Names with clean keys
	seed    []byte            // what decides, besides its files, how a skill loads
}

// Dir returns the source of the skills in a folder on disk. A folder that does
// not exist is an error that wraps fs.ErrNotExist. A path that is a symbolic
// link is followed anew at every use, so a link that is moved to another
// folder is noticed.
func Dir(path string, opts *Options) (*FS, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding folder %s: %w", path, err)
	}
	t := diskTree{path: abs}
	if err := t.checkRoot(); err != nil {
		return nil, err
	}
	real, err := t.real(".")
	if err != nil {
		return nil, fmt.Errorf("resolving folder %s: %w", abs, err)
	}
	return newFS(t, real, filepath.Base(abs), opts)
}

// New returns the source of the skills in fsys, which is trusted to stay
// within itself. Its symbolic links, if any, are reported and not followed:
// an fs.FS has no way to confine them.
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
	var o Options
	if opts != nil {
		o = *opts
	}
	info := Info{Label: cmp.Or(o.Label, base), Priority: o.Priority, Kind: o.Kind, Root: root, MaxFile: o.MaxFile}
	if o.MaxFile < 0 {
		return nil, fmt.Errorf("source %s: MaxFile is negative: %d", info.Label, o.MaxFile)
	}
	names, err := cleanNames(o.Names)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", info.Label, err)
	}
	s := &FS{tree: t, info: info, base: base, renames: names}
	s.seed = s.newSeed()
	return s, nil
}

// cleanNames copies names with its folder paths in the form that the walk
// uses, so that "./pdf/" means "pdf".
func cleanNames(names map[string]string) (map[string]string, error) {
	clean := make(map[string]string, len(names))
	for from, to := range names {
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

// Skills finds the skills of the source, in the order of their folders. A folder
// that holds a SKILL.md (or else a skill.md) is a skill and is not searched
// further, the top folder included. Folders named .git and node_modules are
// skipped, and so is what lies deeper than six folders.
//
// On disk, links to folders are followed, out of the source too, but no folder
// is visited twice. Every error is a *WalkError; when the Incomplete method of
// one reports true, a skill that was not yielded may still exist. The search
// is done when the first item is yielded.
func (s *FS) Skills(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		w := s.walk(ctx)
		if !w.yield(yield) || w.partial || trace == nil {
			return
		}
		for _, t := range w.traces {
			trace(*t)
		}
	}
}

func (w *walker) yield(yield func(*skill.Ref, error) bool) bool {
	for _, it := range w.items {
		if !yield(it.ref, it.err) {
			return false
		}
	}
	return true
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
