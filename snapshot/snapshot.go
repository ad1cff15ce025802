// Package snapshot owns the ranking snapshot: one file with all that ranking
// needs of one generation of a catalog, which is mapped into memory and searched
// where it lies.
//
// Write makes the file from documents whose terms and vectors the caller has
// worked out; Open maps it. Text is scored as FTS5's bm25 scores it. Documents
// go by ordinal: their place in the list that was written.
//
// A file is never trusted: its header is checked when it is opened, every block
// of the rest when it is first read. What is damaged answers with ErrDamaged.
package snapshot

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

var (
	// ErrDamaged says that a file is not as it was written. It is a cache: remove
	// it and write it again.
	ErrDamaged = errors.New("snapshot is damaged")
	// ErrClosed says that a snapshot was used after its last release.
	ErrClosed = errors.New("snapshot is closed")
)

// Meta says what a snapshot was made of.
type Meta struct {
	Generation int64   // of the catalog
	Model      string  // of the embedder that the vectors are from, "" for none
	Dim        int     // of the vectors, 0 for none
	Weights    Weights // that text scores were computed with
}

// Weights are the weights of the fields in a text score, none below 0.
type Weights struct{ Name, Description, Tags, Body float64 }

// A Document is one skill. Those that full-text search does not know (refused
// files) are left out: its scores count the others only.
type Document struct {
	Row         int64  // in the catalog
	Key         string // what makes two names the same; documents rise by it
	Ref         string // ID
	Name        string
	Description string
	Source      string // label
	Location    string
	Path        string
	Digest      string
	Tags        []string
	Requires    []string
	Tokens      int  // of the body, not negative
	Flags       byte // for the caller

	// What ranking searches. Doc does not return these.
	Terms   Fields
	Vectors Vectors
}

// Fields are the terms of a document, analysed, in order, with repetitions.
type Fields struct{ Name, Description, Tags, Body []string }

// Vectors are the two vectors of a document, both of the snapshot's dimension
// and of length 1; nil for none.
type Vectors struct{ Description, Full []float32 }

// A Snapshot is an open file. It is immutable and may be used by several
// goroutines; a method that is called after the last release returns ErrClosed.
type Snapshot struct {
	path   string
	header header
	file   []byte // all of it, mapped
	unmap  func() error

	checked []atomic.Uint32 // a bit for each block whose checksum was found right
	refs    atomic.Int64    // 1 until Close, and 1 for each Acquire
	closed  atomic.Bool
	impacts impacts
	sums    sync.Pool // *[]float32, see newSum
}

// Open maps the file at path. It reads the header only, whatever the size. The
// error matches ErrDamaged when the file is not a whole snapshot of this
// version.
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
	s := &Snapshot{path: path, file: data, unmap: unmap}
	s.refs.Store(1)
	s.sums.New = s.newSum
	s.impacts.fill()
	if err := s.readHeader(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// readHeader reads the header, from a file that may shrink meanwhile.
func (s *Snapshot) readHeader() (err error) {
	done, err := s.begin()
	if err != nil {
		return err
	}
	defer done(&err)
	if err := s.header.decode(s.file); err != nil {
		return fmt.Errorf("%s: %w: %w", s.path, err, ErrDamaged)
	}
	s.checked = make([]atomic.Uint32, (s.header.blocks()+31)/32)
	return nil
}

// Meta returns what the snapshot was made of.
func (s *Snapshot) Meta() Meta { return s.header.meta }

// Len returns the number of documents.
func (s *Snapshot) Len() int { return s.header.docs }

// Acquire keeps the snapshot open until Release, for several calls that belong
// together. It reports false when the snapshot was closed, also while others
// still hold it, so that they are the last: there is a newer one.
func (s *Snapshot) Acquire() bool { return !s.closed.Load() && s.hold() }

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

// Release undoes one Acquire. The last one after Close unmaps the file.
func (s *Snapshot) Release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	if err := s.unmap(); err != nil {
		return fmt.Errorf("unmapping %s: %w", s.path, err)
	}
	return nil
}

// Close gives the snapshot up: the file is unmapped at once, or by whoever is
// the last to release it. Closing twice does nothing.
func (s *Snapshot) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.Release()
}

// begin starts an access to the mapping. The function that it returns ends it,
// deferred: a page that cannot be read, because the file was cut or its disk
// fails, would end the process, and becomes an error instead.
func (s *Snapshot) begin() (end func(*error), err error) {
	if !s.hold() {
		return nil, fmt.Errorf("%s: %w", s.path, ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	return func(err *error) {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if _, ok := r.(interface{ Addr() uintptr }); !ok {
				panic(r)
			}
			*err = fmt.Errorf("%s: a page cannot be read, the file was cut or its disk fails: %w", s.path, ErrDamaged)
		}
		*err = errors.Join(*err, s.Release())
	}, nil
}
