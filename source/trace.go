package source

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Trace records the state of one folder during a walk, so that Unchanged can detect
// changes later without a walk. A source has changed if one of its folders has: a new
// skill changes the folder that holds it. Catalogs write traces to a file. They use
// Dir, Skill and Time; the other fields are for the source's Unchanged, which may use
// Stamp alone.
type Trace struct {
	Dir   string   // path in the source
	Skill bool     // the folder is a skill; the trace covers everything below it
	Below []string // contents of a skill's folder, relative to it; folders end in a slash
	Full  bool     // Unchanged must list the folder, because times cannot be trusted, or it could not be listed
	Stamp string   // "" means no stamp, see skill.Ref
	Time  int64    // last change, Unix nanoseconds; 0 means unknown
}

// Unchanged reports whether a folder is as the trace describes it. On disk it checks
// the times of known entries and lists nothing: a new entry changes its folder's time.
// That is three times as fast as listing.
func (s *FS) Unchanged(t Trace) bool {
	if t.Stamp == "" {
		return false
	}
	now := time.Now()
	switch {
	case !t.Full:
		stamp, _ := s.times(t.Dir, nil, t.Below, now)
		return stamp == t.Stamp
	case !t.Skill:
		return s.names(t.Dir) == t.Stamp
	}
	entries, err := s.tree.readDir(t.Dir)
	return err == nil && instructions(entries) != "" && s.stamp(t.Dir, s.list(t.Dir, entries), now, false) == t.Stamp
}

// Skill returns the skill in a folder as a walk would find it, and its trace; ok is
// false if there is none.
func (s *FS) Skill(dir string) (ref *skill.Ref, t Trace, ok bool) {
	start := time.Now()
	entries, err := s.tree.readDir(dir)
	file := instructions(entries)
	if err != nil || file == "" {
		return nil, t, false
	}
	ref = s.ref(dir, file)
	l := s.list(dir, entries)
	ref.Stamp = s.stamp(dir, l, start, false)
	t.Dir, t.Skill = dir, true
	s.trace(&t, l, ref.Stamp, start)
	return ref, t, true
}

// trace fills in t from the folder's listing. The stamp is the skill's. For a folder
// that is not a skill, the listing is empty and the stamp is unused.
func (s *FS) trace(t *Trace, l *listing, stamp string, start time.Time) {
	t.Full = !s.onDisk() || l.timeless()
	if t.Skill {
		t.Below = l.below()
	}
	switch {
	case !t.Full:
		t.Stamp, t.Time = s.times(t.Dir, l.entries, l.subs, start)
	case t.Skill:
		t.Stamp, t.Time = stamp, l.newest()
	default:
		if names := s.names(t.Dir); names != unlisted {
			t.Stamp = names
		}
	}
}

// times returns a hash of the times, sizes and kinds of a folder and its contents, and
// the newest of the times. The contents are entries that were just listed, then paths to
// look at. The hash is "" if a time is too recent to be trusted.
func (s *FS) times(dir string, listed []entry, below []string, start time.Time) (string, int64) {
	h := timeHash{Hash64: fnv.New64a(), start: start}
	h.stat(s, dir)
	for i := range listed {
		e := &listed[i]
		h.add(e.mode, e.size, e.mtime, e.err)
	}
	for _, name := range below {
		h.stat(s, join(dir, strings.TrimSuffix(name, "/")))
	}
	if h.fresh {
		return "", h.newest
	}
	return strconv.FormatUint(h.Sum64(), 36), h.newest
}

// A timeHash hashes what changes when a file or a folder changes.
type timeHash struct {
	hash.Hash64
	start  time.Time
	newest int64
	fresh  bool // a time cannot be trusted at start
	buf    [21]byte
}

func (h *timeHash) stat(s *FS, name string) {
	if info, err := s.tree.stat(name); err != nil {
		h.add(0, 0, 0, err)
	} else {
		h.add(info.Mode(), info.Size(), info.ModTime().UnixNano(), nil)
	}
}

func (h *timeHash) add(mode fs.FileMode, size, mtime int64, err error) {
	b := h.buf[:0]
	if err != nil {
		b = append(b, 1) // a dangling link is unchanged as long as it dangles
	} else {
		h.newest, h.fresh = max(h.newest, mtime), h.fresh || isFresh(mtime, h.start)
		b = binary.LittleEndian.AppendUint64(append(b, 0), uint64(mtime))
		b = binary.LittleEndian.AppendUint32(b, uint32(mode)) // permissions too: they decide what can be read
		if !mode.IsDir() {                                    // a folder's size depends on the file system
			b = binary.LittleEndian.AppendUint64(b, uint64(size))
		}
	}
	h.Write(b) // never fails
}

// unlisted is the stamp of what cannot be listed as a folder: it does not exist, is a
// file, or fails.
const unlisted = "-"

// names returns a hash of the names in a folder; unlisted if the folder cannot be listed.
// It looks first, because opening a FIFO would block.
func (s *FS) names(dir string) string {
	if info, err := s.tree.stat(dir); err != nil || !info.IsDir() {
		return unlisted
	}
	entries, err := s.tree.readDir(dir)
	if err != nil {
		return unlisted
	}
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q%s", e.Name(), e.Type())
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// below returns the paths of everything that was listed.
func (l *listing) below() []string {
	paths := make([]string, 0, len(l.entries)+len(l.subs))
	for i := range l.entries {
		paths = append(paths, l.entries[i].path)
	}
	return append(paths, l.subs...)
}

// timeless reports whether an entry's time cannot be trusted.
func (l *listing) timeless() bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool { return e.mtime < epoch && e.err == nil })
}

// newest returns the newest modification time in the folder.
func (l *listing) newest() int64 {
	newest := int64(0)
	for i := range l.entries {
		newest = max(newest, l.entries[i].mtime)
	}
	return newest
}
