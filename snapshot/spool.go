package snapshot

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// spoolSize is how much of a section is kept in memory before it is written to a file.
const spoolSize = 1 << 20

// A spool collects bytes that are read once all are there. It keeps them in memory, and
// large amounts in a temporary file.
type spool struct {
	path string // path of the snapshot, next to which the file is; "" means memory only
	buf  []byte // the last bytes; append to it, then call spill
	file *os.File
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
		if s.file, err = createTemp(s.path); err != nil {
			return err
		}
	}
	if _, err := s.file.Write(s.buf); err != nil {
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
	return removeTemp(f)
}

// createTemp creates a file next to path. Its name ends in ".tmp", so that files left by a
// killed process can be recognised.
func createTemp(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
}

func removeTemp(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
