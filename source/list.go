package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// mostFiles bounds the number of files in one skill, and the number of folders: at least as
// many as may be published are listed.
func (s *FS) mostFiles() int { return max(skill.MaxPublishedFiles, s.limits.Files) }

// An entry is something in a skill's folder that is not a folder.
type entry struct {
	path  string // relative to the skill's folder
	mode  fs.FileMode
	link  bool // a link; mode, size and mtime describe its target
	size  int64
	mtime int64 // nanoseconds; 0 means the file system has none
	ctime int64 // when the system last noted a change of the file, in nanoseconds; 0 means unknown
	inode uint64
	err   error // why mode, size and mtime are unknown; nil if they are known
}

// A listing is the contents of a skill's folder, found without opening a file.
type listing struct {
	entries []entry
	failed  []entry  // folders that could not be listed
	subs    []string // paths of the subfolders, each with a final slash
	more    bool     // a bound was reached, so some entries are missing
	shared  bool     // the folder may have other skills, see FS.isShared
	skills  []string // paths of the folders of these
	within  []string // paths of SKILL.md files that are a part of the skill
	ignore  ignore
}

// A viewer shows what is in a skill's folder; every folder is one.
type viewer interface {
	readDir(name string) ([]fs.DirEntry, error)
	stat(name string) (fs.FileInfo, error)
}

// A pathView shows a skill's folder by path: fast enough for walks, which need only
// know what may have changed.
type pathView struct {
	tree tree
	dir  string
}

func (v pathView) readDir(name string) ([]fs.DirEntry, error) {
	return v.tree.readDir(join(v.dir, name))
}
func (v pathView) stat(name string) (fs.FileInfo, error) { return v.tree.stat(join(v.dir, name)) }

// list lists a skill's folder by path, given the entries at its top.
func (s *FS) list(dir string, top []fs.DirEntry) *listing {
	return s.listIn(pathView{s.tree, dir}, dir, top)
}

// listIn lists a skill's folder, given the entries at its top. It moves the
// instructions to the front, so that the bounds never cut them off.
func (s *FS) listIn(v viewer, dir string, top []fs.DirEntry) *listing {
	l := &listing{entries: make([]entry, 0, len(top)), shared: s.isShared(dir)}
	file := instructions(top)
	if i := slices.IndexFunc(top, func(e fs.DirEntry) bool { return e.Name() == file }); i > 0 {
		first := top[i]
		copy(top[1:], top[:i])
		top[0] = first
	}
	if hasIgnore(top) {
		l.ignore = s.ignoreOf(dir)
	}
	s.listInto(l, v, "", top)
	return l
}

func (s *FS) listInto(l *listing, v viewer, prefix string, entries []fs.DirEntry) {
	for _, e := range entries {
		if skill.IsExcluded(e.Name()) || l.ignore.has(prefix+e.Name(), e.IsDir()) {
			continue
		}
		if e.IsDir() {
			s.listFolder(l, v, prefix+e.Name())
			continue
		}
		if l.shared && isLink(e.Type()) && s.leadsToOther(prefix+e.Name()) {
			l.skills = append(l.skills, prefix+e.Name())
			continue
		}
		if len(l.entries) == s.mostFiles() {
			l.more = true
			return
		}
		if found, ok := s.entry(v, prefix, e); ok {
			l.entries = append(l.entries, found)
		}
	}
}

func (s *FS) listFolder(l *listing, v viewer, sub string) {
	if len(l.subs) == s.mostFiles() {
		l.more = true
		return
	}
	entries, err := v.readDir(sub)
	if l.shared && !skill.IsMaterial(sub) && instructions(entries) != "" {
		l.skills = append(l.skills, sub)
		return
	}
	if file := instructions(entries); file != "" && !isSample(sub) {
		l.within = append(l.within, sub+"/"+file)
	}
	l.subs = append(l.subs, sub+"/")
	if err != nil {
		l.failed = append(l.failed, entry{path: sub, err: err})
	}
	s.listInto(l, v, sub+"/", entries)
}

// isSample reports whether a folder in a skill is one for material, or for what a skill shows or
// tests: a SKILL.md there is not meant as a skill of its own.
func isSample(sub string) bool {
	return skill.IsMaterial(sub) || slices.ContainsFunc(strings.Split(strings.ToLower(sub), "/"), func(part string) bool {
		return slices.Contains([]string{"example", "examples", "template", "templates", "test", "tests", "fixtures", "evals"}, part)
	})
}

// entry describes one entry of a folder; ok is false if it was deleted meanwhile.
func (s *FS) entry(v viewer, prefix string, e fs.DirEntry) (entry, bool) {
	found := entry{path: prefix + e.Name(), mode: e.Type(), link: isLink(e.Type())}
	info, err := e.Info()
	if err != nil {
		found.err = err
		return found, !errors.Is(err, fs.ErrNotExist)
	}
	if found.link && s.onDisk() {
		if info, err = v.stat(found.path); err != nil {
			found.err = err
			return found, true
		}
	}
	found.mode, found.size = info.Mode(), info.Size()
	if t := info.ModTime(); !t.IsZero() {
		found.mtime = t.UnixNano()
	}
	found.ctime, found.inode = changeOf(info)
	return found, true
}

