package index_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// harm is one way to damage a file. data is the content of the file, other the
// content of the same file of another catalog.
type harm struct {
	name string
	f    func(path string, data, other []byte, rng *rand.Rand) error
	// resident means that a process that has the file open must still answer. It
	// cannot if the harm writes to pages that the process has already checked.
	resident bool
}

var harms = []harm{
	{"a bit flipped", func(path string, data, _ []byte, rng *rand.Rand) error {
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		return os.WriteFile(path, data, 0o600)
	}, false},
	{"a bit flipped in a copy", func(path string, data, _ []byte, rng *rand.Rand) error {
		data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		return replace(path, data)
	}, true},
	{"cut", func(path string, data, _ []byte, rng *rand.Rand) error {
		return os.Truncate(path, int64(rng.IntN(len(data))))
	}, false},
	{"longer", func(path string, data, _ []byte, rng *rand.Rand) error {
		return replace(path, append(data, data[:1+rng.IntN(100)]...))
	}, true},
	{"emptied", func(path string, _, _ []byte, _ *rand.Rand) error { return os.Truncate(path, 0) }, true},
	{"removed", func(path string, _, _ []byte, _ *rand.Rand) error { return os.Remove(path) }, true},
	{"of another catalog", func(path string, _, other []byte, _ *rand.Rand) error { return replace(path, other) }, true},
}

// replace puts a new file in the place of one that may be memory-mapped.
func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// A patient is a catalog whose files are damaged.
type patient struct {
	path    string
	db      store.Store
	e       embed.Embedder
	sources []searchtest.Source
}

func newPatient(t *testing.T, seed uint64) *patient {
	t.Helper()
	p := &patient{path: filepath.Join(t.TempDir(), "catalog.db"), e: &embedtest.Fake{}, sources: searchtest.Generate(50, seed)}
	for at := range 2 {
		p.sources = replaced(p.sources, at, func(i int, s *searchtest.Source) {
			// Many words make a file of many blocks, which are checked one by one.
			sk := s.Skills[i]
			var words strings.Builder
			for w := range 400 {
				fmt.Fprintf(&words, " %s%dx%dx%d", s.Label, seed, i, w)
			}
			s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, sk.Description, sk.Body+words.String(), sk.Tags...)
		})
	}
	p.openStore(t)
	return p
}

// openStore opens the database at the path.
func (p *patient) openStore(t *testing.T) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), p.path, nil)
	must.Do(t, err)
	t.Cleanup(func() { db.Close() })
	p.db = db
}

// open returns the catalog as a process that opens it sees it.
func (p *patient) open() *searchtest.Catalog { return searchtest.Join(p.db, p.path, p.e, nil) }

// step changes one skill and publishes: a base and a change of it.
func (p *patient) step(t *testing.T, x *searchtest.Catalog, round int) {
	t.Helper()
	p.sources = replaced(p.sources, 1, func(i int, s *searchtest.Source) {
		if sk := s.Skills[i]; i == 0 {
			s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, fmt.Sprint("round", round), sk.Body, sk.Tags...)
		}
	})
	searchtest.Fill(t, x, p.sources)
	searchtest.Publish(t, x, true)
}

// files returns the published files: the manifest first, then one or two more.
func (p *patient) files(t *testing.T) []string {
	t.Helper()
	return append([]string{snapshot.ManifestPath(p.path)}, append(beside(t, p.path, ".base"), beside(t, p.path, ".delta")...)...)
}

