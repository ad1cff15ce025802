// Package snapshot owns the ranking snapshots of a catalog. A snapshot is one file with
// all that ranking needs about one generation; it is mapped into memory and searched in
// place.
//
// Write writes the file from documents with their terms and vectors; Open maps it; Read
// gives access to its contents. Text scores equal FTS5's bm25. A document's ordinal is its
// position in the list that was written. A Set joins a base with a delta, a Directory
// knows the files, and its manifest names the current ones.
//
// Its one rule: a file is never trusted. Open checks the header, and the first read of
// each block checks the block. Damage is reported as ErrDamaged.
package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

var (
	// ErrDamaged means that a file has changed since it was written. It is a cache:
	// remove it and write it again.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrClosed means that a snapshot was used after Close.
	ErrClosed = errors.New("snapshot is closed")
)

// Meta describes how a snapshot was made.
type Meta struct {
	Generation store.Generation // generation of the catalog
	Models     [Spaces]Model    // that made the vectors
	Weights    skill.Weights    // weights of the fields in text scores

	// MeanLength is the mean number of terms in a document, for text scores. To Write,
	// 0 means the mean of its documents.
	MeanLength float64

	// Beside is the snapshot to which the documents add, in a set of both; nil means none. Write
	// looks there for their copies. Replaced are the rows of Beside that no longer count.
	Beside   *Snapshot
	Replaced []int64

	// Extra is free for the caller's use, up to some MiB. Open reads it.
	Extra []byte
}

// A Document is one skill.
type Document struct {
	skill.Meta

	Row    int64  // row in the catalog
	Key    string // equal for names that are the same name; documents are sorted by it
	Hidden bool   // searches find it, but a caller may leave it out, see Reader.Hidden

	// Used for ranking. Doc does not return these fields.
	Terms   skill.Terms
	Sketch  []byte // summary of the body, to find copies
	Vectors Vectors

	Examples [][]float32 // vectors of its examples in the space Sentences
}

// A Snapshot is an open file. It is immutable, and several goroutines may use it.
type Snapshot struct {
	path   string
	name   string // for messages
	header header
	file   []byte // the whole file, mapped or in memory
	unmap  func() error

	checked []atomic.Uint32 // one bit for each block whose checksum is known to be right
	refs    atomic.Int64    // 1 until Close, plus 1 for each Read
	closed  atomic.Bool
	impacts impacts
	works   sync.Pool // *work
}

// Open maps the file at path. It reads only the header and Meta.Extra, however large the
// file is. The error matches ErrDamaged if the file is not a complete snapshot of this
// version.
func Open(path string) (*Snapshot, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening snapshot: %w", err)
	}
	defer f.Close() // the mapping stays
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening snapshot: %w", err)
	}
	if size := info.Size(); size < minHeader || size != int64(int(size)) {
		return nil, fmt.Errorf("%s: %d bytes are not the size of a snapshot: %w", path, size, ErrDamaged)
	}
	data, unmap, err := mapFile(f, int(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return newSnapshot(path, path, data, unmap)
}

// readFile replaces mapping on systems without it: it reads the bytes into memory.
func readFile(f *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

// New opens what Encode returned, with the same checks. The caller must not change data.
func New(data []byte) (*Snapshot, error) {
	return newSnapshot("", "snapshot in memory", data, func() error { return nil })
}

func newSnapshot(path, name string, data []byte, unmap func() error) (*Snapshot, error) {
	s := &Snapshot{path: path, name: name, file: data, unmap: unmap}
	s.refs.Store(1)
	s.works.New = func() any { return new(work) }
	s.impacts.fill()
	err := s.Read(func(*Reader) error { return s.readHeader() })
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// readHeader reads the header and Extra. It runs inside of Read, because the file may
// shrink meanwhile.
func (s *Snapshot) readHeader() error {
	if err := s.header.decode(s.file); err != nil {
		return fmt.Errorf("%s: %w: %w", s.name, err, ErrDamaged)
	}
	s.checked = make([]atomic.Uint32, (s.header.blocks()+31)/32)
	extra, err := s.bytes(extraSection, 0, s.header.sizes[extraSection])
	if len(extra) > 0 {
		s.header.meta.Extra = slices.Clone(extra)
	}
	return err
}

// Meta returns how the snapshot was made.
func (s *Snapshot) Meta() Meta { return s.header.meta }

// Len returns the number of documents.
func (s *Snapshot) Len() int { return s.header.docs }

// Path returns the path of the file; "" means that the snapshot is in memory.
func (s *Snapshot) Path() string { return s.path }

// A Reader reads a snapshot, for one goroutine, until the function that received it
// returns. Results are valid longer unless a method says otherwise.
type Reader struct{ s *Snapshot }

// Read calls f with a Reader and returns f's error. The file stays mapped meanwhile. If a
// page cannot be read, because the file was truncated or its disk fails, Read returns
// ErrDamaged instead of crashing the process. After Close it returns ErrClosed, even
// inside of another Read.
func (s *Snapshot) Read(f func(*Reader) error) (err error) {
	if s.closed.Load() || !s.hold() {
		return fmt.Errorf("%s: %w", s.name, ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		fault := recover()
		if e := s.release(); e != nil {
			err = errors.Join(err, e)
		}
		switch {
		case fault == nil:
		case s.faulted(fault):
			err = fmt.Errorf("%s: a page cannot be read; the file was truncated or its disk fails: %w", s.name, ErrDamaged)
		default:
			panic(fault)
		}
	}()
	return f(&Reader{s})
}

// faulted reports whether a panic was caused by reading the mapping.
func (s *Snapshot) faulted(fault any) bool {
	f, ok := fault.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(s.file)))
	return f.Addr()-first < uintptr(len(s.file))
}

// hold adds a reference. It returns false if there is none left.
func (s *Snapshot) hold() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release drops a reference; dropping the last one unmaps the file.
func (s *Snapshot) release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	if err := s.unmap(); err != nil {
		return fmt.Errorf("unmapping %s: %w", s.name, err)
	}
	return nil
}

// Close closes the snapshot without waiting. The file is unmapped at once, or when the last
// Read ends. A second call does nothing.
func (s *Snapshot) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.release()
}
