package repertoire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// many are names of skills that fill more than a few pages.
func many() []string {
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("skill-%02d", i))
	}
	return names
}

// closedCatalog makes a catalog whose file is whole and closed.
func closedCatalog(t *testing.T, cfg repertoire.Config) {
	t.Helper()
	cfg.Schedule = repertoire.Never
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	rescan(t, c)
	must.Do(t, c.Owner().Embed(t.Context(), nil))
	must.Do(t, c.Close())
}

// overwrite damages all pages of a file but the first, in place, and returns
// what it then holds.
func overwrite(t testing.TB, name string) []byte {
	t.Helper()
	const page = 32768 // that of the catalog
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must.Do(t, err)
	defer f.Close()
	info, err := f.Stat()
	must.Do(t, err)
	if info.Size() < 10*page {
		t.Fatalf("%s has only %d bytes", name, info.Size())
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0xA5}, int(info.Size()-page)), page)
	must.Do(t, err)
	data, err := os.ReadFile(name)
	must.Do(t, err)
	return data
}

// calls are the ways to use a catalog.
var calls = map[string]func(context.Context, *repertoire.Catalog) error{
	"Search": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Search(ctx, repertoire.Query{Text: "skill-07"})
		return err
	},
	"Block": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Block(ctx, "skill-07", repertoire.Budget{Offer: contextprovider.Relevant}, nil)
		return err
	},
	"Body": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Body(ctx, "skill-07", nil)
		return err
	},
	"File": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.File(ctx, "skill-07", "SKILL.md", nil)
		return err
	},
	"List": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.List(ctx, nil, nil)
		return err
	},
	"Why": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Why(ctx, "skill-07", repertoire.Query{Text: "skill-07"})
		return err
	},
	"Problems": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().Problems(ctx)
		return err
	},
	"Twins": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().Twins(ctx)
		return err
	},
	"Position": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().Position(ctx, "skill-07", "")
		return err
	},
	"Size": func(ctx context.Context, c *repertoire.Catalog) error {
		_, _, err := c.Size(ctx)
		return err
	},
	"Indexed": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().Indexed(ctx)
		return err
	},
	"Rescan": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().Rescan(ctx, nil)
		return err
	},
	"RescanAll": func(ctx context.Context, c *repertoire.Catalog) error {
		_, err := c.Owner().RescanAll(ctx, nil)
		return err
	},
	"Forget": func(ctx context.Context, c *repertoire.Catalog) error { return c.Owner().Forget(ctx, "none") },
	"Embed":  func(ctx context.Context, c *repertoire.Catalog) error { return c.Owner().Embed(ctx, nil) },
}

// TestDamaged damages the file while the catalog is closed and while it is
// open: whatever is called first works, the damaged file is kept, and the log
// tells.
func TestDamaged(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	src := memory(t, "team", 0, docs(many()...))
	whole := repertoire.Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: new(embedtest.Fake),
	}
	closedCatalog(t, whole)
	for name, call := range calls {
		for _, when := range []string{"closed", "open"} {
			t.Run(name+" "+when, func(t *testing.T) {
				var j journal
				cfg := whole
				cfg.DB, cfg.Logger = filepath.Join(t.TempDir(), "catalog.db"), j.logger()
				data := must.Read(t, whole.DB)
				must.Write(t, cfg.DB, data)
				var damaged []byte
				if when == "closed" {
					damaged = overwrite(t, cfg.DB)
				}
				c := open(t, cfg)
				if when == "open" {
					damaged = overwrite(t, cfg.DB)
				}
				must.Do(t, call(t.Context(), c))
				rescan(t, c)
				want(t, "list", list(t, c, nil, false), many()...)
				if hits, _ := search(t, c, repertoire.Query{Text: "skill-07"}); len(hits) == 0 || hits[0] != "skill-07" {
					t.Errorf("hits %v", hits)
				}
				checkKept(t, c, damaged)
				if got := j.lines("catalog was damaged and is rebuilt"); len(got) != 1 {
					t.Errorf("logged %v", got)
				}
			})
		}
	}
}

// checkKept checks that the damaged file lies beside the catalog.
func checkKept(t *testing.T, c *repertoire.Catalog, damaged []byte) {
	t.Helper()
	aside := c.Owner().Recovered()
	if filepath.Dir(aside) != filepath.Dir(c.Path()) {
		t.Fatalf("the damaged file was kept as %q", aside)
	}
	kept, err := os.ReadFile(aside)
	must.Do(t, err)
	if !bytes.Equal(kept, damaged) {
		t.Errorf("%s does not hold what was damaged", aside)
	}
}

// TestDamagedInUse: after a search everything is in memory, and the damage
// shows later or never; each answer is right all the same.
func TestDamagedInUse(t *testing.T) {
	src, dir := folder(t, "team", docs(many()...))
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	closedCatalog(t, cfg)
	c := open(t, cfg)
	search(t, c, repertoire.Query{Text: "skill-07"})
	overwrite(t, cfg.DB)
	for i := range 5 {
		name := fmt.Sprintf("later-%d", i)
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc(name, "Does "+name+"."))
		rescan(t, c)
		for _, name := range []string{name, "skill-07"} {
			if hits, _ := search(t, c, repertoire.Query{Text: name}); len(hits) == 0 || hits[0] != name {
				t.Errorf("%s: hits %v", name, hits)
			}
		}
	}
	if offered, found, err := c.Size(t.Context()); offered != 17 || found != 17 || err != nil {
		t.Errorf("Size() = %d, %d, %v; want 17, 17", offered, found, err)
	}
}

