package repertoire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	"github.com/repertoire-skills/repertoire/store"
)

// How a catalog stands to its Config.Store, see Shared.
const (
	Starting = "starting" // it has no copy yet, and cannot answer
	Current  = "current"  // it answers as the store is
	Stale    = "stale"    // it answers from its copy, because the store cannot be asked
)

// Shared says how a catalog stands to its Config.Store.
type Shared struct {
	State string    // Starting, Current or Stale; "" if the catalog has no Store
	Since time.Time // of State
	Heard time.Time // when the copy was last known to be as the store is; the zero time means never
	Err   error     // why State is not Current; nil if it is, and before the store was first asked
}

// Shared returns how the catalog stands to its Config.Store.
func (c *Catalog) Shared() Shared {
	if c.node == nil {
		return Shared{}
	}
	return c.node.shared()
}

// An engine is what Config.Store must be.
type engine interface {
	store.Store
	store.Files
	store.Watcher
}

// A node is what a catalog over Config.Store knows of it.
type node struct {
	engine
	copy  *index.Mirror
	name  string // of the catalog in the engine; "" means unknown
	path  string // of the local files, which begin so
	files *shared.Cache

	mu   sync.Mutex
	now  Shared
	lost bool          // the watcher cannot hear the engine
	last store.State   // of the copy
	due  chan struct{} // holds a value if there may be something to pull
	tidy chan struct{} // holds a value if there may be something to compile or calibrate
}

// newNode returns the node of cfg; nil means that the catalog has no store.
func newNode(cfg *Config) (*node, error) {
	switch {
	case cfg.Store == nil && cfg.StoreURL != "":
		return nil, fmt.Errorf("the configuration names the shared catalog %s: open its engine as Config.Store, or read the configuration with the store \"none\"", words.Address(cfg.StoreURL))
	case cfg.Store == nil:
		return nil, nil
	}
	e, ok := cfg.Store.(engine)
	switch {
	case !ok:
		return nil, errors.New("Config.Store is no engine for several machines: it lacks store.Files or store.Watcher")
	case len(cfg.Sources) > 0 || cfg.Discover != nil:
		return nil, errors.New("a catalog with Config.Store has no Sources of its own: skills come from the store")
	}
	n := &node{engine: e, path: cfg.DB, due: make(chan struct{}, 1), tidy: make(chan struct{}, 1)}
	if named, ok := cfg.Store.(interface{ Name() string }); ok {
		n.name = named.Name()
	}
	var err error
	switch {
	case n.path != "":
		n.path, err = filepath.Abs(n.path)
	case n.name != "":
		n.path, err = config.SharedDB(n.name)
	default:
		err = errors.New("Config.DB is needed: the store has no name of its own")
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(n.path); err == nil {
		return nil, &os.PathError{Op: "keeping a copy of the shared catalog beside", Path: n.path, Err: errors.New("it is the catalog of folders; name another file")}
	}
	n.files = shared.NewCache(n.path+config.FilesSuffix, 0)
	n.now = Shared{State: Starting, Since: time.Now(), Heard: n.heardBefore()}
	return n, nil
}

// heardSuffix ends the name of the empty file whose time is Shared.Heard of an earlier process.
const heardSuffix = ".heard"

func (n *node) heardBefore() time.Time {
	info, err := os.Stat(n.path + heardSuffix)
	if err != nil { // an older time than necessary
		info, err = os.Stat(snapshot.ManifestPath(n.path))
	}
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// keepHeard keeps Shared.Heard for later processes. It keeps the folder from being removed as
// unused, too. An error only makes an answer look older than it is.
func (n *node) keepHeard(at time.Time) {
	name := n.path + heardSuffix
	if os.Chtimes(name, at, at) == nil || os.WriteFile(name, nil, 0o600) == nil {
		os.Chtimes(name, at, at)
		os.Chtimes(filepath.Dir(name), at, at)
	}
}

func (n *node) shared() Shared {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// asOf returns what search.Ranking.AsOf is now.
func (n *node) asOf() time.Time {
	now := n.shared()
	if now.State == Current || now.Err == nil && time.Since(now.Heard).Abs() < young {
		return time.Time{}
	}
	return now.Heard
}

// young is how old the copy of another process may be that answers before the store is asked,
// and needs no word about its age.
const young = 15 * time.Second

// answers reports whether there is a copy that can answer without the store.
func (n *node) answers() bool {
	s, err := n.copy.Copy()
	return err == nil && s.Compiled
}

// set sets the state. The caller holds the lock.
func (n *node) set(state string, err error) {
	if n.now.Err = err; n.now.State != state {
		n.now.State, n.now.Since = state, time.Now()
	}
}

// begin notes what the copy of an earlier process is; nil means that there is none.
func (n *node) begin(s *snapshot.Set) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s != nil {
		n.last = store.State{Catalog: s.Catalog, Generation: s.Generation, Found: s.Found}
		n.set(Stale, nil)
	}
}

// copied notes that the copy is as the store is, and reports whether it was another one
// before.
func (n *node) copied(to store.State) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.last
	n.last, n.now.Heard = to, time.Now()
	if !n.lost {
		n.set(Current, nil)
	}
	n.keepHeard(n.now.Heard)
	return before != to
}

// failed notes that the store could not be asked.
func (n *node) failed(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == (store.State{}) {
		n.set(Starting, err)
	} else {
		n.set(Stale, err)
	}
}

// lose notes that the watcher cannot hear the store any more. Until now it would have heard
// of a change.
func (n *node) lose(err error) {
	n.mu.Lock()
	if !n.lost && n.now.State == Current {
		n.now.Heard = time.Now()
		n.keepHeard(n.now.Heard)
	}
	n.lost = true
	n.mu.Unlock()
	n.failed(err)
}

// hear notes that the store can be reached, and that there may be something to pull.
func (n *node) hear() {
	n.mu.Lock()
	n.lost = false
	n.mu.Unlock()
	signal(n.due)
}

func (n *node) isLost() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost
}

