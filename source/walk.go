package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds of a walk. Collections nest two or three folders deep; the bounds help if
// somebody makes a whole disk a source by mistake.
const (
	maxDepth   = 6
	maxFolders = 200_000
)

// The base names of a skill's instructions; the first is preferred.
const (
	upperFile = "SKILL.md"
	lowerFile = "skill.md"
)

// An item is a result of a walk: a skill or an error.
type item struct {
	path string
	ref  *skill.Ref
	err  error // a *walkError
}

// A walker holds the state of one walk.
type walker struct {
	src     *FS
	start   time.Time
	items   []item
	seen    map[string]string // real path of a folder → its path in the source
	links   []visit           // folders behind links, visited after all others
	folders int
	deep    int    // folders below maxDepth that were not visited
	top     string // base name of the instructions at the top that do not end the search; "" if there are none
	stopped bool
	stamps  chan func() // work for the goroutines of startStamps; nil if no stamps are wanted
	strict  bool        // strict stamps and no traces are wanted, see FS.Stamped
	traces  []*Trace
	bare    []string // folders in a folder of skills that have no SKILL.md

	mu     sync.Mutex
	within []string // SKILL.md files in the folder of another skill; guarded by mu
}

// A visit is a folder to search.
type visit struct {
	dir   string
	real  string
	depth int
}

// walk finds the skills and errors of the source, sorted by path. It follows links
// last, so that a skill that a link leads to keeps its own path. Without stamped, skills get
// no stamp and folders no trace.
func (s *FS) walk(ctx context.Context, stamped, strict bool) *walker {
	w := &walker{src: s, start: time.Now(), seen: make(map[string]string), strict: strict}
	wait := func() {}
	if stamped {
		w.stamps = make(chan func(), 64)
		stamps := w.startStamps()
		wait = func() {
			close(w.stamps)
			stamps.Wait()
		}
	}
	real, err := s.tree.real(".")
	if err != nil {
		w.missing(err)
		wait()
		return w
	}
	w.visit(ctx, visit{".", real, 0})
	for len(w.links) > 0 {
		v := w.links[0]
		w.links = w.links[1:]
		w.follow(ctx, v, real)
	}
	wait()
	w.passedOver()
	if w.top != "" {
		w.judgeTop()
	}
	if w.deep > 0 {
		w.note(".", "too-deep", fmt.Errorf("folders more than %d deep are not searched: %d", maxDepth, w.deep), "")
	}
	slices.SortStableFunc(w.items, func(a, b item) int { return strings.Compare(a.path, b.path) })
	return w
}

// each yields what was found; it returns false if yield did.
func (w *walker) each(yield func(*skill.Ref, error) bool) bool {
	return !slices.ContainsFunc(w.items, func(it item) bool { return !yield(it.ref, it.err) })
}

// startStamps starts the goroutines that compute stamps while the search goes on. Nearly all
// of a walk is system calls, and more than half of them list the files of skills, so
// a second processor saves that much time.
func (w *walker) startStamps() *sync.WaitGroup {
	var wg sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		wg.Go(func() {
			for stamp := range w.stamps {
				stamp()
			}
		})
	}
	return &wg
}

func (w *walker) note(path, rule string, err error, hint string) {
	w.items = append(w.items, item{path: path, err: &walkError{path: path, err: err, rule: rule, hint: hint}})
}

// unreadable reports a folder that cannot be listed, and watches it.
func (w *walker) unreadable(dir string, err error) {
	w.watch(dir)
	w.items = append(w.items, item{path: dir, err: &walkError{path: dir, err: err, rule: "unreadable-folder", partial: true}})
}

// missing handles a top folder that cannot be listed. A usual place that does not exist
// is empty. Any other source is away: somebody named it, or it exists and fails.
func (w *walker) missing(err error) {
	w.watch(".")
	if w.src.isUsual() && isMissing(err) {
		return
	}
	w.items = append(w.items, item{path: ".", err: &walkError{path: ".", err: fmt.Errorf("source is away: %w", err), rule: "away",
		hint: "restore the folder; or remove its skills: skills index --forget " + w.src.info.Label, partial: true, away: true}})
}

// watch records a trace of something that cannot be listed as a folder now.
func (w *walker) watch(dir string) {
	w.traces = append(w.traces, &Trace{Dir: dir, Full: true, Stamp: unlisted})
}

// traced records the trace of a folder that is not a skill.
func (w *walker) traced(dir string) {
	if w.stamps == nil || w.strict {
		return
	}
	t := &Trace{Dir: dir}
	w.src.trace(t, new(listing), "", w.start)
	w.traces = append(w.traces, t)
}

// visit searches a folder and the folders below it.
func (w *walker) visit(ctx context.Context, v visit) {
	if !w.enter(ctx, v) {
		return
	}
	entries, err := w.src.tree.readDir(v.dir)
	if err != nil && v.dir == "." && len(entries) == 0 {
		w.missing(err)
		return
	}
	if err != nil {
		w.unreadable(v.dir, err) // the entries read so far are still searched
	}
	if file := instructions(entries); file != "" && !w.src.isShared(v.dir) {
		w.addSkill(v.dir, file, entries)
		return
	} else if file != "" {
		w.addSkill(v.dir, file, slices.Clone(entries))
		w.top, entries = file, slices.DeleteFunc(entries, isPartOfTop)
	}
	if err == nil {
		w.traced(v.dir)
	}
	if w.src.isOfSkills(path.Dir(v.dir)) && v.dir != "." && hasFiles(entries) {
		w.bare = append(w.bare, v.dir)
	}
	for _, e := range entries {
		w.searchEntry(ctx, v, e)
	}
}

