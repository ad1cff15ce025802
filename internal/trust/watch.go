package trust

import (
	"io/fs"
	"os"
	"strconv"
	"sync"
)

// A Watched is what a file says, read again whenever the stamp of the file has changed. It
// may be used by several goroutines.
type Watched[T any] struct {
	name string
	read func() T

	mu      sync.Mutex
	info    fs.FileInfo // of the file when it was read; nil means that it was not there
	version int         // how often it was read
	value   T
}

// Watch returns what the file of a name says; read reads it.
func Watch[T any](name string, read func() T) *Watched[T] {
	return &Watched[T]{name: name, read: read}
}

// Value returns what the file said when Version was called last.
func (w *Watched[T]) Value() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.version == 0 {
		w.refresh()
	}
	return w.value
}

// Version returns another text than before if the file has changed. It only looks at the
// stamp of the file.
func (w *Watched[T]) Version() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refresh()
	return strconv.Itoa(w.version)
}

// refresh reads the file again if it has changed.
func (w *Watched[T]) refresh() {
	info, err := os.Stat(w.name)
	if err != nil {
		info = nil
	}
	if w.version == 0 || !sameFile(info, w.info) {
		w.version++
		w.info, w.value = info, w.read()
	}
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
