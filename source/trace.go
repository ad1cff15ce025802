package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"hash/fnv"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

// A Trace is what a walk saw of one folder: enough to tell later, without a
// walk, whether it has changed. The folders of a source have changed when one of
// them has: a new skill is a change of the folder that it is in. Catalogs write
// traces to a file. Dir, Skill and Time are for them; the rest is for the Unchanged
// of the source, which may do with Stamp alone.
type Trace struct {
	Dir   string   // in the source
	Skill bool     // the folder of a skill, with all below it
	Below []string // what a skill's folder holds, relative to it, folders with a final slash
	Full  bool     // only a listing tells a change: times say nothing
	Stamp string   // "" when it must not be trusted, see skill.Ref
	Time  int64    // of the last change, Unix nanoseconds; 0 when not known
}

// Unchanged reports whether a folder is as the trace says. On disk it asks for
// the times of what was there and lists nothing, because a folder's own time
// changes with what it lists: that is three times as fast as listing.
func (s *FS) Unchanged(t Trace) bool {
	if t.Stamp == "" {
		return false
	}
	now := time.Now()
	switch {
	case !t.Full:
		stamp, _ := s.times(t.Dir, t.Below, now)
		return stamp == t.Stamp
	case !t.Skill:
		return s.names(t.Dir) == t.Stamp
	}
	entries, err := s.tree.readDir(t.Dir)
	return err == nil && instructions(entries) != "" && s.stamp(t.Dir, s.list(t.Dir, entries), now) == t.Stamp
}

// Skill returns the skill in a folder, as a walk would that finds it there, and
// its trace; ok is false when there is none.
func (s *FS) Skill(dir string) (ref *skill.Ref, t Trace, ok bool) {
	start := time.Now()
	entries, err := s.tree.readDir(dir)
	file := instructions(entries)
	if err != nil || file == "" {
		return nil, t, false
	}
	ref = s.ref(dir, file)
	l := s.list(dir, entries)
	ref.Stamp = s.stamp(dir, l, start)
	t.Dir, t.Skill = dir, true
	s.trace(&t, l, ref.Stamp, start)
	return ref, t, true
}

// trace fills in what was seen of a folder, of which l is the listing and stamp
// the stamp if it is that of a skill.
func (s *FS) trace(t *Trace, l *listing, stamp string, start time.Time) {
	if t.Full = s.info.Root == ""; t.Skill {
		t.Full = t.Full || l.timeless()
		t.Below = l.below()
	}
	switch {
	case !t.Full:
		t.Stamp, t.Time = s.listedTimes(t.Dir, l, start)
	case t.Skill:
		t.Stamp, t.Time = stamp, l.newest()
	default:
		t.Stamp = s.names(t.Dir)
	}
}

// times returns a hash of the times, sizes and kinds of a folder and of what is
// below it, and the newest of the times. It is empty when one of them is too new
// to tell anything.
func (s *FS) times(dir string, below []string, start time.Time) (string, int64) {
	h := timeHash{Hash64: fnv.New64a()}
	h.stat(s, dir)
	for _, name := range below {
		h.stat(s, join(dir, strings.TrimSuffix(name, "/")))
	}
	return h.sum(start)
}

// listedTimes is times for a folder that was just listed: its files need no
// second look. A nil listing has none.
func (s *FS) listedTimes(dir string, l *listing, start time.Time) (string, int64) {
	h := timeHash{Hash64: fnv.New64a()}
	h.stat(s, dir)
	if l != nil {
		for i := range l.entries {
			e := &l.entries[i]
			h.add(e.mode, e.size, e.mtime, e.err)
		}
		for _, name := range l.subs {
			h.stat(s, join(dir, strings.TrimSuffix(name, "/")))
		}
	}
	return h.sum(start)
}

// A timeHash hashes what tells that a file or a folder changed.
type timeHash struct {
	hash.Hash64
	newest int64
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
		b = append(b, 1) // also a link that leads nowhere stays as it is
	} else {
		h.newest = max(h.newest, mtime)
		b = binary.LittleEndian.AppendUint64(append(b, 0), uint64(mtime))
		b = binary.LittleEndian.AppendUint32(b, uint32(mode.Type()))
		if !mode.IsDir() { // the size of a folder is the file system's affair
			b = binary.LittleEndian.AppendUint64(b, uint64(size))
		}
	}
	h.Write(b) // never fails
}

// sum returns the hash, "" if the newest time tells nothing, and that time.
func (h *timeHash) sum(start time.Time) (string, int64) {
	if h.newest > start.Add(-racy).UnixNano() {
		return "", h.newest
	}
	return strconv.FormatUint(h.Sum64(), 36), h.newest
}

// names returns a hash of the names in a folder, "" when it cannot be listed.
func (s *FS) names(dir string) string {
	entries, err := s.tree.readDir(dir)
	if err != nil {
		return ""
	}
	h := sha256.New()
	for _, e := range entries {
		h.Write(strconv.AppendQuote(nil, e.Name())) // never fails
		h.Write([]byte(e.Type().String()))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// below returns the paths of all that was listed.
func (l *listing) below() []string {
	paths := make([]string, 0, len(l.entries)+len(l.subs))
	for i := range l.entries {
		paths = append(paths, l.entries[i].path)
	}
	return append(paths, l.subs...)
}

// timeless reports whether a time tells nothing.
func (l *listing) timeless() bool {
	for i := range l.entries {
		if e := &l.entries[i]; e.mtime < epoch && e.err == nil {
			return true
		}
	}
	return false
}

// newest returns the time of the last change of what a folder holds.
func (l *listing) newest() int64 {
	newest := int64(0)
	for i := range l.entries {
		newest = max(newest, l.entries[i].mtime)
	}
	return newest
}
