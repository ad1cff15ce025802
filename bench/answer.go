package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// clients is how many ask at the same time.
const clients = 8

// openLeg is a leg with its open catalog and what was measured of it.
type openLeg struct {
	Leg
	catalog *repertoire.Catalog
	speed   LegSpeed
}

// openCatalog opens a catalog of the skills under root as the command would, so
// that both take them for the same source.
func openCatalog(ctx context.Context, root, db string, vectors bool, l Leg) (*repertoire.Catalog, error) {
	src, err := rootSource(root)
	if err != nil {
		return nil, err
	}
	cfg := repertoire.Config{
		Sources: []*source.FS{src}, DB: db, Schedule: repertoire.Never,
		Deadline: 10 * time.Second, // a busy machine must not change what is measured
	}
	if !vectors {
		cfg.Embedder = embed.None{}
	}
	if l.Configure != nil {
		l.Configure(&cfg)
	}
	return repertoire.Open(ctx, cfg)
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

// open opens the catalog with vectors once for each leg, and asks it all
// prompts: the first answers read what later ones find in memory.
func (m *meter) open(ctx context.Context) ([]*openLeg, error) {
	var legs []*openLeg
	for _, l := range Legs() {
		c, err := openCatalog(ctx, m.root(), m.db("vectors"), true, l)
		if err != nil {
			return legs, err
		}
		o := &openLeg{Leg: l, catalog: c, speed: LegSpeed{Leg: l.Name}}
		legs = append(legs, o)
		for _, p := range m.prompts {
			b, err := c.Block(ctx, p, repertoire.Budget{}, nil)
			if err != nil {
				return legs, err
			}
			o.speed.Mode = b.Mode
		}
	}
	return legs, nil
}

func closeAll(legs []*openLeg) {
	for _, l := range legs {
		l.catalog.Close() // it was only read, or is removed
	}
}

// resident measures the legs in turn, round by round, so that what else the
// machine does hits all of them alike.
func (m *meter) resident(ctx context.Context, legs []*openLeg) error {
	took, medians := make([][]float64, len(legs)), make([][]float64, len(legs))
	concurrent := make([][]float64, len(legs))
	for range m.rounds {
		for i, l := range legs {
			list, err := m.askAll(ctx, l)
			if err != nil {
				return err
			}
			took[i] = append(took[i], list...)
			medians[i] = append(medians[i], median(list))
			factor, err := m.askTogether(ctx, l, median(list))
			if err != nil {
				return err
			}
			concurrent[i] = append(concurrent[i], factor)
		}
	}
	for i, l := range legs {
		slices.Sort(took[i])
		l.speed.P50MS, l.speed.P99MS = quantile(took[i], .5), quantile(took[i], .99)
		l.speed.Concurrent = median(concurrent[i])
		l.speed.Allocs /= float64(m.rounds)
		l.speed.AllocBytes /= float64(m.rounds)
		ratios := make([]float64, m.rounds)
		for r := range ratios {
			ratios[r] = medians[0][r] / max(medians[i][r], 1e-9)
		}
		l.speed.Faster = median(ratios)
	}
	return nil
}

// askAll asks every prompt once and returns the times in milliseconds.
func (m *meter) askAll(ctx context.Context, l *openLeg) ([]float64, error) {
	list := make([]float64, len(m.prompts))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, p := range m.prompts {
		var err error
		list[i], err = timed(func() error { _, err := l.catalog.Block(ctx, p, repertoire.Budget{}, nil); return err })
		if err != nil {
			return nil, err
		}
	}
	runtime.ReadMemStats(&after)
	l.speed.Allocs += float64(after.Mallocs-before.Mallocs) / float64(len(list))
	l.speed.AllocBytes += float64(after.TotalAlloc-before.TotalAlloc) / float64(len(list))
	return list, nil
}

// askTogether asks prompts by one client and then as often by several at once,
// for a while when each takes that many milliseconds, and returns by how much
// these are faster.
func (m *meter) askTogether(ctx context.Context, l *openLeg, each float64) (float64, error) {
	const while = 150 // milliseconds: as long as others let a process run
	n := max(len(m.prompts), min(20_000, int(while/max(each, 1e-3))))
	alone, err := timed(func() error { return m.ask(ctx, l, n, 1) })
	if err != nil {
		return 0, err
	}
	together, err := timed(func() error { return m.ask(ctx, l, n, clients) })
	return alone / max(together, 1e-9), err
}

// ask asks n prompts, shared by some clients.
func (m *meter) ask(ctx context.Context, l *openLeg, n, clients int) error {
	var next atomic.Int64
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[c] == nil; i = int(next.Add(1)) - 1 {
				_, errs[c] = l.catalog.Block(ctx, m.prompts[i%len(m.prompts)], repertoire.Budget{}, nil)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// rescan returns what it costs to see that nothing has changed.
func (m *meter) rescan(ctx context.Context, l *openLeg) (float64, error) {
	return m.repeat(func() (float64, error) {
		return timed(func() error { _, err := l.catalog.Rescan(ctx, nil); return err })
	})
}

// change changes one skill per round and measures how long a leg takes to find
// it, and how long the sync of that skill alone takes.
func (m *meter) change(ctx context.Context, l *openLeg) error {
	round := 0
	edit := func() (file, word string, err error) {
		round++
		file, word = m.skills[(round*7919)%len(m.skills)], fmt.Sprintf("zq%sx%dzq", strings.Map(letters, l.Name), round)
		return file, word, appendTo(file, "\n"+word+"\n")
	}
	var err error
	l.speed.ChangeMS, err = m.repeat(func() (float64, error) {
		_, word, err := edit()
		if err != nil {
			return 0, err
		}
		return timed(func() error { return find(ctx, l.catalog, word) })
	})
	if err != nil {
		return err
	}
	l.speed.SyncMS, err = m.repeat(func() (float64, error) {
		file, _, err := edit()
		if err != nil {
			return 0, err
		}
		return m.syncOne(ctx, file)
	})
	return err
}

// find rescans and searches for a word that one skill has since then. That skill
// need not be the first hit: vectors know nothing of a word without a meaning.
func find(ctx context.Context, c *repertoire.Catalog, word string) error {
	if _, err := c.Rescan(ctx, nil); err != nil {
		return err
	}
	a, err := c.Search(ctx, repertoire.Query{Text: word, Limit: 1000})
	if err == nil && !slices.ContainsFunc(a.Hits, func(h repertoire.Hit) bool { return h.Strength > 0 }) {
		err = fmt.Errorf("the changed skill is not found by %q", word)
	}
	return err
}

// syncOne measures the sync of one skill, without the walk that finds it.
func (m *meter) syncOne(ctx context.Context, file string) (float64, error) {
	src, err := rootSource(m.root())
	if err != nil {
		return 0, err
	}
	embedder, err := static.Default()
	if err != nil {
		return 0, err
	}
	db, err := store.Open(ctx, m.db("vectors"), nil)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var one []*skill.Ref
	rel, err := filepath.Rel(m.root(), file)
	if err != nil {
		return 0, err
	}
	for ref, err := range src.Skills(ctx) {
		if err == nil && ref.Path == filepath.ToSlash(rel) {
			one = append(one, ref)
		}
	}
	x := index.New(db, embedder, nil)
	return timed(func() error {
		report, err := x.Sync(ctx, index.Source{Label: src.Label(), Root: src.Root(), Priority: src.Priority()}, partOf(one))
		if err == nil && report.Changed != 1 {
			err = fmt.Errorf("%d skills changed, want 1", report.Changed)
		}
		if err != nil {
			return err
		}
		return x.Embed(ctx, nil)
	})
}

// partOf yields some skills of a source, and then the error that says that there
// are others.
func partOf(refs []*skill.Ref) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for _, ref := range refs {
			if !yield(ref, nil) {
				return
			}
		}
		yield(nil, errors.New("only a part is looked at"))
	}
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// letters keeps what may stand within a word.
func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
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
