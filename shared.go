package repertoire

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A connection is what a mirror knows of its store.
type connection struct {
	path string // of the local files, which begin so

	mu   sync.Mutex
	now  Shared
	lost bool        // the watcher cannot hear the engine
	last store.State // of the copy
}

// heardSuffix ends the name of the empty file whose time is Shared.Heard of an earlier process.
const heardSuffix = ".heard"

func (c *connection) heardBefore() time.Time {
	info, err := os.Stat(c.path + heardSuffix)
	if err != nil { // an older time than necessary
		info, err = os.Stat(snapshot.ManifestPath(c.path))
	}
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// keepHeard keeps Shared.Heard for later processes. It keeps the folder from being removed as
// unused, too. An error only makes an answer look older than it is.
func (c *connection) keepHeard(at time.Time) {
	name := c.path + heardSuffix
	if os.Chtimes(name, at, at) == nil || os.WriteFile(name, nil, 0o600) == nil {
		os.Chtimes(name, at, at)
		os.Chtimes(filepath.Dir(name), at, at)
	}
}

func (c *connection) shared() Shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// asOf returns what search.Ranking.AsOf is now.
func (c *connection) asOf() time.Time {
	now := c.shared()
	if now.State == Current || now.Err == nil && time.Since(now.Heard).Abs() < young {
		return time.Time{}
	}
	return now.Heard
}

// young is how old the copy of another process may be that answers before the store is asked,
// and needs no word about its age.
const young = 15 * time.Second

// set sets the state. The caller holds the lock.
func (c *connection) set(state string, err error) {
	if c.now.Err = err; c.now.State != state {
		c.now.State, c.now.Since = state, time.Now()
	}
}

// begin notes what the copy of an earlier process is.
func (c *connection) begin(s *snapshot.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = store.State{Catalog: s.Catalog, Generation: s.Generation, Found: s.Found}
	c.set(Stale, nil)
}

// copied notes that the copy is as the store is, and reports whether it was another one
// before.
func (c *connection) copied(to store.State) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.last
	c.last, c.now.Heard = to, time.Now()
	if !c.lost {
		c.set(Current, nil)
	}
	c.keepHeard(c.now.Heard)
	return before != to
}

// failed notes that the store could not be asked.
func (c *connection) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == (store.State{}) {
		c.set(Starting, err)
	} else {
		c.set(Stale, err)
	}
}

// disconnected notes that the watcher cannot hear the store any more. Until now it would have
// heard of a change.
func (c *connection) disconnected(err error) {
	c.mu.Lock()
	if !c.lost && c.now.State == Current {
		c.now.Heard = time.Now()
		c.keepHeard(c.now.Heard)
	}
	c.lost = true
	c.mu.Unlock()
	c.failed(err)
}

// connected notes that the store can be reached.
func (c *connection) connected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = false
}

func (c *connection) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}
