// Package index is the write side of a catalog: it keeps the store in step with
// the sources, embeds what lacks a vector, and publishes snapshots of it.
//
// The one rule: only an Index writes to the store or publishes, and it never
// ranks. Readers get the snapshots of the current generation from Current; where
// nothing is published, Current makes them in memory.
package index

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// An Index keeps one catalog up to date. It may be used from several goroutines;
// it starts none that outlives a call.
type Index struct {
	store    store.Store
	embedder embed.Embedder      // nil when there is none
	dir      *snapshot.Directory // nil when snapshots stay in memory
	opts     Options

	// current is the set that searches read. A set is never changed, only replaced.
	current atomic.Pointer[snapshot.Set]
	load    sync.Mutex // held while a new set is made
	closed  bool       // guarded by load

	sealed     atomic.Pointer[seal] // the last one that was found or made
	publishing sync.Mutex           // held while files are written

	calibrating sync.Mutex // held by Calibrate
	failure     error      // of the last Calibrate that failed; guarded by calibrating
	failedAt    time.Time  // when that was; guarded by calibrating

	covered   atomic.Pointer[coverage] // the last count for the embedder's model
	embedding chan struct{}            // holds one element while Embed runs
	dropped   bool                     // the vectors of other models are removed; guarded by embedding
}

// Options of New; nil means all defaults.
type Options struct {
	// Path is where the catalog is: snapshots are files beside it. "" means that
	// they stay in memory, and each process makes its own.
	Path string
	// Shared means that other processes write the store, which is far away, and this Index
	// does not: Pull brings its state here. Current then asks no store, unless there is no
	// state yet, and what writes (Sync, Embed, Publish) must not be called.
	Shared bool
	// Inline means that the embedder is fast: Sync embeds each skill that it reads,
	// so that little is left to Embed.
	Inline bool
	// Fallback is the embedder that was in use before; nil means none. Its vectors
	// rank while fewer than 90 % of the texts have a vector of the new embedder,
	// provided that at least 90 % have one of the fallback.
	Fallback embed.Embedder
	// FTS5 leaves text ranking to the engine of the store, so that nothing is
	// compiled. It exists to compare the two ways.
	FTS5 bool
	// Weights are the weights of the fields of a skill in its text score; nil
	// means DefaultWeights.
	Weights *skill.Weights
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Disk is where files are written; nil means atomicfile.OS.
	Disk atomicfile.Disk
}

// DefaultWeights returns the weights of the fields that measured best: the mean
// Hit@1 over the four dev sets was .610, against .593 with 6, 4, 4 and 1. SQLite
// normalises by the length of all fields together, so a lighter body also makes
// long skills pay less for their length.
func DefaultWeights() skill.Weights {
	return skill.Weights{Name: 4, Description: 2, Tags: 2, Body: .3}
}

// New returns an index over a store. The embedder may be nil; then ranking is by
// text alone.
func New(st store.Store, embedder embed.Embedder, opts *Options) *Index {
	x := &Index{store: st, embedder: embedder, embedding: make(chan struct{}, 1)}
	if opts != nil {
		x.opts = *opts
	}
	if x.opts.Weights == nil {
		w := DefaultWeights()
		x.opts.Weights = &w
	}
	if x.opts.Now == nil {
		x.opts.Now = time.Now
	}
	x.opts.Disk = cmp.Or[atomicfile.Disk](x.opts.Disk, atomicfile.OS{})
	if x.opts.Path != "" {
		x.dir = snapshot.NewDirectory(x.opts.Path, x.key(), *x.opts.Weights)
		x.dir.Disk = x.opts.Disk
	}
	return x
}

// key names the embedders and weights of the index: indexes of one catalog that
// differ in these publish separate snapshots.
func (x *Index) key() string {
	h := sha256.New()
	if x.embedder != nil {
		fmt.Fprintf(h, "%q", x.embedder.Model())
		if x.opts.Fallback != nil {
			fmt.Fprintf(h, "%q", x.opts.Fallback.Model())
		}
	}
	fmt.Fprintf(h, "%v", *x.opts.Weights)
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

// Current returns the set of the current generation. If that is published, a look at a
// few files shows that nothing has changed; otherwise Current asks the store. The
// index closes the set when another one replaces it; a reader that finds its set
// closed calls Current again.
func (x *Index) Current(ctx context.Context) (*snapshot.Set, error) {
	if x.opts.Shared {
		return x.pulled(ctx)
	}
	if s := x.current.Load(); x.isCurrent(s) {
		return s, nil
	}
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return nil, store.ErrClosed
	}
	old := x.current.Load()
	if x.isCurrent(old) {
		return old, nil
	}
	s, err := x.openPublished(ctx, old)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = x.assemble(ctx, old); err != nil {
			return nil, err
		}
	}
	x.replace(s)
	return s, nil
}

