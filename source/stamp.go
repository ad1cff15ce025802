package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// racy is how old a modification time must be before it tells anything: a
// file that is written twice within the granularity of its file system's clock
// (2 s on FAT) keeps its time, so a walk in between would miss the second
// write if that keeps the size too.
const racy = 2 * time.Second

// epoch is the oldest modification time that is taken for one. Packagers that
// build reproducibly give all files the same old time (1 s after 1970 in a Nix
// store, 1980 in zip files, 1985 in npm packages), and some file systems
// (embed.FS) have none at all.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// stamp returns the stamp of a skill: a hash of the names, kinds, sizes and
// modification times of what its folder holds, and of its contents if a time
// tells nothing. It is empty, for a stamp that must not be trusted, if a file
// changed less than racy before start, or in the future, where a clock is
// wrong. A file that is replaced by one of the same size and time goes
// unnoticed.
func (s *FS) stamp(dir string, l *listing, start time.Time) string {
	limit := start.Add(-racy).UnixNano()
	buf := slices.Grow(slices.Clone(s.seed), 64*len(l.entries))
	for _, e := range l.entries {
		if e.mtime > limit {
			return ""
		}
		buf = appendEntry(buf, e)
	}
	for _, e := range l.failed {
		buf = appendEntry(buf, e)
	}
	if l.timeless() {
		m, err := s.manifest(dir)
		if err != nil {
			return ""
		}
		buf = append(buf, m.Digest...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16])
}

func appendEntry(buf []byte, e entry) []byte {
	buf = append(buf, e.path...)
	buf = append(buf, 0, flag(e.link), flag(e.err != nil))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(e.mode.Type()))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(e.size))
	return binary.LittleEndian.AppendUint64(buf, uint64(e.mtime))
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// newSeed returns what every stamp of the source starts with: where a skill
// is said to be and what it is called depend on more than its files.
func (s *FS) newSeed() []byte {
	h := sha256.New()
	write := func(text string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
	write(s.info.Label)
	write(s.tree.location(s.info.Label, "."))
	for _, from := range slices.Sorted(maps.Keys(s.renames)) {
		write(from)
		write(s.renames[from])
	}
	return h.Sum(nil)
}
