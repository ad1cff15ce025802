// Package snapshot owns the ranking snapshot: one file with all that ranking
// needs of one generation of a catalog, which is mapped into memory and searched
// where it lies.
//
// Write makes the file from documents whose terms and vectors the caller has
// worked out; Open maps it; Read gives access to what is in it. Text is scored as
// FTS5's bm25 scores it. Documents go by ordinal: their place in the list that
// was written.
//
// A file is never trusted: its header is checked when it is opened, every block
// of the rest when it is first read. What is damaged answers with ErrDamaged.
package snapshot

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

var (
	// ErrDamaged says that a file is not as it was written. It is a cache: remove
	// it and write it again.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrClosed says that a snapshot was used after Close.
	ErrClosed = errors.New("snapshot is closed")
)

// Meta says what a snapshot was made of.
type Meta struct {
	Generation store.Generation // of the catalog
	Model      string           // of the embedder that the vectors are from, "" for none
	Dim        int              // of the vectors, 0 for none
	Weights    skill.Weights    // that text scores were computed with

	// MeanLength is the number of terms of a document that text scores were
	// computed with. 0 when writing: the mean of the documents.
	MeanLength float64

	// Extra is for the caller: up to some MiB, which Open reads.
	Extra []byte
}

// A Document is one skill.
type Document struct {
	skill.Meta

	Row    int64  // in the catalog
	Key    string // what makes two names the same; documents rise by it
	Hidden bool   // found like the others: the caller may leave it out, see Reader.Hidden

	// What ranking searches. Doc does not return these.
	Terms   skill.Terms
	Sketch  []byte // of the body, to find copies
	Vectors Vectors
}

// Vectors are the two vectors of a document, both of the snapshot's dimension
// and of length 1; nil for none.
type Vectors struct{ Description, Full []float32 }

// A Snapshot is an open file. It is immutable and may be used by several
// goroutines.
type Snapshot struct {
	path   string
	name   string // in messages
	header header
	file   []byte // all of it, mapped or in memory
	unmap  func() error

	checked []atomic.Uint32 // a bit for each block whose checksum was found right
	refs    atomic.Int64    // 1 until Close, and 1 for each Read
	closed  atomic.Bool
	impacts impacts
	works   sync.Pool // *work
}

// Open maps the file at path. It reads the header and Meta.Extra only, whatever
// the size. The error matches ErrDamaged when the file is not a whole snapshot
// of this version.
func Open(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening snapshot: %w", err)
	}
	defer f.Close() // a mapping outlives its file
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

// New opens what Encode returned, with the same checks. The data must not change.
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

// readHeader reads the header, from a file that may shrink meanwhile, and Extra.
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

// Meta returns what the snapshot was made of.
func (s *Snapshot) Meta() Meta { return s.header.meta }

// Len returns the number of documents.
func (s *Snapshot) Len() int { return s.header.docs }

// Path returns the path that was opened, "" for none.
func (s *Snapshot) Path() string { return s.path }

// A Reader reads a snapshot for one goroutine, while the function runs that it
// was handed to. What its methods return may be kept.
type Reader struct{ s *Snapshot }

// Read calls f with a Reader and returns its error. Meanwhile the file stays
// mapped, and a page that cannot be read, because the file was cut or its disk
// fails, ends f with ErrDamaged and not the process. It returns ErrClosed once
// Close was called, also within another Read.
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
			err = fmt.Errorf("%s: a page cannot be read, the file was cut or its disk fails: %w", s.name, ErrDamaged)
		default:
			panic(fault)
		}
	}()
	return f(&Reader{s})
}

// faulted reports whether a panic is that of reading the mapping.
func (s *Snapshot) faulted(fault any) bool {
	f, ok := fault.(interface{ Addr() uintptr })
	if !ok {
		return false
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(s.file)))
	return f.Addr()-first < uintptr(len(s.file))
}

// hold adds a reference unless there is none left.
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

// release undoes one hold; the last one unmaps the file.
func (s *Snapshot) release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	if err := s.unmap(); err != nil {
		return fmt.Errorf("unmapping %s: %w", s.name, err)
	}
	return nil
}

// Close gives the snapshot up and waits for nobody: the file is unmapped at
// once, or by the last Read to end. Closing twice does nothing.
func (s *Snapshot) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.release()
}
