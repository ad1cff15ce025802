package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// trustAge is the minimum age of a modification time that can be trusted. The clock of
// a file system may advance in steps of up to 2 s (FAT). A file written twice within
// a step keeps its time, so a walk between the two writes would miss the second one
// if the size stays the same.
const trustAge = 2 * time.Second

// maxAhead is how far the clock of a file server may be ahead of ours. A time further in
// the future was set while a clock was wrong: a file that is written now gets another
// time, so that time can be trusted.
const maxAhead = 24 * time.Hour

// isFresh reports whether a modification time cannot be trusted at the time start, because
// the next change of the file may leave it as it is.
func isFresh(mtime int64, start time.Time) bool {
	return mtime > start.Add(-trustAge).UnixNano() && mtime < start.Add(maxAhead).UnixNano()
}

// epoch is the oldest modification time that can be trusted. Reproducible builds give
// all files the same old time (1 s after 1970 in a Nix store, 1980 in zip files, 1985
// in npm packages), and some file systems (embed.FS) have no times at all.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// stamp returns the stamp of a skill: a hash of the names, modes, sizes and
// modification times in its folder, and of the contents if a time cannot be trusted.
// It returns "", meaning no stamp, if the time of a file is fresh at start. A file that is
// replaced by one of the same size and time goes unnoticed, unless strict.
func (s *FS) stamp(dir string, l *listing, start time.Time, strict bool) string {
	buf := append(make([]byte, 0, 64+64*len(l.entries)), s.info.Settings...)
	for _, e := range l.entries {
		if isFresh(e.mtime, start) || strict && !e.settled(start) {
			return ""
		}
		if buf = appendEntry(buf, e); strict {
			buf = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(buf, uint64(e.ctime)), e.inode)
		}
	}
	for _, e := range l.failed {
		buf = appendEntry(buf, e)
	}
	if !strict && l.timeless() {
		m, err := s.manifest(dir)
		if err != nil {
			return ""
		}
		buf = append(buf, m.Digest...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}

// settled reports whether the next change of a file will show in its ctime, which nobody can set.
func (e *entry) settled(start time.Time) bool {
	return e.err != nil || e.ctime >= epoch && !isFresh(e.ctime, start)
}

func appendEntry(buf []byte, e entry) []byte {
	buf = append(buf, e.path...)
	buf = append(buf, 0, flag(e.link), flag(e.err != nil))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(e.mode)) // permissions decide what can be read
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.size))
	return binary.LittleEndian.AppendUint64(buf, uint64(e.mtime))
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
