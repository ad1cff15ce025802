// Package crashtest has a disk for tests that knows what a crash would leave of it.
//
// The one rule: it promises no more than a disk does. A power cut may lose everything that
// was written since the last Sync of a file, or the last part of it, and every name that
// was given or taken away, whatever came later.
package crashtest

import (
	"math/rand/v2"
	"path/filepath"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

// A Disk writes to one folder as atomicfile.OS does, and records each step. It may be used
// from several goroutines.
type Disk struct {
	// Before, unless it is nil, is called before each step, with the number of steps
	// so far. Its error cancels the step, as a full disk would.
	Before func(step int) error

	mu    sync.Mutex // guards what follows
	steps []step
	files int // number of files that were created
}

var _ atomicfile.Disk = (*Disk)(nil)

type kind int

const (
	create kind = iota
	write
	fsync
	move
	remove
)

// A step is one call of a Disk or a File.
type step struct {
	kind kind
	file int    // number of the file; unused by remove
	name string // of the file afterwards, or of the file that is removed
	from string // of the file before move
	data []byte // what write writes
	off  int64  // where write writes
}

// Len returns the number of steps so far.
func (d *Disk) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.steps)
}

// do calls f and, if f succeeds, records a step.
func (d *Disk) do(s step, f func() error) error {
	if d.Before != nil {
		if err := d.Before(d.Len()); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, s)
	return nil
}

// Create implements atomicfile.Disk.
func (d *Disk) Create(name string) (f atomicfile.File, err error) {
	d.mu.Lock()
	n := d.files
	d.files++
	d.mu.Unlock()
	err = d.do(step{kind: create, file: n, name: filepath.Base(name)}, func() error {
		f, err = atomicfile.OS{}.Create(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{f, d, n, filepath.Base(name)}, nil
}

// Remove implements atomicfile.Disk.
func (d *Disk) Remove(name string) error {
	return d.do(step{kind: remove, name: filepath.Base(name)}, func() error { return atomicfile.OS{}.Remove(name) })
}

// file implements atomicfile.File.
type file struct {
	atomicfile.File
	disk *Disk
	n    int
	name string
}

func (f *file) WriteAt(data []byte, off int64) (n int, err error) {
	s := step{kind: write, file: f.n, data: append([]byte(nil), data...), off: off}
	err = f.disk.do(s, func() error {
		n, err = f.File.WriteAt(data, off)
		return err
	})
	return n, err
}

func (f *file) Sync() error { return f.disk.do(step{kind: fsync, file: f.n}, f.File.Sync) }

// MoveTo discards the file if the step is cancelled, as the contract says.
func (f *file) MoveTo(name string) error {
	moved := false
	err := f.disk.do(step{kind: move, file: f.n, from: f.name, name: filepath.Base(name)}, func() error {
		moved = true
		return f.File.MoveTo(name)
	})
	if !moved {
		f.File.Discard() // the error of the step is the reason
	}
	return err
}

func (f *file) Discard() error {
	return f.disk.do(step{kind: remove, name: f.name}, f.File.Discard)
}

// A Loss says what a crash loses.
type Loss int

const (
	// Nothing is lost when the process is killed; a write that was under way may be
	// done in part.
	Nothing Loss = iota
	// Contents that were not synced are lost in a power cut, wholly.
	Contents
	// Last are the last changes of names, and some of the contents that were not synced.
	Last
	// Any change of a name is lost or kept by chance, as are contents that were not
	// synced.
	Any
	// Everything that was not synced is lost, and all names.
	Everything

	Losses // the number of losses
)

func (l Loss) String() string {
	return [...]string{"a killed process", "contents lost", "the last changes lost", "any changes lost", "everything lost"}[l]
}

// After returns the files that are there after a crash just before a step, by name. What
// is lost by chance is up to rng.
func (d *Disk) After(steps int, loss Loss, rng *rand.Rand) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make(map[string]int)
	for _, s := range keep(d.steps[:steps], loss, rng) {
		switch s.kind {
		case move:
			if names[s.from] == s.file {
				delete(names, s.from)
			}
			names[s.name] = s.file
		case create:
			names[s.name] = s.file
		case remove:
			delete(names, s.name)
		}
	}
	list := d.steps[:steps]
	if loss == Nothing && steps < len(d.steps) && d.steps[steps].kind == write {
		half := d.steps[steps]
		half.data = half.data[:rng.IntN(len(half.data)+1)]
		list = append(list[:steps:steps], half)
	}
	files := make(map[string][]byte)
	for name, n := range names {
		files[name] = content(list, n, loss, rng)
	}
	return files
}

// keep returns the steps that change names and are not lost.
func keep(steps []step, loss Loss, rng *rand.Rand) (kept []step) {
	for _, s := range steps {
		if s.kind == create || s.kind == move || s.kind == remove {
			kept = append(kept, s)
		}
	}
	switch loss {
	case Last:
		return kept[:len(kept)-rng.IntN(min(len(kept), 8)+1)]
	case Any:
		from := rng.IntN(len(kept) + 1) // older changes have reached the disk
		some := kept[:from:from]
		for _, s := range kept[from:] {
			if rng.IntN(2) == 0 {
				some = append(some, s)
			}
		}
		return some
	case Everything:
		return nil
	}
	return kept
}

// content returns what is left of a file.
func content(steps []step, n int, loss Loss, rng *rand.Rand) []byte {
	var list []step
	synced := 0 // writes that were synced
	for _, s := range steps {
		switch {
		case s.file == n && s.kind == write:
			list = append(list, s)
		case s.file == n && s.kind == fsync:
			synced = len(list)
		}
	}
	data := []byte{}
	apply := func(s step) {
		if end := int(s.off) + len(s.data); end > len(data) {
			data = append(data, make([]byte, end-len(data))...)
		}
		copy(data[s.off:], s.data)
	}
	for i, s := range list {
		switch {
		case i < synced || loss == Nothing:
		case loss == Contents:
			return data
		default: // a power cut in the middle of this write
			cut := rng.IntN(2*len(s.data) + 1)
			if cut >= len(s.data) {
				break // not of this one
			}
			s.data = append([]byte(nil), s.data...)
			clear(s.data[cut:]) // the file may have its size, but not yet all blocks
			if rng.IntN(2) == 0 {
				s.data = s.data[:cut]
			}
			apply(s)
			return data
		}
		apply(s)
	}
	return data
}
