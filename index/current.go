package index

import (
	"sync"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire/snapshot"
)

// A shelf holds the set that searches read. A set is never changed, only replaced.
type shelf struct {
	dir    *snapshot.Directory // nil when snapshots stay in memory
	set    atomic.Pointer[snapshot.Set]
	load   sync.Mutex // held while a new set is made
	closed bool       // guarded by load
}

// replace makes s the current set and closes the one before. The caller holds load.
func (f *shelf) replace(s *snapshot.Set) {
	if f.dir != nil && s != f.set.Load() {
		s.Calibration = f.dir.Calibration(s.Catalog)
	}
	if old := f.set.Swap(s); old != nil && old != s {
		old.Close(s) // it can only fail to give memory back
	}
}

// Discard removes the files of a damaged set. If the current set shares a file with
// it, Discard closes the current set too.
func (f *shelf) Discard(s *snapshot.Set) {
	f.load.Lock()
	defer f.load.Unlock()
	if now := f.set.Load(); now != nil && now.Shares(s) {
		f.set.Store(nil)
		now.Close(nil) // the damage is known
	}
	s.Close(nil) // the damage is known
	if f.dir != nil {
		f.dir.Discard(s)
	}
}

// close closes the files that searches read.
func (f *shelf) close() error {
	f.load.Lock()
	defer f.load.Unlock()
	f.closed = true
	if s := f.set.Swap(nil); s != nil {
		return s.Close(nil)
	}
	return nil
}
