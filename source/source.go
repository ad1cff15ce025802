// Package source is where skills come from: folders on disk, embedded and
// in-memory file systems. It finds skills, tells cheaply whether one changed,
// reads them, and opens their files without ever leaving a skill's folder.
package source

import (
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

// Options describe one source. A nil *Options is all zero values.
type Options struct {
	// Label names the source; it must be unique in a catalog. "" means the
	// base of the folder's path, or "fs" for a file system that has none.
	Label string

	// Priority decides when two sources hold a skill of the same name: the
	// higher one wins. 0 is the priority of the bundled skills.
	Priority int

	// Names renames skills. A key is the path of a skill's folder in the
	// source ("." for a skill at the top) or else the name that a skill
	// states. nil renames none.
	Names map[string]string

	// Kind says what place the source is: KindRoot, KindProject, KindUser or
	// KindBundled; "" means no such place.
	Kind string

	// MaxFile is the size in bytes of the largest file that ReadFile returns.
	// 0 means 1 MiB.
	MaxFile int64
}

const defaultMaxFile = 1 << 20

// An FS is one source. It holds nothing open and caches nothing, so every
// call answers from what is there now; it may be used by several goroutines.
type FS struct {
	tree tree
	root string // real path, "" when not on disk
	base string // name of the top folder
	opts Options
	seed []byte // what decides, besides its files, how a skill loads
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
	s := &FS{tree: t, root: root, base: base}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Label == "" {
		s.opts.Label = base
	}
	if s.opts.MaxFile < 0 {
		return nil, fmt.Errorf("source %s: MaxFile is negative: %d", s.opts.Label, s.opts.MaxFile)
	}
	if s.opts.MaxFile == 0 {
		s.opts.MaxFile = defaultMaxFile
	}
	names, err := cleanNames(s.opts.Names)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", s.opts.Label, err)
	}
	s.opts.Names = names
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

// Label returns the name of the source.
func (s *FS) Label() string { return s.opts.Label }

// Priority returns the priority of the source.
func (s *FS) Priority() int { return s.opts.Priority }

// Kind returns the kind of place that the source is, see Options.
func (s *FS) Kind() string { return s.opts.Kind }

// Root returns the absolute path of the source on disk, its symbolic links
// resolved as they were when it was made, or "" when it is not on disk.
func (s *FS) Root() string { return s.root }

// Skills finds the skills of the source, in the order of their folders. A folder
// that holds a SKILL.md (or else a skill.md) is a skill and is not searched
// further, the top folder included. Folders named .git and node_modules are
// skipped, and so is what lies deeper than six folders.
//
// On disk, links to folders are followed, out of the source too, but no folder
// is visited twice. Every error is a *WalkError; when the Incomplete method of
// one reports true, a skill that was not yielded may still exist. The search
// is done when the first item is yielded.
func (s *FS) Skills(ctx context.Context) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) { s.walk(ctx).yield(yield) }
}

// Traced is Skills, which also gives trace every folder that the walk saw, at its
// end, if it saw all of them.
func (s *FS) Traced(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		w := s.walk(ctx)
		w.yield(yield)
		if !w.partial {
			for _, t := range w.traces {
				trace(*t)
			}
		}
	}
}

func (w *walker) yield(yield func(*skill.Ref, error) bool) {
	for _, it := range w.items {
		if !yield(it.ref, it.err) {
			return
		}
	}
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