// isCurrent reports whether s is the published set, and the store still holds its
// generation. It asks no store.
func (x *Index) isCurrent(s *snapshot.Set) bool {
	return s != nil && x.dir != nil && x.dir.IsCurrent(s) && x.isSealed(seal{s.Catalog, s.Generation, x.store.Look()})
}

// openPublished returns the published set; nil means that this index cannot use it, or
// that it is of another generation than the store.
func (x *Index) openPublished(ctx context.Context, old *snapshot.Set) (*snapshot.Set, error) {
	if x.dir == nil {
		return nil, nil
	}
	s, err := x.dir.Open(old)
	if err != nil || s == nil {
		return nil, err
	}
	ok, err := x.holds(ctx, s.Catalog, s.Generation)
	if !ok || !x.canEmbedFor(s.Model()) {
		s.Close(old) // it can only fail to give memory back
		return nil, err
	}
	if x.embedder != nil && x.covered.Load() == nil {
		x.covered.Store(&coverage{s.Generation, s.Texts, s.Embedded})
	}
	s.Compiled = !x.opts.FTS5
	return s, nil
}

// canEmbedFor reports whether this index has the embedder of the model, or the model
// is "", which means that there are no vectors.
func (x *Index) canEmbedFor(model string) bool {
	own := x.embedder != nil && x.embedder.Model() == model
	return model == "" || own || x.opts.Fallback != nil && x.opts.Fallback.Model() == model
}

// Published reports whether published files alone can answer for these sources, all
// of which must have been walked. It also makes the published set the current one.
func (x *Index) Published(ctx context.Context, sources []Source) bool {
	if x.opts.Shared {
		s, err := x.local()
		return err == nil && s.Compiled
	}
	x.load.Lock()
	defer x.load.Unlock()
	if x.closed {
		return false
	}
	s, err := x.openPublished(ctx, x.current.Load())
	if err != nil || s == nil {
		return false
	}
	x.replace(s)
	return isOf(s, sources)
}

// isOf reports whether a set was made from exactly these sources, and each of them
// has been walked or is away.
func isOf(s *snapshot.Set, sources []Source) bool {
	known := make(map[Source]bool)
	for _, src := range s.Sources {
		known[Source{Label: src.Label, Root: src.Root, Priority: src.Priority}] = src.Settled()
	}
	for _, src := range sources {
		if !known[src] {
			return false
		}
	}
	return len(known) == len(sources)
}

// replace makes s the current set and closes the one before.
func (x *Index) replace(s *snapshot.Set) {
	if x.dir != nil && s != x.current.Load() {
		s.Calibration = x.dir.Calibration(s.Catalog)
	}
	if old := x.current.Swap(s); old != nil && old != s {
		old.Close(s) // it can only fail to give memory back
	}
}

// Discard removes the files of a damaged set. If the current set shares a file with
// it, Discard closes the current set too.
func (x *Index) Discard(s *snapshot.Set) {
	x.load.Lock()
	defer x.load.Unlock()
	if now := x.current.Load(); now != nil && now.Shares(s) {
		x.current.Store(nil)
		now.Close(nil) // the damage is known
	}
	s.Close(nil) // the damage is known
	if x.dir != nil {
		x.dir.Discard(s)
	}
}

// Close closes the files that searches read. The store stays open, but what it holds is
// written out, so that later processes need not open it.
func (x *Index) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	x.settle(ctx)
	x.load.Lock()
	defer x.load.Unlock()
	x.closed = true
	if s := x.current.Swap(nil); s != nil {
		return s.Close(nil)
	}
	return nil
}

// Indexed reports whether every source with one of these labels has been walked
// completely at least once, or is away. Then waiting for a walk finds no more skills.
func (x *Index) Indexed(ctx context.Context, labels []string) (bool, error) {
	settled, err := x.settled(ctx)
	return err == nil && !slices.ContainsFunc(labels, func(label string) bool { return !settled[label] }), err
}

// Usable reports whether any of the sources with these labels has been walked completely,
// or is away: then answers are right about a part of the skills.
func (x *Index) Usable(ctx context.Context, labels []string) (bool, error) {
	settled, err := x.settled(ctx)
	return err == nil && slices.ContainsFunc(labels, func(label string) bool { return settled[label] }), err
}

// settled returns which sources have been walked or are away, by label.
func (x *Index) settled(ctx context.Context) (map[string]bool, error) {
	sources, err := x.sources(ctx)
	settled := make(map[string]bool)
	for _, src := range sources {
		settled[src.Label] = src.Settled()
	}
	return settled, err
}

// sources returns the sources of the catalog, also without the store if that is shared.
func (x *Index) sources(ctx context.Context) ([]store.Source, error) {
	if !x.opts.Shared {
		return x.store.Sources(ctx)
	}
	s, err := x.pulled(ctx)
	if err != nil {
		return nil, err
	}
	return s.Sources, nil
}

// Problems returns what is wrong with the skills of the catalog, sorted by source
// and path.
func (x *Index) Problems(ctx context.Context) ([]store.Reported, error) {
	return x.store.Problems(ctx)
}
