package source

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// A Trace is what a walk saw of one folder: enough to tell later, without a
// walk, whether it has changed. The folders of a source have changed when one of
// them has: a new skill is a change of the folder that it is in.
type Trace struct {
	Dir   string // in the source
	Skill bool   // the folder of a skill, with all below it
	Stamp string // "" when it must not be trusted, see skill.Ref
	Time  int64  // of the last change, Unix nanoseconds; 0 when not known
}

// Unchanged reports whether a folder is as the trace says.
func (s *FS) Unchanged(t Trace) bool {
	if t.Stamp == "" {
		return false
	}
	now := time.Now()
	if !t.Skill {
		return s.traceFolder(t.Dir, now).Stamp == t.Stamp
	}
	entries, err := s.tree.readDir(t.Dir)
	return err == nil && instructions(entries) != "" && s.stamp(t.Dir, s.list(t.Dir, entries), now) == t.Stamp
}

// traceFolder returns the trace of a folder that is none of a skill. On disk its
// time changes with what it lists; elsewhere times tell nothing.
func (s *FS) traceFolder(dir string, start time.Time) *Trace {
	t := &Trace{Dir: dir}
	if s.root == "" {
		t.Stamp = s.listed(dir)
		return t
	}
	info, err := s.tree.stat(dir)
	if err != nil {
		return t
	}
	if t.Time = info.ModTime().UnixNano(); t.Time <= start.Add(-racy).UnixNano() {
		t.Stamp = strconv.FormatInt(t.Time, 36)
	}
	return t
}

// listed returns a hash of the names in a folder, "" when it cannot be listed.
func (s *FS) listed(dir string) string {
	entries, err := s.tree.readDir(dir)
	if err != nil {
		return ""
	}
	h := sha256.New()
	for _, e := range entries {
		h.Write(strconv.AppendQuote(nil, e.Name()))
		h.Write([]byte(e.Type().String()))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// newest returns the time of the last change of what a folder holds.
func (l *listing) newest() int64 {
	newest := int64(0)
	for i := range l.entries {
		newest = max(newest, l.entries[i].mtime)
	}
	return newest
}
