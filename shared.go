package repertoire

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// standing is what a mirror knows of its store.
type standing struct {
	path string // of the local files, which begin so

	mu   sync.Mutex
	now  Shared
	lost bool        // the watcher cannot hear the engine
	last store.State // of the copy
}

// heardSuffix ends the name of the empty file whose time is Shared.Heard of an earlier process.
const heardSuffix = ".heard"

func (k *standing) heardBefore() time.Time {
	info, err := os.Stat(k.path + heardSuffix)
	if err != nil { // an older time than necessary
		info, err = os.Stat(snapshot.ManifestPath(k.path))
	}
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// keepHeard keeps Shared.Heard for later processes. It keeps the folder from being removed as
// unused, too. An error only makes an answer look older than it is.
func (k *standing) keepHeard(at time.Time) {
	name := k.path + heardSuffix
	if os.Chtimes(name, at, at) == nil || os.WriteFile(name, nil, 0o600) == nil {
		os.Chtimes(name, at, at)
		os.Chtimes(filepath.Dir(name), at, at)
	}
}

func (k *standing) shared() Shared {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// asOf returns what search.Ranking.AsOf is now.
func (k *standing) asOf() time.Time {
	now := k.shared()
	if now.State == Current || now.Err == nil && time.Since(now.Heard).Abs() < young {
		return time.Time{}
	}
	return now.Heard
}

// young is how old the copy of another process may be that answers before the store is asked,
// and needs no word about its age.
const young = 15 * time.Second

// set sets the state. The caller holds the lock.
func (k *standing) set(state string, err error) {
	if k.now.Err = err; k.now.State != state {
		k.now.State, k.now.Since = state, time.Now()
	}
}

// begin notes what the copy of an earlier process is.
func (k *standing) begin(s *snapshot.Set) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = store.State{Catalog: s.Catalog, Generation: s.Generation, Found: s.Found}
	k.set(Stale, nil)
}

// copied notes that the copy is as the store is, and reports whether it was another one
// before.
func (k *standing) copied(to store.State) (changed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.last
	k.last, k.now.Heard = to, time.Now()
	if !k.lost {
		k.set(Current, nil)
	}
	k.keepHeard(k.now.Heard)
	return before != to
}

// failed notes that the store could not be asked.
func (k *standing) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == (store.State{}) {
		k.set(Starting, err)
	} else {
		k.set(Stale, err)
	}
}

// disconnected notes that the watcher cannot hear the store any more. Until now it would have
// heard of a change.
func (k *standing) disconnected(err error) {
	k.mu.Lock()
	if !k.lost && k.now.State == Current {
		k.now.Heard = time.Now()
		k.keepHeard(k.now.Heard)
	}
	k.lost = true
	k.mu.Unlock()
	k.failed(err)
}

// connected notes that the store can be reached.
func (k *standing) connected() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = false
}

func (k *standing) isLost() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}
