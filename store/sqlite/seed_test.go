package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// seeded makes the catalog of a user with 12 skills and of a project with 3, one of which
// shadows a skill of the user. It returns the path.
func seeded(t *testing.T) string {
	t.Helper()
	path := dbPath(t)
	db, err := Open(t.Context(), path, nil)
	must.Do(t, err)
	var own []*store.Record
	for i := range 12 {
		name := fmt.Sprintf("own-%d", i)
		own = append(own, storetest.Record(name, "does "+name, "body of "+name))
	}
	storetest.Put(t, db, store.Source{Label: "user", Root: "/user", Priority: 1}, own...)
	storetest.Put(t, db, store.Source{Label: "project", Root: "/one", Priority: 2},
		storetest.Record("own-0", "does it for the project", "x"), storetest.Record("deploy", "deploys", "x"), storetest.Record("secret", "secret of one", "x"))
	hash := storetest.Record("deploy", "deploys", "x").Texts
	must.Do(t, db.Update(t.Context(), func(tx store.Tx) error { return tx.PutVectors("m", hash, storetest.Packed([]float32{1, 0})) }))
	must.Do(t, db.Close())
	return path
}

// keepUser keeps the source of the user, with another priority.
func keepUser(s store.Source) (store.Source, bool) {
	s.Priority = 7
	return s, s.Label == "user"
}

func seedsOf(paths ...string) *Options {
	return &Options{Seeds: func() (list []Seed) {
		for _, p := range paths {
			list = append(list, Seed{Path: p, Keep: keepUser})
		}
		return list
	}}
}

// names returns the names of the offered skills.
func names(t *testing.T, db *DB) []string {
	t.Helper()
	entries, err := db.Entries(t.Context(), nil)
	must.Do(t, err)
	var list []string
	for _, e := range entries {
		if e.Offered() {
			list = append(list, e.Name)
		}
	}
	return list
}

func stateOf(t *testing.T, db *DB) store.State {
	t.Helper()
	s, err := db.State(t.Context())
	must.Do(t, err)
	return s
}

// TestSeed: a new catalog starts as a copy without the sources that it does not have. It
// has an ID and tokens of its own, and knows what has changed since it was copied.
func TestSeed(t *testing.T) {
	from := seeded(t)
	old := open(t, from)
	before := stateOf(t, old)
	path := dbPath(t)
	var c Copy
	o := seedsOf(from)
	seeds := o.Seeds
	o.Seeds = func() []Seed {
		list := seeds()
		list[0].Copied = func(done Copy) { c = done }
		return list
	}
	db, err := Open(t.Context(), path, o)
	must.Do(t, err)
	defer db.Close()
	checkWhole(t, db)
	if list := names(t, db); len(list) != 12 || slices.Contains(list, "deploy") || slices.Contains(list, "secret") {
		t.Errorf("offered: %q", list)
	}
	if known, err := db.Known(t.Context(), 1, nil); err != nil || known["own-3/SKILL.md"].Stamp != "stamp of own-3" {
		t.Errorf("known: %v, %v; want all stamps", known, err)
	}
	if sources, err := db.Sources(t.Context()); err != nil || len(sources) != 1 || sources[0].Priority != 7 {
		t.Errorf("sources: %+v, %v", sources, err)
	}
	now := stateOf(t, db)
	if now.Catalog == before.Catalog || c.From != before.Catalog || c.To != now.Catalog {
		t.Errorf("the catalog was %s and is %s; told %+v", before.Catalog, now.Catalog, c)
	}
	if len(c.Generations) == 0 {
		t.Error("no generation is known")
	}
	for from, to := range c.Generations {
		if from.Number != to.Number || from.Token == to.Token {
			t.Errorf("generation %v became %v", from, to)
		}
		if _, ok, err := db.Changes(t.Context(), from, ""); ok || err != nil {
			t.Errorf("the copy takes a generation of its seed for its own: %v", err)
		}
	}
	rows, ok, err := db.Changes(t.Context(), c.Generations[before.Generation], "")
	if err != nil || !ok || len(rows) != 4 { // three are gone, and one is no longer shadowed
		t.Errorf("changed since the copy: %v, %v, %v", rows, ok, err)
	}
	if models, err := db.Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("models %v, %v: a clone of the project would pay for its vectors again", models, err)
	}
	if after := stateOf(t, old); after != before {
		t.Errorf("the seed was %+v and is %+v", before, after)
	}
	checkFolder(t, path)
}

