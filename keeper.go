package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// opening is what a catalog was opened with, and when it began to answer.
type opening struct {
	cfg Config // with the sources and the file of the time when Open was called
	log *slog.Logger

	rules atomic.Pointer[rules] // those of cfg, until Owner.SetRules replaces them; cfg never changes

	by config.Embedding // if it is Inline, rescans embed

	missing func(context.Context, skill.Needs) []string // see search.Options; nil if cfg ignores needs

	ready    chan struct{} // closed when questions need not wait for the first scan
	setReady func()        // closes ready, unless it is closed
}

// A keeper keeps what a catalog answers from in step with where its skills come from: local
// for the sources of this machine, mirror for a store that several machines share.
type keeper interface {
	// start brings it in step as Open must, and follows from then on what changes.
	start(ctx context.Context) error
	close() error

	// ask calls f with what answers now, and once more if that turns out to be lost.
	ask(ctx context.Context, f func(*state) error) error
	// awaitScan waits for a scan that may find more skills, as long as patience allows, and
	// reports whether one has ended.
	awaitScan(ctx context.Context) bool
	path() string
	sources() []source.Source
	shared() Shared

	freshen(ctx context.Context, o *FreshenOptions) (Freshness, error)
	upkeep
}

// upkeep is what an Owner can ask of a keeper.
type upkeep interface {
	glance(ctx context.Context, limit time.Duration) Freshness
	rescan(ctx context.Context, found func(), all bool) ([]Report, error)
	embed(ctx context.Context, progress func(done, all int)) error  // with the embedder
	encode(ctx context.Context, progress func(done, all int)) error // with the contextual encoder
	calibrate(ctx context.Context) error
	setRules() // goes by opening.rules from now on
	forget(ctx context.Context, label string) error
	indexed(ctx context.Context) (bool, error)
	usable(ctx context.Context) (bool, error)
	recovered() string
}

// state is what questions ask: what hangs on one store, and on one list of sources.
type state struct {
	path     string // of the catalog file
	store    store.Store
	search   *search.Searcher
	reader   reader // of the files of skills
	provider *contextprovider.Provider
	policy   *Policy
}

func (o *opening) searchOptions() *search.Options {
	return &search.Options{
		Deadline: o.cfg.Deadline, Inline: o.by.Inline, Fallback: o.by.Fallback, Contextual: o.by.Contextual, ContextualDeadline: o.by.Wait, Threshold: o.cfg.Threshold, Disturb: o.cfg.Disturb, Unfit: o.cfg.Unfit,
		Reranker: o.cfg.Reranker, RerankDeadline: o.cfg.RerankDeadline, RerankCandidates: o.cfg.RerankCandidates, Missing: o.missing,
	}
}

// labelsOf returns the labels of sources, the one that wins first.
func labelsOf(sources []source.Source) []string {
	list := slices.Clone(sources)
	slices.SortStableFunc(list, func(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) })
	labels := make([]string, len(list))
	for i, s := range list {
		labels[i] = s.Info().Label
	}
	return labels
}

// FreshenOptions bound what Freshen does. A nil *FreshenOptions is all zero
// values.
type FreshenOptions struct {
	Look time.Duration // most time for a look at the folders of the skills, see Owner.Glance; 0 means 1 s
	Scan time.Duration // most time for a rescan of a catalog that was indexed before; 0 means 1 s
	// Partial answers from the part of the catalog that is there when the time of Scan is over,
	// instead of indexing completely a catalog that does not hold all of its sources yet. If it
	// holds none, 500 skills or more are read before.
	Partial bool
	Rescan  bool   // rescan even if the look shows no change, for the reports
	Found   func() // called for each SKILL.md that is read of a catalog that is indexed for the first time; nil means that nothing is called
}

// A Freshness says how up to date a catalog is.
type Freshness struct {
	// Glance is what a look at the folders showed. Current: ranking is compiled,
	// and nothing that was looked at has changed. All: everything was looked at.
	// Looked: number of folders that were.
	index.Glance
	Reports []Report // of the rescan; nil when there was none
	Cut     bool     // the rescan ran out of time
	Partial bool     // the catalog does not hold all of its sources yet, see FreshenOptions

	// Stale says why the catalog could not be brought up to date, such as a full disk:
	// answers are as of the last scan. nil means that they are up to date, as far as
	// they were looked at.
	Stale error
}

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

// patience is how long a question waits for the store, where an answer can do without it, or
// for a rescan that may find the skill that it is about.
const patience = 2 * time.Second

// unreachable returns an error that wraps store.ErrUnreachable.
func unreachable(err error) error {
	if errors.Is(err, store.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnreachable, err)
}