// TestDamage: whatever happens to a published file, searches answer as before, and
// the next Publish writes whole files.
func TestDamage(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be changed")
	}
	times := testsize.Rounds(1, 3) // how often each harm is done to each file
	p, other := newPatient(t, 1), newPatient(t, 2)
	foreign := other.open()
	defer foreign.Close()
	other.step(t, foreign, 0)
	other.step(t, foreign, 1)
	rng := rand.New(rand.NewPCG(3, 4))
	x := p.open()
	defer func() { x.Close() }()
	p.step(t, x, -1)
	for round := range times * 3 * len(harms) {
		p.step(t, x, round)
		h := harms[round%len(harms)]
		queries := append(searchtest.Queries(p.sources, uint64(round), 8, nil), search.Query{Text: fmt.Sprint("round", round)})
		want := answers(t, x, queries)
		files := p.files(t)
		if len(files) != 3 {
			// These queries may be the first to read what an earlier round has damaged.
			searchtest.Publish(t, x, true)
			if files = p.files(t); len(files) < 2 {
				t.Fatalf("round %d: there are %q, want a base", round, files)
			}
		}
		at := round / len(harms) % len(files)
		what := fmt.Sprintf("round %d: %s %s", round, filepath.Ext(files[at]), h.name)
		p.harm(t, h, files[at], other.files(t), rng)
		check := func(x *searchtest.Catalog, when string) {
			t.Helper()
			for i, a := range answers(t, x, queries) {
				if diff := searchtest.Differ(want[i], a, 10); diff != "" {
					t.Fatalf("%s, %s: %.60q: %s", what, when, queries[i].Text, diff)
				}
			}
		}
		fresh := p.open()
		check(fresh, "opened afterwards")
		if h.resident {
			check(x, "open before")
		}
		x.Close()
		searchtest.Publish(t, fresh, true)
		check(fresh, "published")
		if x = p.open(); !x.Published(t.Context(), sourcesOf(p.sources)) {
			t.Fatalf("%s: what is published cannot be used: %q", what, p.files(t))
		}
		check(x, "published and opened")
		fresh.Close()
	}
}

// harm damages a file, or replaces it by the file of the other catalog with the same
// suffix.
func (p *patient) harm(t *testing.T, h harm, path string, others []string, rng *rand.Rand) {
	t.Helper()
	data, err := os.ReadFile(path)
	must.Do(t, err)
	var other []byte
	for _, o := range others {
		if filepath.Ext(o) == filepath.Ext(path) {
			if other, err = os.ReadFile(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	must.Do(t, h.f(path, data, other, rng))
}

func sourcesOf(list []searchtest.Source) []store.Source {
	out := make([]store.Source, len(list))
	for i := range list {
		out[i] = list[i].Source
	}
	return out
}

// TestForeignFiles: the file of another catalog under the name of an own file is not
// used. Both catalogs are at the same generation, and their files differ in nothing
// else that is checked.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	p, other := newPatient(t, 1), newPatient(t, 2)
	other.path = filepath.Join(filepath.Dir(p.path), "other.db") // in one folder
	other.openStore(t)
	for _, c := range []*patient{p, other} {
		x := c.open()
		c.step(t, x, 0)
		c.step(t, x, 1)
		x.Close()
	}
	queries := searchtest.Queries(p.sources, 5, 12, nil)
	want := answers(t, truth(t, p.e, p.sources), queries)
	files, others := p.files(t), other.files(t)
	if len(files) != 3 || len(others) != 3 {
		t.Fatalf("there are %q and %q", files, others)
	}
	for at, suffix := range []string{".current", ".base", ".delta"} {
		own, err1 := os.ReadFile(files[at])
		foreign, err2 := os.ReadFile(others[at])
		must.Do(t, errors.Join(err1, err2, replace(files[at], foreign)))
		x := p.open()
		for i, a := range answers(t, x, queries) {
			if diff := searchtest.Differ(want[i], a, 10); diff != "" {
				t.Errorf("with %s of another catalog, %.60q: %s", suffix, queries[i].Text, diff)
			}
		}
		x.Close()
		must.Do(t, replace(files[at], own))
		if x = p.open(); !x.Published(t.Context(), sourcesOf(p.sources)) {
			t.Errorf("with its own %s again, what is published cannot be used", suffix)
		}
		x.Close()
	}
}