// TestSeedClone: the skills of a source in another folder wait at their new places, and
// shadow nothing, until a walk has found them. A skill whose place is unknown is gone.
func TestSeedClone(t *testing.T) {
	from := seeded(t)
	old := open(t, from)
	at := func(name, location string) *store.Record {
		r := storetest.Record(name, "does "+name, "x")
		r.Skill.Location = location
		return r
	}
	storetest.Put(t, old, store.Source{Label: "project", Root: "/one", Priority: 2}, at("deploy", "/one/deploy/SKILL.md"), at("own-0", "/one/own-0/SKILL.md"))
	path := dbPath(t)
	keep := func(s store.Source) (store.Source, bool) {
		if s.Label == "project" {
			s.Root = "/two/deep"
		}
		return s, true
	}
	db, err := Open(t.Context(), path, &Options{Seeds: func() []Seed { return []Seed{{Path: from, Keep: keep}} }})
	must.Do(t, err)
	defer db.Close()
	checkWhole(t, db)
	sources, err := db.Sources(t.Context())
	if err != nil || len(sources) != 2 || sources[0].Walked != store.Copied || !sources[0].Away || sources[0].Settled() || sources[0].Root != "/two/deep" {
		t.Fatalf("sources: %+v, %v", sources, err)
	}
	known, err := db.Known(t.Context(), sources[0].Row, nil)
	if err != nil || len(known) != 2 {
		t.Errorf("known: %v, %v", known, err)
	}
	for _, name := range []string{"deploy", "own-0"} {
		if k := known[name+"/SKILL.md"]; k.Stamp != "" || k.Digest == "" || k.Location != "/two/deep/"+name+"/SKILL.md" {
			t.Errorf("%s: %+v", name, k)
		}
	}
	entries, err := db.Entries(t.Context(), nil)
	must.Do(t, err)
	for _, e := range entries {
		if e.Name == "own-0" && e.Offered() != (e.Source == "user") {
			t.Errorf("%s of %s is offered: %t", e.Name, e.Source, e.Offered())
		}
	}
}

// checkFolder fails if there are files of a copy that is not complete.
func checkFolder(t *testing.T, path string) {
	t.Helper()
	left, err := filepath.Glob(path + youngSuffix + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

// TestSeedOfUse: what is no whole catalog of this version, or would lose most skills, is no
// seed; the next one is tried, and without any the catalog is empty.
func TestSeedOfUse(t *testing.T) {
	good := seeded(t)
	for what, spoil := range map[string]func(path string) error{
		"not there":    os.Remove,
		"garbage":      func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("garbage ", 9999)), 0o600) },
		"cut":          func(path string) error { return os.Truncate(path, 65536) },
		"known damage": func(path string) error { return os.WriteFile(path+damagedSuffix, nil, 0o600) },
		"newer schema": func(path string) error { return execute(path, "PRAGMA user_version = 9999") },
		"older schema": func(path string) error { return execute(path, "PRAGMA user_version = 3") },
		"not ours":     func(path string) error { return execute(path, "PRAGMA application_id = 7") },
		"little in common": func(path string) error {
			return execute(path, "UPDATE skills SET source_id = 2 WHERE name LIKE 'own-%' AND name <> 'own-0'")
		},
	} {
		bad := seeded(t)
		if err := spoil(bad); err != nil {
			t.Fatal(what, err)
		}
		for _, seeds := range [][]string{{bad}, {bad, good}} {
			path := dbPath(t)
			db, err := Open(t.Context(), path, seedsOf(seeds...))
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if list := names(t, db); len(list) != 12*(len(seeds)-1) {
				t.Errorf("%s, then %d good seeds: %q", what, len(seeds)-1, list)
			}
			checkWhole(t, db)
			checkFolder(t, path)
			db.Close()
		}
	}
}

