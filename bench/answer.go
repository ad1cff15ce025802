package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/source"
)

// clients is how many ask at the same time.
const clients = 8

// openLeg is a leg with its open catalog and what was measured of it.
type openLeg struct {
	Leg
	catalog catalog
	text    catalog // the same, without a vector of the prompt
	speed   LegSpeed

	took, textTook       []float64 // of blocks, in milliseconds
	medians, perS, ratio []float64 // by round
	mallocs, bytes       []float64 // by round, of one block
}

func (l *openLeg) close() {
	for _, c := range []catalog{l.catalog, l.text} {
		if c != nil {
			c.Close() // it was only read, or is removed
		}
	}
}

// openCatalog opens a catalog of the skills under root as the command would, so
// that both take them for the same source. Nil functions do nothing.
func openCatalog(ctx context.Context, root, db string, configure ...func(*repertoire.Config)) (*repertoire.Catalog, error) {
	cfg, err := configOf(root, db, configure)
	if err != nil {
		return nil, err
	}
	return repertoire.Open(ctx, cfg)
}

func configOf(root, db string, configure []func(*repertoire.Config)) (repertoire.Config, error) {
	src, err := rootSource(root)
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: db, Schedule: repertoire.Never,
		Deadline: 10 * time.Second, // a busy machine must not change what is measured
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

// byText makes text rank alone: the vectors stay what they are, and that of the
// prompt is missing.
func byText(c *repertoire.Config) { c.Embedder = silent{} }

// silent stands for the built-in embedder when it does not answer.
type silent struct{}

func (silent) Model() string {
	e, err := static.Default()
	if err != nil {
		return ""
	}
	return e.Model()
}

func (silent) Embed(context.Context, embed.Kind, []string) ([]embed.Vector, error) {
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

// sourceOf describes a source to an index.
func sourceOf(src source.Source) index.Source {
	info := src.Info()
	return index.Source{Label: info.Label, Root: info.Root, Priority: info.Priority}
}

// open opens the catalog with vectors for each of the legs, and asks it all
// prompts: the first answers read what later ones find in memory. It chooses the
// prompts that processes are started with.
func (m *meter) open(ctx context.Context, list []Leg) (legs []*openLeg, err error) {
	m.finding, m.empty = m.prompts[0], m.prompts[0]
	for _, l := range list {
		o := &openLeg{Leg: l, speed: LegSpeed{Leg: l.Name}}
		legs = append(legs, o)
		if o.catalog, err = l.open(ctx, m.root(), m.db("vectors"), deferred); err != nil {
			return legs, err
		}
		if o.text, err = l.open(ctx, m.root(), m.db("vectors"), byText, deferred); err != nil {
			return legs, err
		}
		for _, p := range m.prompts {
			b, err := o.catalog.Block(ctx, p, repertoire.Budget{}, nil)
			if err != nil {
				return legs, err
			}
			o.speed.Mode = b.Mode
			if len(b.Skills) > 0 {
				m.finding = p
			} else if b.Kind == "" { // it is ranked, and found to want nothing
				m.empty = p
			}
		}
	}
	return legs, nil
}

// resident measures the legs in turn, round by round, so that what else the
// machine does hits all of them alike.
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
		s.Allocs, s.AllocBytes = median(l.mallocs), median(l.bytes)
		ratios := make([]float64, m.rounds)
		for r := range ratios {
			ratios[r] = legs[0].medians[r] / max(l.medians[r], 1e-9)
		}
		s.Faster = median(ratios)
	}
	return nil
}

// round asks one leg by one client, by several at once, and by text.
func (m *meter) round(ctx context.Context, l *openLeg) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	alone, perS, err := m.ask(ctx, l.catalog, 1, m.while)
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
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
	return nil
}

// ask asks all prompts in turn by some clients, for a while and at least once. It
// returns how long each block took, in milliseconds, and how many were made in a
// second.
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
				// All prompts are asked equally often, so that figures can be compared.
				if at == 0 && i > 0 && time.Since(start) >= while {
					end.Store(i)
					return
				}
				ms, err := timed(func() error { _, err := c.Block(ctx, m.prompts[at], repertoire.Budget{}, nil); return err })
				lists[n], errs[n] = append(lists[n], ms), errors.Join(err, ctx.Err())
			}
		})
	}
	wg.Wait()
	took = slices.Concat(lists...)
	return took, float64(len(took)) / time.Since(start).Seconds(), errors.Join(errs...)
}

// repeat returns the median of as many measurements as there are rounds.
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
	return float64(time.Since(start)) / float64(time.Millisecond), err
}

func median(list []float64) float64 { return quantile(slices.Sorted(slices.Values(list)), .5) }
