package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// clients is how many clients ask at the same time.
const clients = 8

// openLeg is a leg with its open catalogs and its figures.
type openLeg struct {
	leg
	catalog catalog
	text    catalog // the same, without a vector of the prompt
	speed   LegSpeed

	took, textTook       []float64 // of blocks, in milliseconds
	medians, perS, ratio []float64 // by round
	mallocs, bytes       []float64 // by round, of one block
	late                 []float64 // by round, share of the blocks
}

func closeAll(legs []*openLeg) {
	for _, l := range legs {
		for _, c := range []catalog{l.catalog, l.text} {
			if c != nil {
				c.Close() // ignore the error: nothing was written, or the files are removed anyway
			}
		}
	}
}

// configOf returns the settings of a catalog of the skills under root, with the same source as
// the command has. Nil functions do nothing.
func configOf(root, db string, configure []func(*repertoire.Config)) (repertoire.Config, error) {
	src, err := rootSource(root)
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: db, Schedule: repertoire.Never,
		Deadline:   10 * time.Second, // a busy machine must not change what is measured
		Contextual: embed.None{},
	}
	for _, f := range configure {
		if f != nil {
			f(&cfg)
		}
	}
	return cfg, err
}

func deferred(c *repertoire.Config)       { c.Defer = true }
func withoutVectors(c *repertoire.Config) { c.Embedder = embed.None{} }

// byText makes text rank alone: the catalog keeps its vectors, but the embedder fails,
// so that the prompt has none.
func byText(c *repertoire.Config) { c.Embedder = failing{} }

// failing is the built-in embedder, but always fails to embed.
type failing struct{}

func (failing) Model() string {
	e, err := static.Default()
	if err != nil {
		return ""
	}
	return e.Model()
}

func (failing) Embed(context.Context, embed.Kind, []string) ([]embed.Vector, error) {
	return nil, errors.New("not asked")
}

// rootSource returns a folder as the source that "skills --root" makes of it.
func rootSource(root string) (*source.FS, error) {
	places, err := source.Discover(source.Search{Roots: []string{root}, NoBundled: true})
	if err != nil {
		return nil, err
	}
	if len(places) != 1 {
		return nil, fmt.Errorf("%s is no folder", root)
	}
	return places[0].Open(nil)
}

// open opens the catalog of each of the legs, and asks all prompts once,
// because the first answers read files that later ones find in memory. It also chooses
// the two prompts with which processes are started.
func (m *meter) open(ctx context.Context, list []leg) (legs []*openLeg, err error) {
	m.finding, m.empty = m.prompts[0], m.prompts[0]
	for _, l := range list {
		o := &openLeg{leg: l, speed: LegSpeed{Leg: l.Name}}
		legs = append(legs, o)
		if o.catalog, err = l.open(ctx, m.root(), m.db(l.kind()), deferred); err != nil {
			return legs, err
		}
		byWords := leg{Name: l.Name, Compiled: l.Compiled}
		if o.text, err = byWords.open(ctx, m.root(), m.db(l.kind()), byText, deferred); err != nil {
			return legs, err
		}
		for _, p := range m.prompts {
			b, err := o.catalog.Block(ctx, p, repertoire.Budget{Command: "skills", Offer: contextprovider.Relevant}, nil)
			if err != nil {
				return legs, err
			}
			if !l.Encoder || search.Usual(b.Mode) { // else the encoder was late, or cannot read this script
				o.speed.Mode = b.Mode
			}
			if len(b.Skills) > 0 {
				m.finding = p
			} else if b.Kind == "" { // ranked, and found to need no skill
				m.empty = p
			}
		}
	}
	return legs, nil
}

// resident measures the legs in turn, round by round, so that other work on the machine
// slows all of them down alike.
func (m *meter) resident(ctx context.Context, legs []*openLeg) error {
	for range m.rounds {
		for _, l := range legs {
			if err := m.round(ctx, l); err != nil {
				return err
			}
		}
	}
	for _, l := range legs {
		slices.Sort(l.took)
		slices.Sort(l.textTook)
		s := &l.speed
		s.P50MS, s.P99MS = quantile(l.took, .5), quantile(l.took, .99)
		s.TextP50MS, s.TextP99MS = quantile(l.textTook, .5), quantile(l.textTook, .99)
		s.PerS, s.Concurrent = median(l.perS), median(l.ratio)
		s.Allocs, s.AllocBytes, s.Late = median(l.mallocs), median(l.bytes), median(l.late)
		ratios := make([]float64, m.rounds)
		for r := range ratios {
			ratios[r] = legs[0].medians[r] / max(l.medians[r], 1e-9)
		}
		s.Faster = median(ratios)
	}
	return nil
}

