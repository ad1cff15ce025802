package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// powerQueries are what every catalog is asked.
var powerQueries = []search.Query{{Text: "common words of skill three"}, {Text: "version2 of the body"}, {Text: "added later"}}

// versions are what happens to the skills of a folder, one after the other, and what each
// makes a publisher write. The last version is only for catalogs that were repaired.
var versions = []struct {
	suffix string
	f      func(t *testing.T, p *power)
}{
	{".base", func(t *testing.T, p *power) {
		for i := range 12 {
			p.put(t, fmt.Sprintf("skill-%02d", i), "version1 of common words", "The body of version1.")
		}
	}},
	{".delta", func(t *testing.T, p *power) {
		p.put(t, "skill-03", "version2 of common words", "The body of version2.")
		p.put(t, "skill-04", "version2 of skill three", "The body of version2.")
		p.put(t, "later", "added later", "The body of version1.")
		p.remove(t, "skill-05")
	}},
	{".base", func(t *testing.T, p *power) { // a long text changes the mean length
		p.put(t, "long", "version3 is long", strings.Repeat("Many words were added later. ", 400))
		p.remove(t, "skill-06")
	}},
	{"", func(t *testing.T, p *power) {
		p.put(t, "skill-03", "version4 of common words", "The body of version4.")
		p.remove(t, "skill-04")
	}},
}

// A power is a folder of skills, and a catalog of it on a disk that remembers each step.
type power struct {
	root   string // folder of the skills
	source *source.FS
	path   string // of the catalog
	disk   *crashtest.Disk
	// databases[i] are the files of the database before step i, by suffix.
	databases []map[string][]byte
	edits     int             // number of changes so far
	pairs     map[string]bool // name and description of each skill that ever was
	truth     *searchtest.Truth
}

func newPower(t *testing.T) *power {
	t.Helper()
	p := &power{root: t.TempDir(), path: filepath.Join(t.TempDir(), "catalog.db"), disk: new(crashtest.Disk), pairs: make(map[string]bool)}
	var err error
	if p.source, err = source.Dir(p.root, &source.Options{Label: "a"}); err != nil {
		t.Fatal(err)
	}
	p.disk.Before = func(int) error { p.databases = append(p.databases, databaseOf(p.path)); return nil }
	return p
}

// put writes a skill.
func (p *power) put(t *testing.T, name, description, body string) {
	t.Helper()
	p.pairs[name+": "+description] = true
	file := filepath.Join(p.root, name, "SKILL.md")
	text := fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s\n", name, description, body)
	must.Write(t, file, text)
	p.age(t, file, filepath.Dir(file), p.root)
}

func (p *power) remove(t *testing.T, name string) {
	t.Helper()
	must.Do(t, os.RemoveAll(filepath.Join(p.root, name)))
	p.age(t, p.root)
}

// age gives files a time that can be trusted, and that no other change has.
func (p *power) age(t *testing.T, names ...string) {
	t.Helper()
	p.edits++
	at := time.Date(2020, 1, 1, 0, p.edits, 0, 0, time.UTC)
	for _, name := range names {
		must.Do(t, os.Chtimes(name, at, at))
	}
}

// databaseOf returns the files of the database at path, by suffix.
func databaseOf(path string) map[string][]byte {
	files := make(map[string][]byte)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if data, err := os.ReadFile(path + suffix); err == nil {
			files[suffix] = data
		}
	}
	return files
}

// An opened catalog is open for one process.
type opened struct {
	*searchtest.Catalog
	scanner *index.Scanner
	close   func()
}

// open opens the catalog at path, on a disk, as a program does.
func (p *power) open(t *testing.T, path string, disk atomicfile.Disk, now time.Time) *opened {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	c := searchtest.Join(db, path, new(embedtest.Fake), &searchtest.Options{
		Index: index.Options{Disk: disk, Inline: true, Now: func() time.Time { return now }}})
	s := index.NewScanner(c.Index, []source.Source{p.source})
	return &opened{c, s, func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}}
}

// rescan brings the catalog up to date, as a program does.
func (o *opened) rescan(t *testing.T) {
	t.Helper()
	if err := o.tryRescan(t.Context()); err != nil {
		t.Fatalf("rescanning: %v", err)
	}
}

func (o *opened) tryRescan(ctx context.Context) error {
	_, err := o.scanner.Rescan(ctx, nil, func(ctx context.Context) error {
		if err := o.Embed(ctx, nil); err != nil {
			return err
		}
		return o.Publish(ctx, false)
	})
	return err
}

// current reports whether the catalog says that it is up to date.
func (o *opened) current(t *testing.T) bool {
	g := o.scanner.Glance(t.Context(), time.Hour)
	return g.Current && g.All
}

// step changes the skills and brings the catalog up to date. It returns the first and the
// last step after which a crash is of interest.
func (p *power) step(t *testing.T, version int) (from, to int) {
	t.Helper()
	versions[version].f(t, p)
	from = p.disk.Len()
	x := p.open(t, p.path, p.disk, time.Now())
	x.rescan(t)
	if list := beside(t, p.path, versions[version].suffix); len(list) != 1 {
		t.Fatalf("version %d: there are %q", version+1, list)
	}
	x.close()
	p.databases = append(p.databases[:p.disk.Len()], databaseOf(p.path))
	p.fresh(t)
	return from, p.disk.Len()
}

