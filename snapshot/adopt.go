package snapshot

import (
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Legacy says which catalog was copied to which.
type Legacy struct {
	From, To     string                                // paths of the catalogs
	FromID, ToID string                                // see store.State
	Generations  map[store.Generation]store.Generation // of the one → of the other
	Disk         atomicfile.Disk
}

// Adopt gives a copied catalog the files of its original, under its own ID and generations:
// the newest base of each key, so that only what differs must be compiled; the calibration,
// which counts as one of an older base, so that it holds until the copy has its own; and the
// vectors of its prompts. It leaves out a file that is damaged or cannot be written: a copy
// can do without.
func (l *Legacy) Adopt() {
	from := NewDirectory(l.From, "", skill.Weights{})
	newest := make(map[string]snapshotFile)
	for _, f := range from.listFiles() {
		if f.catalog != l.FromID {
			continue
		}
		switch _, known := l.Generations[f.generation]; f.suffix {
		case baseSuffix:
			if best, ok := newest[f.key]; known && (!ok || f.generation.Number > best.generation.Number) {
				newest[f.key] = f
			}
		case calibrationSuffix:
			l.adoptCalibration(f)
		case promptSuffix:
			if data, err := readSummed(f.path); err == nil {
				writeSummed(l.Disk, l.to(f).keyed(l.ToID, promptSuffix), data)
			}
		}
	}
	for _, f := range newest {
		l.adoptBase(f)
	}
}

// to returns the directory of the copy for the key of a file.
func (l *Legacy) to(f snapshotFile) *Directory {
	d := NewDirectory(l.To, f.key, skill.Weights{})
	d.Disk = l.Disk
	return d
}

func (l *Legacy) adoptCalibration(f snapshotFile) {
	from := NewDirectory(l.From, f.key, skill.Weights{})
	if c := from.Calibration(l.FromID); c != nil {
		c.Catalog, c.Base = l.ToID, store.Generation{}
		l.to(f).WriteCalibration(c)
	}
}

func (l *Legacy) adoptBase(f snapshotFile) error {
	s, err := Open(f.path)
	if err != nil {
		return err
	}
	defer s.Close() // it was only read
	var info Info
	if err := json.Unmarshal(s.Meta().Extra, &info); err != nil {
		return err
	}
	info.Catalog, info.Generation = l.ToID, l.Generations[f.generation]
	extra, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return s.writeAs(l.Disk, l.to(f).BasePath(l.ToID, info.Generation), info.Generation, extra)
}

// writeAs writes the snapshot to another file, with another generation and Meta.Extra. It
// takes over the checksums, so that damage is found in the new file too.
func (s *Snapshot) writeAs(d atomicfile.Disk, path string, g store.Generation, extra []byte) error {
	if err := regular.Check(path); err != nil {
		return err
	}
	h := s.header
	data := s.file[h.data:h.starts[extraSection]] // Extra is the last section
	whole := len(data) / blockSize
	last := data[whole*blockSize:]
	return s.Read(func(*Reader) error {
		if len(last) > 0 {
			if err := s.check(whole); err != nil {
				return err
			}
		}
		end := slices.Concat(last, extra)
		h.meta.Generation, h.sizes[extraSection] = g, len(extra)
		h.sums = slices.Clone(h.sums[:4*whole])
		h.place()
		sums := summer{w: io.Discard}
		sums.Write(end)
		h.sums = append(h.sums, sums.end()...)
		f, err := createTemp(d, path)
		if err != nil {
			return err
		}
		for _, part := range []struct {
			data []byte
			at   int
		}{{h.encode(), 0}, {data, h.data}, {extra, h.starts[extraSection]}} {
			if _, err := f.WriteAt(part.data, int64(part.at)); err != nil {
				return errors.Join(err, f.Discard())
			}
		}
		return f.MoveTo(path)
	})
}