// round measures one leg with one client, with several clients at once, and by text
// alone.
func (m *meter) round(ctx context.Context, l *openLeg) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m.late.Store(0)
	alone, perS, err := m.ask(ctx, l.catalog, 1, m.while)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	late := float64(m.late.Load())
	_, together, err := m.ask(ctx, l.catalog, clients, m.while)
	if err != nil {
		return err
	}
	text, _, err := m.ask(ctx, l.text, 1, m.while/2)
	if err != nil {
		return err
	}
	n := float64(len(alone))
	l.took, l.textTook = append(l.took, alone...), append(l.textTook, text...)
	l.medians = append(l.medians, median(alone))
	l.perS, l.ratio = append(l.perS, perS), append(l.ratio, together/perS)
	l.mallocs = append(l.mallocs, float64(after.Mallocs-before.Mallocs)/n)
	l.bytes = append(l.bytes, float64(after.TotalAlloc-before.TotalAlloc)/n)
	l.late = append(l.late, late/n)
	return nil
}

// ask lets clients ask all prompts in turn, for a while and at least once. It returns
// how long each block took, in milliseconds, and the number of blocks per second.
func (m *meter) ask(ctx context.Context, c catalog, clients int, while time.Duration) (took []float64, perS float64, err error) {
	var next, end atomic.Int64
	end.Store(math.MaxInt64)
	lists, errs := make([][]float64, clients), make([]error, clients)
	start := time.Now()
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < end.Load() && errs[n] == nil; i = next.Add(1) - 1 {
				at := int(i) % len(m.prompts)
				// Stop only after the last prompt: all prompts must count equally.
				if at == 0 && i > 0 && time.Since(start) >= while {
					end.Store(i)
					return
				}
				ms, err := timed(func() error {
					b, err := c.Block(ctx, m.prompts[at], repertoire.Budget{Command: "skills", Offer: contextprovider.Relevant}, nil)
					if strings.HasSuffix(b.Mode, "encoder late") {
						m.late.Add(1)
					}
					return err
				})
				lists[n], errs[n] = append(lists[n], ms), errors.Join(err, ctx.Err())
			}
		})
	}
	wg.Wait()
	took = slices.Concat(lists...)
	return took, float64(len(took)) / time.Since(start).Seconds(), errors.Join(errs...)
}

// repeat measures once in each round and returns the median.
func (m *meter) repeat(f func() (float64, error)) (float64, error) {
	list := make([]float64, m.rounds)
	for i := range list {
		var err error
		if list[i], err = f(); err != nil {
			return 0, err
		}
	}
	return median(list), nil
}

// timed returns how long f takes, in milliseconds.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return milliseconds(time.Since(start)), err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(list []float64) float64 { return quantile(slices.Sorted(slices.Values(list)), .5) }

// A catalog is what legs are measured with.
type catalog interface {
	Block(ctx context.Context, prompt string, b repertoire.Budget, a *repertoire.Agent) (repertoire.Block, error)
	Search(ctx context.Context, q repertoire.Query) (repertoire.Answer, error)
	Rescan(ctx context.Context, found func()) ([]repertoire.Report, error)
	Indexed(ctx context.Context) (bool, error)
	Close() error
}

// open opens the catalog of the skills under root for the leg. Nil functions do
// nothing.
func (l leg) open(ctx context.Context, root, db string, configure ...func(*repertoire.Config)) (catalog, error) {
	cfg, err := configOf(root, db, configure)
	if err == nil && l.Encoder {
		cfg.Contextual, err = contextual.Default()
	}
	if err != nil {
		return nil, err
	}
	if l.Compiled {
		c, err := repertoire.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return compiled{c, c.Owner()}, nil
	}
	return openFTS5(ctx, &cfg)
}

// compiled is a catalog as programs open it.
type compiled struct {
	*repertoire.Catalog
	repertoire.Owner
}

// An fts5 is a catalog that ranks text by SQLite, also when a compiled file could.
type fts5 struct {
	*contextprovider.Provider
	search  *search.Searcher
	store   store.Store
	index   *index.Index
	scanner *index.Scanner
}

func openFTS5(ctx context.Context, cfg *repertoire.Config) (*fts5, error) {
	embedder := cfg.Embedder
	if _, none := embedder.(embed.None); none {
		embedder = nil
	} else if embedder == nil {
		var err error
		if embedder, err = static.Default(); err != nil {
			return nil, err
		}
	}
	st, err := sqlite.Open(ctx, cfg.DB, nil)
	if err != nil {
		return nil, err
	}
	x := index.New(st, embedder, &index.Options{Path: cfg.DB, Inline: true, FTS5: true})
	s := search.New(x, st, embedder, &search.Options{Inline: true})
	return &fts5{contextprovider.New(s, nil), s, st, x, index.NewScanner(x, cfg.Sources)}, nil
}

func (c *fts5) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	return c.search.Search(ctx, q)
}

func (c *fts5) Rescan(ctx context.Context, found func()) ([]index.Report, error) {
	return c.scanner.Rescan(ctx, found, func(ctx context.Context) error {
		return errors.Join(c.index.Embed(ctx, nil), c.index.Publish(ctx, false))
	})
}

func (c *fts5) Indexed(ctx context.Context) (bool, error) { return c.index.Embedded(ctx) }

func (c *fts5) Close() error {
	return errors.Join(c.index.Close(), c.store.Close())
}
