package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// calibrated returns a published and calibrated catalog.
func calibrated(t *testing.T, path string, e embed.Embedder, opts *searchtest.Options) *searchtest.Catalog {
	t.Helper()
	x := searchtest.Open(t, path, e, opts)
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Embed(t, x)
	searchtest.Publish(t, x, true)
	calibrate(t, x)
	return x
}

func calibrate(t *testing.T, x *searchtest.Catalog) {
	t.Helper()
	must.Do(t, x.Calibrate(t.Context(), x.Calibrator(nil)))
}

// measured returns how many prompts that need no skill an answer goes by.
func measured(t *testing.T, x *searchtest.Catalog) int {
	t.Helper()
	return searchtest.Ask(t, x, search.Query{Text: "topic3 and fruit"}).Background.Needless.Prompts
}

// calibrationOf returns the file with what was measured in a catalog.
func calibrationOf(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Glob(path + ".*.calibration")
	if err != nil || len(found) != 1 {
		t.Fatalf("calibrations %q, %v", found, err)
	}
	return found[0]
}

// TestCalibrateOthers: other processes that have the catalog open notice, as do new ones.
func TestCalibrateOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	x := searchtest.Open(t, path, nil, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Publish(t, x, true)
	other := searchtest.Open(t, path, nil, nil)
	if n := measured(t, other); n != 0 {
		t.Errorf("%d prompts before anybody calibrated", n)
	}
	calibrate(t, x)
	for name, c := range map[string]*searchtest.Catalog{"own": x, "open": other, "new": searchtest.Open(t, path, nil, nil)} {
		if n := measured(t, c); n != 500 {
			t.Errorf("%s: %d prompts", name, n)
		}
	}
}

// TestCalibrationDamaged: a damaged calibration is none, and the next pass replaces it.
func TestCalibrationDamaged(t *testing.T) {
	t.Parallel()
	path, rng := filepath.Join(t.TempDir(), "catalog.db"), rand.New(rand.NewPCG(1, 1))
	calibrated(t, path, nil, nil)
	elsewhere := filepath.Join(t.TempDir(), "catalog.db")
	calibrated(t, elsewhere, nil, nil)
	file := calibrationOf(t, path)
	data, err := os.ReadFile(file)
	must.Do(t, err)
	other, err := os.ReadFile(calibrationOf(t, elsewhere))
	must.Do(t, err)
	for _, h := range harms {
		must.Do(t, h.f(file, slices.Clone(data), other, rng))
		x := searchtest.Open(t, path, nil, nil)
		if n := measured(t, x); n != 0 {
			t.Errorf("%s: %d prompts", h.name, n)
		}
		calibrate(t, x)
		if n := measured(t, x); n != 500 {
			t.Errorf("%s, repaired: %d prompts", h.name, n)
		}
		if again, err := os.ReadFile(file); err != nil || !slices.Equal(again, data) {
			t.Errorf("%s: the same catalog was calibrated in another way, %v", h.name, err)
		}
	}
}

// paid is an embedder that counts the queries that it embeds, and may refuse them.
type paid struct {
	searchtest.Embedder
	queries int
	err     error
}

func (p *paid) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if kind == embed.Query {
		p.queries += len(texts)
		if p.err != nil {
			return nil, p.err
		}
	}
	return p.Embedder.Embed(ctx, kind, texts)
}

// TestCalibrateEmbedsOnce: the prompts are embedded once for each model. An embedder that
// refuses is asked again after a while; meanwhile the catalog answers.
func TestCalibrateEmbedsOnce(t *testing.T) {
	t.Parallel()
	path, e, now := filepath.Join(t.TempDir(), "catalog.db"), &paid{err: searchtest.ErrEmbed}, time.Now()
	opts := &searchtest.Options{Index: index.Options{Now: func() time.Time { return now }}}
	x := searchtest.Open(t, path, e, opts)
	tree := searchtest.Many(5)
	sync := func() {
		t.Helper()
		searchtest.Sync(t, x, "a", tree.Refs())
		searchtest.Embed(t, x)
		searchtest.Publish(t, x, true)
	}
	sync()
	for _, wait := range []time.Duration{0, time.Second, time.Hour} {
		now = now.Add(wait)
		if err := x.Calibrate(t.Context(), x.Calibrator(nil)); err == nil {
			t.Error("no error without vectors")
		}
	}
	if e.queries != 2*900 || measured(t, x) != 0 {
		t.Errorf("an embedder that refuses was asked for %d vectors", e.queries)
	}
	e.err, e.queries, now = nil, 0, now.Add(time.Hour)
	calibrate(t, x)
	tree["long"] = searchtest.Skill("long", "is long", strings.Repeat("Many words were added later. ", 400))
	sync() // a new base
	calibrate(t, x)
	calibrate(t, searchtest.Open(t, path, e, opts))
	if e.queries != 900 {
		t.Errorf("%d vectors for two bases", e.queries)
	}
	if n := measured(t, x); n != 500 {
		t.Errorf("%d prompts", n)
	}
	files, err := filepath.Glob(path + ".*.prompts")
	if err != nil || len(files) != 1 {
		t.Fatalf("files of vectors: %q, %v", files, err)
	}
	must.Do(t, os.Truncate(files[0], 100))
	e.queries = 0
	tree["longer"] = searchtest.Skill("longer", "is longer", strings.Repeat("Many words were added later. ", 800))
	sync()
	calibrate(t, x)
	if e.queries != 900 {
		t.Errorf("%d vectors after the kept ones were damaged", e.queries)
	}
}

