package source

import (
	"errors"
	"io/fs"
	"slices"
)

// Bounds of one skill.
const (
	maxFiles   = 512      // entries of its manifest, and as many folders
	maxHash    = 16 << 20 // bytes of the largest file that is hashed
	maxHashAll = 64 << 20 // bytes hashed for one skill
)

// An entry is something in a skill's folder that is not a folder.
type entry struct {
	path  string // relative to the skill's folder
	mode  fs.FileMode
	link  bool // mode, size and mtime are those of what it leads to
	size  int64
	mtime int64 // nanoseconds; 0 when the file system has none
	err   error // why the rest is not known
}

// A listing is what a skill's folder holds, found without opening a file.
type listing struct {
	entries []entry
	failed  []entry  // folders that could not be listed
	subs    []string // paths of the folders, with a final slash
	folders int
	more    bool // the bounds were reached: the rest is missing
}

// list lists a skill's folder whose own entries are known. It puts the
// instructions first among them, so that the bounds never cut those off.
func (s *FS) list(dir string, top []fs.DirEntry) *listing {
	l := &listing{entries: make([]entry, 0, len(top))}
	file := instructions(top)
	if i := slices.IndexFunc(top, func(e fs.DirEntry) bool { return e.Name() == file }); i > 0 {
		first := top[i]
		copy(top[1:], top[:i])
		top[0] = first
	}
	s.listInto(l, dir, "", top)
	return l
}

func (s *FS) listInto(l *listing, dir, prefix string, entries []fs.DirEntry) {
	for _, e := range entries {
		if isSkipped(e.Name()) {
			continue
		}
		if e.IsDir() {
			s.listFolder(l, dir, prefix+e.Name())
			continue
		}
		if len(l.entries) == maxFiles {
			l.more = true
			return
		}
		if found, ok := s.entry(dir, prefix, e); ok {
			l.entries = append(l.entries, found)
		}
	}
}

func (s *FS) listFolder(l *listing, dir, sub string) {
	if l.folders++; l.folders > maxFiles {
		l.more = true
		return
	}
	l.subs = append(l.subs, sub+"/")
	entries, err := s.tree.readDir(join(dir, sub))
	if err != nil {
		l.failed = append(l.failed, entry{path: sub, err: err})
	}
	s.listInto(l, dir, sub+"/", entries)
}

// entry describes one entry of a folder; not ok when it is gone by now.
func (s *FS) entry(dir, prefix string, e fs.DirEntry) (entry, bool) {
	found := entry{path: prefix + e.Name(), mode: e.Type(), link: isLink(e.Type())}
	info, err := e.Info()
	if err != nil {
		found.err = err
		return found, !errors.Is(err, fs.ErrNotExist)
	}
	if found.link && s.tree.links() {
		if info, err = s.tree.stat(join(dir, found.path)); err != nil {
			found.err = err
			return found, true
		}
	}
	found.mode, found.size = info.Mode(), info.Size()
	if t := info.ModTime(); !t.IsZero() {
		found.mtime = t.UnixNano()
	}
	return found, true
}