// execute runs a statement on the catalog at path.
func execute(path, statement string) error {
	db, err := connect(path, Options{}, "mode=rw")
	if err != nil {
		return err
	}
	_, err = db.write.Exec(statement)
	return errors.Join(err, db.Close())
}

// TestSeedTwice: processes that make the same catalog end with one.
func TestSeedTwice(t *testing.T) {
	from, path := seeded(t), dbPath(t)
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			db, err := Open(t.Context(), path, seedsOf(from))
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			ids[i] = stateOf(t, db).Catalog
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] == "" || ids[0] != ids[len(ids)-1] {
		t.Errorf("there were catalogs %q", ids)
	}
}

// seedChild copies a catalog to path, and then waits to be killed before it is complete.
func seedChild(path string) error {
	o := seedsOf(os.Getenv("SEED"))
	list := o.Seeds()
	list[0].Copied = func(Copy) {
		fmt.Println("copied")
		io.Copy(io.Discard, os.Stdin)
	}
	o.Seeds = func() []Seed { return list }
	_, err := Open(context.Background(), path, o)
	return err
}

// TestSeedKilled: a process that is killed while it copies leaves no catalog.
func TestSeedKilled(t *testing.T) {
	from, path := seeded(t), dbPath(t)
	cmd := child(t, "seed", path, "SEED="+from)
	in, err := cmd.StdinPipe()
	must.Do(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Do(t, err)
	if _, err := io.ReadFull(out, make([]byte, len("copied"))); err != nil {
		t.Fatal(err)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait() // says that it was killed
	if _, err := os.Stat(path); err == nil {
		t.Fatal("there is a catalog")
	}
	db, err := Open(t.Context(), path, seedsOf(from))
	must.Do(t, err)
	defer db.Close()
	if list := names(t, db); len(list) != 12 {
		t.Errorf("the next process has %q", list)
	}
	checkFolder(t, path)
}

// TestSeedEnded: when there is no more time, nothing is made, and the next call copies.
func TestSeedEnded(t *testing.T) {
	from, path := seeded(t), dbPath(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := seedsOf(from)
	seeds := o.Seeds
	o.Seeds = func() []Seed { cancel(); return seeds() }
	if db, err := Open(ctx, path, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", db, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a catalog")
	}
	db, err := Open(t.Context(), path, seedsOf(from))
	must.Do(t, err)
	defer db.Close()
	if list := names(t, db); len(list) != 12 {
		t.Errorf("the next call has %q", list)
	}
}

// TestSeedWritten: copies of a catalog that somebody is writing are whole, and each is one
// state of it: all skills have the same description.
func TestSeedWritten(t *testing.T) {
	from := seeded(t)
	writer := open(t, from)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for round := 0; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			err := writer.Update(context.Background(), func(tx store.Tx) error {
				for i := range 12 {
					name := fmt.Sprintf("own-%d", i)
					if _, err := tx.PutSkill(1, storetest.Record(name, fmt.Sprint("round ", round), strings.Repeat("much ", 500))); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil && round%5 == 0 {
				_, _, err = writer.Settle(context.Background())
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 8 {
		path := dbPath(t)
		db, err := Open(t.Context(), path, seedsOf(from))
		must.Do(t, err)
		checkWhole(t, db)
		entries, err := db.Entries(t.Context(), nil)
		if err != nil || len(entries) != 12 {
			t.Errorf("%d skills, %v", len(entries), err)
		}
		for _, e := range entries {
			if e.Description != entries[0].Description && !strings.HasPrefix(e.Description, "does ") {
				t.Errorf("%q beside %q", e.Description, entries[0].Description)
			}
		}
		db.Close()
	}
	close(stop)
	wg.Wait()
}