// signal puts a value into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// patience is how long a question waits for the store, where an answer can do without it, or
// for a rescan that may find the skill that it is about.
const patience = 2 * time.Second

// ask calls f, unless it is known that the engine cannot be asked. What the engine does not
// know is no error of its own.
func ask[T any](ctx context.Context, n *node, f func(context.Context) (T, error)) (v T, err error) {
	if now := n.shared(); now.State != Current && now.Err != nil {
		return v, unreachable(now.Err)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err = f(bounded)
	switch {
	case err == nil || ctx.Err() != nil:
		return v, err
	case errors.Is(err, os.ErrNotExist), errors.Is(err, store.ErrDamaged), errors.Is(err, store.ErrClosed):
		return v, err
	}
	return v, unreachable(err)
}

// unreachable returns an error that wraps store.ErrUnreachable.
func unreachable(err error) error {
	if errors.Is(err, store.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnreachable, err)
}

// A near is the read half of an engine that fails at once when the engine is lost.
type near struct {
	store.Reader
	node *node
}

// Skill implements store.Reader.
func (r near) Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error) {
	s, err = ask(ctx, r.node, func(ctx context.Context) (s *skill.Skill, err error) {
		s, ok, err = r.Reader.Skill(ctx, row)
		return s, err
	})
	return s, ok && err == nil, err
}

// SkillFiles implements store.Files.
func (r near) SkillFiles(ctx context.Context, label, dir string) ([]skill.File, error) {
	return ask(ctx, r.node, func(ctx context.Context) ([]skill.File, error) { return r.node.engine.SkillFiles(ctx, label, dir) })
}

// Content implements store.Files.
func (r near) Content(ctx context.Context, sha256 string) ([]byte, error) {
	return ask(ctx, r.node, func(ctx context.Context) ([]byte, error) { return r.node.engine.Content(ctx, sha256) })
}

// openShared opens the local copy of Config.Store.
func (c *Catalog) openShared() *state {
	n := c.node
	n.copy = index.NewMirror(n.engine, c.embedder, &index.Options{Path: n.path, Fallback: c.fallback})
	o := c.searchOptions()
	o.AsOf = n.asOf
	r := near{n.engine, n}
	s := &state{path: n.path, store: n.engine, mirror: n.copy, search: search.New(n.copy, r, c.embedder, o), policy: c.cfg.Policy}
	s.reader.open = func(info source.Info, current func([]skill.File) bool) (source.Source, error) {
		info.MaxFile = c.cfg.MaxFile
		return shared.New(r, info, &shared.Options{Cache: n.files, Current: current})
	}
	s.provider = contextprovider.New(s.search, s.reader)
	s.search.SetPolicy(s.policy, nil)
	return s
}

// pull brings the copy in step with the store.
func (c *Catalog) pull(ctx context.Context) (changed bool, err error) {
	p, err := c.node.copy.Pull(ctx)
	if p.Base != nil {
		c.log.Warn("compiling all skills, because the compiled base cannot be downloaded", "error", p.Base)
	}
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			c.node.failed(unreachable(err))
		}
		return false, err
	}
	return c.node.copied(p.State), nil
}