// enter reports whether a folder should be searched.
func (w *walker) enter(ctx context.Context, v visit) bool {
	if w.stopped {
		return false
	}
	if err := ctx.Err(); err != nil {
		w.stop(v.dir, "interrupted", fmt.Errorf("search interrupted: %w", context.Cause(ctx)))
		return false
	}
	if w.folders == maxFolders {
		w.stop(v.dir, "too-many-folders", fmt.Errorf("search ended here, after %d folders", maxFolders))
		return false
	}
	w.folders++
	if first, ok := w.seen[v.real]; ok {
		w.note(v.dir, "duplicate-folder", fmt.Errorf("same folder as %s, which is searched instead", first), "")
		return false
	}
	w.seen[v.real] = v.dir
	return true
}

func (w *walker) stop(path, rule string, err error) {
	w.stopped = true
	w.items = append(w.items, item{path: path, err: &walkError{path: path, err: err, rule: rule, partial: true, stopped: true}})
}

// addSkill adds the skill in a folder.
func (w *walker) addSkill(dir, file string, entries []fs.DirEntry) {
	ref := w.src.ref(dir, file)
	trace := &Trace{Dir: dir, Skill: true}
	w.items, w.traces = append(w.items, item{path: dir, ref: ref}), append(w.traces, trace)
	if w.stamps == nil {
		return
	}
	w.stamps <- func() {
		l := w.src.list(dir, entries)
		w.keepWithin(dir, l.within)
		ref.Stamp = w.src.stamp(dir, l, w.start, w.strict)
		if !w.strict {
			w.src.trace(trace, l, ref.Stamp, w.start)
		}
	}
}

// ref returns the skill in a folder, without its stamp.
func (s *FS) ref(dir, file string) *skill.Ref {
	return &skill.Ref{
		Path: join(dir, file),
		Load: func() (*skill.Skill, error) { return s.load(dir) },
	}
}

// searchEntry handles one entry of a folder.
func (w *walker) searchEntry(ctx context.Context, parent visit, e fs.DirEntry) {
	name := e.Name()
	v := visit{join(parent.dir, name), parent.real + string(filepath.Separator) + name, parent.depth + 1}
	switch {
	case isLink(e.Type()):
		w.link(v)
	case !e.IsDir():
		if strings.EqualFold(name, upperFile) {
			w.note(v.dir, "skill-md-case", errors.New("not a skill: instructions are called SKILL.md, in this case"), "rename it to SKILL.md")
		} else if w.src.isOfSkills(parent.dir) && strings.EqualFold(path.Ext(name), ".md") && w.src.readsAsSkill(v.dir) {
			w.note(v.dir, "skill-file", errors.New("not a skill: a skill is a folder with a SKILL.md"), "move it to "+strings.TrimSuffix(name, path.Ext(name))+"/SKILL.md")
		}
	case skill.IsExcluded(name):
	case name == ApartFolder && parent.dir == "." && w.src.info.Kind == KindInstalled:
	case v.depth > maxDepth:
		w.deep++
	default:
		w.visit(ctx, v)
	}
}

// link handles a link. A link to anything but a folder is watched, because a folder may
// take the place of what it leads to.
func (w *walker) link(v visit) {
	if skill.IsExcluded(path.Base(v.dir)) {
		return
	}
	info, err := w.src.tree.stat(v.dir)
	switch {
	case err == nil && !info.IsDir():
		w.watch(v.dir)
	case !w.src.onDisk():
		w.note(v.dir, "link-not-followed", errors.New("links are followed only in folders on disk"), "")
	case err == nil && v.depth > maxDepth:
		w.deep++
	case err == nil:
		w.links = append(w.links, v)
	case isMissing(err):
		w.note(v.dir, "dangling-link", errors.New("link to something that does not exist"), "remove the link or restore what it leads to")
		w.watch(v.dir)
	case isLoop(err):
		w.note(v.dir, "link-loop", errors.New("link that leads to itself"), "remove the link")
		w.watch(v.dir)
	default:
		w.unreadable(v.dir, err)
	}
}

// follow visits the folder behind a link. It refuses a link to a folder that contains
// the link or the source: visiting it would find nothing new, or leave the source for
// the whole disk.
func (w *walker) follow(ctx context.Context, v visit, top string) {
	real, err := w.src.tree.real(v.dir)
	if errors.Is(err, ErrRefused) {
		w.note(v.dir, "link-not-followed", err, "")
		return
	}
	if err != nil {
		w.unreadable(v.dir, err)
		return
	}
	if within(path.Dir(filepath.ToSlash(v.real)), filepath.ToSlash(real)) || within(filepath.ToSlash(top), filepath.ToSlash(real)) {
		w.note(v.dir, "link-loop", fmt.Errorf("link to a folder that contains it or the source: %s", real), "remove the link")
		w.traced(v.dir)
		return
	}
	v.real = real
	w.visit(ctx, v)
}

// within reports whether the slash-separated path p is dir or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// isLink reports whether an entry may be a link to a folder. It includes Windows
// junctions, which people use like links and Go reports as irregular files.
func isLink(t fs.FileMode) bool { return t&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// instructions returns the name of the SKILL.md among the entries of a folder, or "".
// The entry may turn out not to be a file; loading the skill reports that.
func instructions(entries []fs.DirEntry) string {
	name := ""
	for _, e := range entries {
		switch {
		case e.IsDir():
		case e.Name() == upperFile:
			return upperFile
		case e.Name() == lowerFile:
			name = lowerFile
		}
	}
	return name
}

// join is path.Join without cleaning, for a clean folder and a clean path in it. A
// name of "" means the folder itself.
func join(dir, name string) string {
	switch {
	case name == "":
		return dir
	case dir == ".":
		return name
	}
	return dir + "/" + name
}
