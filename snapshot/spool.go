package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

// spoolSize is how much of a section is kept in memory before it is written to a file.
const spoolSize = 1 << 20

// A spool collects bytes that are read once all are there. It keeps them in memory, and
// large amounts in a temporary file.
type spool struct {
	disk atomicfile.Disk
	path string // path of the snapshot, next to which the file is; "" means memory only
	buf  []byte // the last bytes; append to it, then call spill
	file atomicfile.File
	n    int // bytes in the file
}

func (s *spool) size() int { return s.n + len(s.buf) }

// spill writes the buffer to the file if it is full.
func (s *spool) spill() error {
	if len(s.buf) < spoolSize || s.path == "" {
		return nil
	}
	return s.flush()
}

func (s *spool) flush() (err error) {
	if s.file == nil {
		if s.file, err = createTemp(s.disk, s.path); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(s.buf, int64(s.n)); err != nil {
		return err
	}
	s.n += len(s.buf)
	s.buf = s.buf[:0]
	return nil
}

// section returns size bytes at an offset, once all bytes are collected.
func (s *spool) section(off, size int) (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.buf[off : off+size]), nil
	}
	if len(s.buf) > 0 {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	return io.NewSectionReader(s.file, int64(off), int64(size)), nil
}

// all returns all bytes, once they are collected.
func (s *spool) all() (io.Reader, error) { return s.section(0, s.size()) }

// remove deletes the bytes and the file.
func (s *spool) remove() error {
	f := s.file
	s.file, s.buf = nil, nil
	if f == nil {
		return nil
	}
	return f.Discard()
}

// createTemp creates a file next to path. Its name is new, because several processes may
// write the same snapshot. It ends in ".tmp", so that files left by a killed process can
// be recognised.
func createTemp(d atomicfile.Disk, path string) (atomicfile.File, error) {
	return d.Create(fmt.Sprintf("%s.%d%s", path, rand.Uint64(), atomicfile.Suffix))
}
