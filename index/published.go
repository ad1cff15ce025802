package index

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A Publisher compiles the store of this machine into snapshots, and knows which of them
// are current.
type Publisher struct {
	compiler
	currentSet
	seals       seals
	publishing  sync.Mutex // held while files are written
	calibrating calibrating
}

func newPublisher(x compiler) *Publisher {
	return &Publisher{
		compiler: x, currentSet: currentSet{dir: x.dir},
		seals: seals{catalog: x.catalog}, calibrating: calibrating{catalog: x.catalog},
	}
}

// Current returns the set of the current generation. If that is published, a look at a
// few files shows that nothing has changed; otherwise Current asks the store. The
// publisher closes the set when another one replaces it; a reader that finds its set
// closed calls Current again.
func (p *Publisher) Current(ctx context.Context) (*snapshot.Set, error) {
	if s := p.set.Load(); p.isCurrent(s) {
		return s, nil
	}
	p.load.Lock()
	defer p.load.Unlock()
	if p.closed {
		return nil, store.ErrClosed
	}
	old := p.set.Load()
	if p.isCurrent(old) {
		return old, nil
	}
	s, err := p.openPublished(ctx, old)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = p.assemble(ctx, old); err != nil {
			return nil, err
		}
	}
	p.replace(s)
	return s, nil
}

// isCurrent reports whether s is the published set, and the store still holds its
// generation. It asks no store.
func (p *Publisher) isCurrent(s *snapshot.Set) bool {
	return s != nil && p.dir != nil && p.dir.IsCurrent(s) && p.seals.has(seal{s.Catalog, s.Generation, p.store.Look()})
}

// openPublished returns the published set; nil means that this catalog cannot use it, or
// that it is of another generation than the store.
func (p *Publisher) openPublished(ctx context.Context, old *snapshot.Set) (*snapshot.Set, error) {
	if p.dir == nil {
		return nil, nil
	}
	s, err := p.dir.Open(old)
	if err != nil || s == nil {
		return nil, err
	}
	ok, err := p.seals.holds(ctx, s.Catalog, s.Generation)
	if !ok || !p.canRankBy(s.Model()) {
		s.Close(old) // it can only fail to give memory back
		return nil, err
	}
	p.counts.learn(s)
	s.Compiled = !p.opts.FTS5
	return s, nil
}

// Published reports whether published files alone can answer for these sources, all
// of which must have been walked. It also makes the published set the current one.
func (p *Publisher) Published(ctx context.Context, sources []store.Source) bool {
	p.load.Lock()
	defer p.load.Unlock()
	if p.closed {
		return false
	}
	s, err := p.openPublished(ctx, p.set.Load())
	if err != nil || s == nil {
		return false
	}
	p.replace(s)
	return isOf(s, sources)
}

// isOf reports whether a set was made from exactly these sources, and each of them
// has been walked or is away.
func isOf(s *snapshot.Set, sources []store.Source) bool {
	known := make(map[store.Source]bool)
	for _, src := range s.Sources {
		known[store.Source{Label: src.Label, Root: src.Root, Priority: src.Priority, Apart: src.Apart}] = src.Settled()
	}
	for _, src := range sources {
		if !known[src] {
			return false
		}
	}
	return len(known) == len(sources)
}

// Close closes the files that searches read. The store stays open, but what it holds is
// written out, so that later processes need not open it.
func (p *Publisher) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if p.dir != nil {
		p.seals.settle(ctx)
	}
	return p.currentSet.close()
}

// A currentSet holds the set that searches read. A set is never changed, only replaced.
type currentSet struct {
	dir    *snapshot.Directory // nil when snapshots stay in memory
	set    atomic.Pointer[snapshot.Set]
	load   sync.Mutex // held while a new set is made
	closed bool       // guarded by load
}

// replace makes s the current set and closes the one before. The caller holds load.
func (f *currentSet) replace(s *snapshot.Set) {
	if f.dir != nil && s != f.set.Load() {
		s.Calibration = f.dir.Calibration(s.Catalog)
	}
	if old := f.set.Swap(s); old != nil && old != s {
		old.Close(s) // it can only fail to give memory back
	}
}

// Discard removes the files of a damaged set. If the current set shares a file with
// it, Discard closes the current set too.
func (f *currentSet) Discard(s *snapshot.Set) {
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
func (f *currentSet) close() error {
	f.load.Lock()
	defer f.load.Unlock()
	f.closed = true
	if s := f.set.Swap(nil); s != nil {
		return s.Close(nil)
	}
	return nil
}

// A seal says which generation the store holds as long as it looks the same. The last
// seal lies beside the catalog. It is why a process that finds what it needs in published
// snapshots need not open the store, and why a copy of the catalog that somebody puts back
// never passes for the generation of newer snapshots: the copy looks different, so the
// store itself is asked. A seal stays true for ever, so nobody has to remove it.
type seal struct {
	Catalog    string           `json:"catalog"`
	Generation store.Generation `json:"generation"`
	Look       string           `json:"look"` // see store.Store
}

const sealSuffix = ".seal"

// seals knows the last seal of a catalog.
type seals struct {
	*catalog
	last atomic.Pointer[seal] // that was found or made
}

// holds reports whether the store holds this generation of this catalog now. It asks the
// store only if no seal says so.
func (x *seals) holds(ctx context.Context, catalog string, g store.Generation) (bool, error) {
	s := seal{catalog, g, x.store.Look()}
	if x.has(s) {
		return true, nil
	}
	now, err := x.store.State(ctx)
	if err != nil || now.Catalog != catalog || now.Generation != g {
		return false, err
	}
	if x.store.Look() == s.Look {
		x.keep(s)
	}
	return true, nil
}

// has reports whether s is the last seal, in memory or on file.
func (x *seals) has(s seal) bool {
	if last := x.last.Load(); last != nil && *last == s {
		return s.Look != ""
	}
	data, err := regular.ReadFile(x.opts.Path + sealSuffix)
	var found seal
	if err != nil || json.Unmarshal(data, &found) != nil || found != s || s.Look == "" {
		return false
	}
	x.last.Store(&s)
	return true
}

// keep keeps a seal, also for other processes. Without a file they ask the store.
func (x *seals) keep(s seal) {
	if s.Look == "" || x.has(s) {
		return
	}
	x.last.Store(&s)
	data, err := json.Marshal(s)
	if err == nil && regular.Check(x.opts.Path+sealSuffix) == nil {
		atomicfile.Write(x.opts.Disk, x.opts.Path+sealSuffix, data) // an error costs the next process a question
	}
}

// settle seals what Close of the store will leave, if the store was needed.
func (x *seals) settle(ctx context.Context) {
	if now, look, err := x.store.Settle(ctx); err == nil { // else the next process asks the store
		x.keep(seal{now.Catalog, now.Generation, look})
	}
}