// List lists the files of the skill in a folder.
func (s *FS) List(ctx context.Context, dir string) (Listing, error) {
	if err := ctx.Err(); err != nil {
		return Listing{}, err
	}
	f, err := s.skillFolder(dir)
	if err != nil {
		return Listing{}, fmt.Errorf("opening skill folder %s: %w", dir, err)
	}
	defer f.Close()
	entries, err := f.readDir(".")
	if err != nil {
		return Listing{}, fmt.Errorf("listing skill folder %s: %w", dir, err)
	}
	return s.listing(f, dir, entries), nil
}

// listing returns the files and problems of a skill's folder, given the entries at its
// top.
func (s *FS) listing(f folder, dir string, top []fs.DirEntry) Listing {
	found, l := s.listIn(f, dir, top), lister{folder: f, dir: dir}
	l.Partial, l.Skills = found.more || len(found.failed) > 0, found.skills
	if found.more {
		l.problem(skill.Note, "too-many-files", "", fmt.Sprintf("more than %d files or folders: the rest is ignored", s.mostFiles()), "")
	}
	for _, e := range found.failed {
		l.problem(skill.Warning, "unreadable-folder", e.path, e.err.Error(), "")
	}
	for _, e := range found.entries {
		l.add(e)
	}
	slices.SortFunc(l.Files, func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) })
	l.checkCase()
	l.checkSize(s.limits)
	l.Unserved = l.unserved(s.mostFiles(), cmp.Or(s.info.MaxFile, defaultMaxFile))
	return l.Listing
}

// A lister makes a Listing of one folder.
type lister struct {
	Listing
	folder folder
	dir    string
}

func (l *lister) problem(sev skill.Severity, rule, path, message, hint string) {
	l.Problems = append(l.Problems, skill.Problem{
		Rule: rule, Severity: sev, Path: join(l.dir, path), Message: message, Hint: hint,
	})
}

// add adds one entry. Links are resolved by the folder, because it refuses those
// that lead out of the skill.
func (l *lister) add(e entry) {
	if e.link || e.err != nil || !e.mode.IsRegular() {
		info, err := l.folder.stat(e.path)
		switch {
		case errors.Is(err, ErrRefused):
			l.problem(skill.Warning, "link-outside", e.path, err.Error(), "replace the link by a file, or remove it")
			return
		case errors.Is(err, fs.ErrNotExist) && e.link:
			l.problem(skill.Warning, "dangling-link", e.path, "link to something that does not exist", "")
			return
		case errors.Is(err, fs.ErrNotExist):
			return // deleted after it was listed
		case err != nil:
			l.problem(skill.Warning, "unreadable-file", e.path, err.Error(), "")
			return
		case info.IsDir():
			l.Links = append(l.Links, e.path)
			return
		case !info.Mode().IsRegular():
			l.problem(skill.Warning, "not-a-regular-file", e.path, "neither a file nor a folder, but "+regular.Kind(info.Mode())+": it is ignored", "")
			return
		}
		e.size = info.Size()
	}
	if reason := badName(e.path); reason != "" {
		l.problem(skill.Warning, "unportable-name", e.path, "the file is not served: "+reason, "rename it")
	}
	l.Files = append(l.Files, skill.File{Path: e.path, Size: e.size})
}

// checkCase warns about names that are the same on a file system that ignores case.
func (l *lister) checkCase() {
	byFold := make(map[string]string, len(l.Files))
	for _, f := range l.Files {
		fold := strings.ToLower(f.Path)
		first, ok := byFold[fold]
		switch {
		case !ok:
			byFold[fold] = f.Path
		case first == upperFile && f.Path == lowerFile:
			l.problem(skill.Warning, "two-skill-files", f.Path, "the skill also has a SKILL.md, which is used instead", "remove one of the two")
		default:
			l.problem(skill.Warning, "case-collision", f.Path, "the name differs from "+first+" by case only", "rename one of the two")
		}
	}
}

// checkSize reports more files or bytes than a skill may have.
func (l *lister) checkSize(limits skill.Limits) {
	if n := len(l.Files); n > limits.Files {
		l.problem(skill.Note, "too-many-files", "", fmt.Sprintf("%d files; the limit is %d", n, limits.Files), "")
	}
	var bytes int64
	for _, f := range l.Files {
		bytes += f.Size
	}
	if bytes > limits.Bytes {
		l.problem(skill.Note, "too-many-bytes", "", fmt.Sprintf("%d bytes in all files; the limit is %d", bytes, limits.Bytes), "")
	}
}

// unserved says why the skill cannot be served file by file; "" if it can. Devices,
// pipes and links out of the folder do not count: they are not part of the skill.
func (l *lister) unserved(most int, limit int64) string {
	switch {
	case l.Partial:
		return fmt.Sprintf("more than %d files or folders, or one that cannot be read", most)
	case len(l.Links) > 0:
		return l.Links[0] + " is a link to a folder"
	}
	for _, f := range l.Files {
		if reason := badName(f.Path); reason != "" {
			return fmt.Sprintf("%q: %s", f.Path, reason)
		}
		if f.Size > limit && !slices.Contains(skill.FileNames, f.Path) {
			return fmt.Sprintf("%q is larger than the %d bytes of max_file", f.Path, limit)
		}
	}
	return ""
}