// narrow is an embedder that may answer queries with another dimension.
type narrow struct {
	searchtest.Embedder
	wrong bool
}

func (n *narrow) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	vectors, err := n.Embedder.Embed(ctx, kind, texts)
	if kind == embed.Query && n.wrong {
		for i := range vectors {
			vectors[i] = embed.Vector{1}
		}
	}
	return vectors, err
}

// TestCalibrateDimension: vectors with a wrong dimension are not kept, so that the next
// right answer calibrates the catalog.
func TestCalibrateDimension(t *testing.T) {
	t.Parallel()
	path, e, now := filepath.Join(t.TempDir(), "catalog.db"), &narrow{wrong: true}, time.Now()
	x := searchtest.Open(t, path, e, &searchtest.Options{Index: index.Options{Now: func() time.Time { return now }}})
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	searchtest.Embed(t, x)
	searchtest.Publish(t, x, true)
	if err := x.Calibrate(t.Context(), x.Calibrator(nil)); err == nil || !strings.Contains(err.Error(), "another dimension") {
		t.Errorf("a wrong dimension: %v", err)
	}
	e.wrong, now = false, now.Add(time.Hour)
	calibrate(t, x)
	if n := measured(t, x); n != 500 {
		t.Errorf("%d prompts after a right answer", n)
	}
}

// counted is a Calibrator that counts how often it ranks.
type counted struct {
	index.Calibrator
	n int
}

func (c *counted) Calibrate(ctx context.Context, s *snapshot.Set, e embed.Embedder, points []snapshot.Point) (*snapshot.Calibration, error) {
	c.n++
	return c.Calibrator.Calibrate(ctx, s, e, points)
}

// TestCalibrateUnwritable: when the file cannot be written, a schedule does not rank all
// prompts again at each rescan, and says the same each time.
func TestCalibrateUnwritable(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "catalog.db"), time.Now()
	x := calibrated(t, path, nil, &searchtest.Options{Index: index.Options{Now: func() time.Time { return now }}})
	file := calibrationOf(t, path)
	must.Do(t, errors.Join(os.Remove(file), os.Mkdir(file, 0o700)))
	tree := searchtest.Many(5)
	tree["long"] = searchtest.Skill("long", "is long", strings.Repeat("Many words were added later. ", 400))
	searchtest.Sync(t, x, "a", tree.Refs())
	searchtest.Publish(t, x, true) // a new base
	c := &counted{Calibrator: x.Calibrator(nil)}
	first := x.Calibrate(t.Context(), c)
	if !errors.Is(first, regular.ErrSpecial) {
		t.Errorf("a directory in the place of the file: %v", first)
	}
	now = now.Add(5 * time.Second)
	if err := x.Calibrate(t.Context(), c); err == nil || err.Error() != first.Error() || c.n != 1 {
		t.Errorf("five seconds later: %v, ranked %d times", err, c.n)
	}
	now = now.Add(time.Hour)
	if err := errors.Join(os.Remove(file), x.Calibrate(t.Context(), c)); err != nil || measured(t, x) != 500 {
		t.Errorf("when it can be written: %v, %d prompts", err, measured(t, x))
	}
}

// TestCalibrateNothing: a catalog that is not published is left alone, and a failing or
// cancelled measurement leaves no file.
func TestCalibrateNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	x := searchtest.Open(t, path, nil, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(5).Refs())
	calibrate(t, x)
	searchtest.Publish(t, x, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Calibrate(ctx, x.Calibrator(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if found, err := filepath.Glob(path + ".*.calibration"); err != nil || len(found) > 0 {
		t.Errorf("files %q, %v", found, err)
	}
}

// TestCalibratePowerCut stops the calibration of a catalog before every step, and loses
// what a power cut may lose: what is found then is whole or nothing, and the next pass
// makes it right.
func TestCalibratePowerCut(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	p, rng := newPower(t), rand.New(rand.NewPCG(1, 3))
	p.step(t, 0)
	from := p.disk.Len()
	x := p.open(t, p.path, p.disk, time.Now())
	calibrate(t, x.Catalog)
	x.close()
	p.databases = append(p.databases[:p.disk.Len()], databaseOf(p.path))
	for step := from; step <= p.disk.Len(); step++ {
		for i := range testsize.Rounds(1, int(crashtest.Losses)) {
			loss := crashtest.Loss(step+i) % crashtest.Losses
			path := p.crash(t, step, loss, rng)
			t.Run(fmt.Sprintf("step %d of %d to %d, %v", step, from, p.disk.Len(), loss), func(t *testing.T) {
				x := p.open(t, path, atomicfile.OS{}, time.Now())
				if n := measured(t, x.Catalog); n != 0 && n != 500 {
					t.Errorf("%d prompts", n)
				}
				x.rescan(t)
				calibrate(t, x.Catalog)
				if n := measured(t, x.Catalog); n != 500 {
					t.Errorf("%d prompts after the next pass", n)
				}
				x.close()
				y := p.open(t, path, atomicfile.OS{}, time.Now())
				defer y.close()
				if n := measured(t, y.Catalog); n != 500 || !y.current(t) {
					t.Errorf("the next process finds %d prompts, up to date: %v", n, y.current(t))
				}
			})
		}
	}
}