// TestDamagedAtOnce: many who meet the damage at the same time are all served.
func TestDamagedAtOnce(t *testing.T) {
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "team", 0, docs(many()...))}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	closedCatalog(t, cfg)
	overwrite(t, cfg.DB)
	c := open(t, cfg)
	var wg sync.WaitGroup
	for name, call := range calls {
		if name == "Forget" {
			continue // the others could not find anything
		}
		wg.Go(func() {
			if err := call(t.Context(), c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	aside, err := filepath.Glob(cfg.DB + ".damaged-*")
	must.Do(t, err)
	if len(aside) != 1 {
		t.Errorf("damaged files kept: %v, want one", aside)
	}
}

// TestRepairTriesAgain: a repair that fails leaves a catalog that the next call
// can repair.
func TestRepairTriesAgain(t *testing.T) {
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "team", 0, docs(many()...))}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	closedCatalog(t, cfg)
	overwrite(t, cfg.DB)
	must.Do(t, os.Remove(cfg.DB+".current")) // or else searches need no database
	c := open(t, cfg)
	lock := cfg.DB + ".lock"
	must.Do(t, os.Remove(lock))
	must.Do(t, os.Mkdir(lock, 0o700)) // what cannot be locked
	for range 2 {
		if _, err := c.Search(t.Context(), repertoire.Query{Text: "skill-07"}); err == nil {
			t.Fatal("no error, although the file cannot be replaced")
		}
	}
	must.Do(t, os.Remove(lock))
	if hits, _ := search(t, c, repertoire.Query{Text: "skill-07"}); len(hits) == 0 || hits[0] != "skill-07" {
		t.Errorf("hits %v", hits)
	}
}

// TestRepairInterrupted: the caller's context ends while the new file is
// filled; what is missing comes with the next rescan.
func TestRepairInterrupted(t *testing.T) {
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "team", 0, docs(many()...))}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	closedCatalog(t, cfg)
	overwrite(t, cfg.DB)
	c := open(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Owner().Rescan(ctx, cancel) // ends at the first skill
	if err == nil {
		t.Fatal("no error from an interrupted rescan")
	}
	if indexed, err := c.Owner().Indexed(t.Context()); indexed || err != nil {
		t.Errorf("Indexed() = %t, %v after an interrupted rescan", indexed, err)
	}
	rescan(t, c)
	want(t, "list", list(t, c, nil, false), many()...)
}

// TestClosedIsNotRepaired: whoever meets the damage after Close does not open
// the file again.
func TestClosedIsNotRepaired(t *testing.T) {
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "team", 0, docs(many()...))}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: new(embedtest.Fake), Schedule: repertoire.Never}
	closedCatalog(t, cfg)
	overwrite(t, cfg.DB)
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	must.Do(t, c.Close())
	for name, call := range calls {
		if err := call(t.Context(), c); !errors.Is(err, repertoire.ErrClosed) {
			t.Errorf("%s of a closed catalog: error %v, want %v", name, err, repertoire.ErrClosed)
		}
	}
	if aside, _ := filepath.Glob(cfg.DB + ".damaged-*"); len(aside) > 0 {
		t.Errorf("a closed catalog was repaired: %v", aside)
	}
}

// TestNotACatalog: the file of another program is refused and stays as it is.
func TestNotACatalog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notes.txt")
	must.Write(t, name, "my notes\n")
	c, err := repertoire.Open(t.Context(), repertoire.Config{DB: name, Away: true, Schedule: repertoire.Never})
	if err == nil {
		must.Do(t, c.Close())
	}
	var kept []string
	files, globErr := filepath.Glob(name + "*")
	must.Do(t, globErr)
	for _, f := range files {
		data := must.Read(t, f)
		if data == "my notes\n" {
			kept = append(kept, f)
		}
	}
	if len(kept) != 1 {
		t.Errorf("the notes are in %v of %v, error %v", kept, files, err)
	}
}

// TestReadOnly: a catalog in a folder that cannot be written answers from what
// is there.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("this user can write everywhere")
	}
	src, dir := folder(t, "team", docs("one"))
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
	closedCatalog(t, cfg)
	parent := filepath.Dir(cfg.DB)
	must.Do(t, os.Chmod(parent, 0o500))
	t.Cleanup(func() { os.Chmod(parent, 0o700) })
	cfg.Embedder = new(embedtest.Fake)
	c := open(t, cfg)
	must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
	if reports, err := c.Owner().Rescan(t.Context(), nil); len(reports) != 0 || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a rescan reports %v, %v; want %v", reports, err, store.ErrReadOnly)
	}
	if f, err := c.Freshen(t.Context(), nil); err != nil || !errors.Is(f.Stale, store.ErrReadOnly) {
		t.Errorf("%+v, %v; want stale answers", f, err)
	}
	must.Do(t, c.Owner().Embed(t.Context(), nil))
	want(t, "list", list(t, c, nil, false), "one")
	if hits, mode := search(t, c, repertoire.Query{Text: "one"}); !slices.Equal(hits, []string{"one"}) || mode != "text (no vectors yet)" {
		t.Errorf("hits %v, mode %s", hits, mode)
	}
}