// fresh makes a new catalog the truth.
func (p *power) fresh(t *testing.T) {
	t.Helper()
	x := p.open(t, filepath.Join(t.TempDir(), "catalog.db"), atomicfile.OS{}, time.Now())
	t.Cleanup(x.close)
	x.rescan(t)
	p.truth = searchtest.NewTruth(t, x.Catalog, powerQueries)
}

// crash makes what a crash just before a step leaves, and a database of that step or an
// earlier one, and returns the path of the catalog.
func (p *power) crash(t *testing.T, step int, loss crashtest.Loss, rng *rand.Rand) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.db")
	files := p.disk.After(step, loss, rng)
	at := step
	if loss != crashtest.Nothing && rng.IntN(2) == 0 {
		at = rng.IntN(step + 1) // the last commits are lost, or the database was restored
	}
	for suffix, data := range p.databases[at] {
		files[filepath.Base(path)+suffix] = data
	}
	for name, data := range files {
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), data, 0o600))
	}
	return path
}

// check opens a catalog after a crash. It must be right if it says that it is up to date,
// and after a rescan in any case, also for the next process.
func (p *power) check(t *testing.T, path string) {
	t.Helper()
	x := p.open(t, path, atomicfile.OS{}, time.Now())
	if x.current(t) {
		p.truth.Compare(t, x.Catalog)
	}
	entries, err := x.List(t.Context(), nil, &search.ListOptions{Shadowed: true})
	if err != nil {
		t.Errorf("listing before a rescan: %v", err)
	}
	for _, e := range entries {
		if !p.pairs[e.Name+": "+e.Description] {
			t.Errorf("%s with the description %q never was", e.Name, e.Description)
		}
	}
	x.rescan(t)
	p.truth.Compare(t, x.Catalog)
	x.close()
	y := p.open(t, path, atomicfile.OS{}, time.Now())
	defer y.close()
	if !y.current(t) {
		t.Error("the next process finds the catalog out of date")
	}
	p.truth.Compare(t, y.Catalog)
}

// checkLater brings a catalog up to date that was repaired after a crash, two days later:
// then nothing may be left of the crash.
func (p *power) checkLater(t *testing.T, path string) {
	t.Helper()
	x := p.open(t, path, atomicfile.OS{}, time.Now().Add(48*time.Hour))
	defer x.close()
	if x.current(t) {
		t.Error("a later change is not noticed")
	}
	x.rescan(t)
	p.truth.Compare(t, x.Catalog)
	if list := beside(t, path, atomicfile.Suffix); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
}

// TestPowerCut stops the first index of a catalog, a small change and a large one before
// every step, and loses what a killed process or a power cut may lose. The catalog that is
// found then is right, at once or after one rescan, and stays right.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	p := newPower(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var left []string // catalogs that were repaired after a crash
	names := make(map[string]string)
	for v := range versions {
		var repaired []string
		if v == len(versions)-1 {
			versions[v].f(t, p)
			p.fresh(t)
		} else {
			from, to := p.step(t, v)
			for _, c := range cases(from, to) {
				path := p.crash(t, c.step, c.loss, rng)
				names[path] = fmt.Sprintf("version %d, step %d of %d to %d, %v", v+1, c.step, from, to, c.loss)
				if t.Run(names[path], func(t *testing.T) { p.check(t, path) }) {
					repaired = append(repaired, path)
				}
			}
		}
		for _, path := range left {
			t.Run("later, "+names[path], func(t *testing.T) { p.checkLater(t, path) })
		}
		left = repaired
	}
}

// A crash happens just before a step.
type crash struct {
	step int
	loss crashtest.Loss
}

// cases returns crashes before every sixth step, with one of the losses in turn, or, in a
// long round, before each step with each loss several times.
func cases(from, to int) (list []crash) {
	for step := from; step <= to; step += testsize.Rounds(6, 1) {
		for range testsize.Rounds(1, 4*int(crashtest.Losses)) {
			list = append(list, crash{step, crashtest.Loss(len(list)) % crashtest.Losses})
		}
	}
	return list
}

// TestDiskFull: a step that fails, as on a full disk, leaves a catalog that the next rescan
// makes right, and no file of its own.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	p := newPower(t)
	for v := range versions[:2] {
		p.step(t, v)
		before := filepath.Join(t.TempDir(), "catalog.db")
		copyCatalog(t, p.path, before)
		versions[v+1].f(t, p)
		p.fresh(t)
		for n, failed := v%testsize.Rounds(4, 1), true; failed; n += testsize.Rounds(4, 1) {
			t.Run(fmt.Sprintf("version %d, step %d", v+2, n), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "catalog.db")
				copyCatalog(t, before, path)
				failed = false
				x := p.open(t, path, &crashtest.Disk{Before: func(step int) error {
					if failed || step != n {
						return nil
					}
					failed = true
					return syscall.ENOSPC
				}}, time.Now())
				err := x.tryRescan(t.Context())
				x.close()
				if err != nil && !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("rescanning: %v", err)
				}
				if list := beside(t, path, atomicfile.Suffix); len(list) > 0 {
					t.Errorf("left behind: %q", list)
				}
				p.check(t, path)
			})
		}
	}
}
