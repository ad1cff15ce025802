package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/store"
)

// A Shared is an engine for several machines.
type Shared interface {
	store.Store
	store.Joiner
	store.Files
	store.Bases
	store.Watcher
	store.Tokens
}

// An Opener opens a catalog as one more process does, and closes it when the test ends.
type Opener func(readOnly bool) Shared

// A sharedCheck is one part of the contract of engines for several machines.
type sharedCheck struct {
	name    string
	explain string
	run     func(t *testing.T, s Shared, open Opener) // s is open for writing
}

// TestShared checks an engine for several machines; Test checks what it has in common with
// all engines. create makes a new and empty catalog.
func TestShared(t *testing.T, create func(t *testing.T) Opener) {
	for _, c := range append(append(joinChecks(), fileChecks()...), nodeChecks()...) {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(c.explain)
				}
			}()
			open := create(t)
			c.run(t, open(false), open)
		})
	}
}

func joinChecks() []sharedCheck {
	return []sharedCheck{
		{"Join", "All Updates of a Join make one generation, and none if readers see no change. Only readers inside see it before its end.", testJoin},
		{"JoinRollBack", "A Join whose function fails or panics, or whose context has ended, leaves nothing behind, and the next one can begin.", testJoinRollBack},
		{"JoinSavepoint", "An Update that fails inside a Join undoes only what it did itself.", testJoinSavepoint},
		{"OneJoin", "Of all processes, only one may run the function of a Join or an Update at a time, and no change may be lost.", testOneJoin},
		{"Origin", "A source keeps its origin and its repository until others are put.", testOrigin},
		{"ReadOnly", "Who may only read can read everything, and whatever writes fails with ErrReadOnly.", testReadOnly},
		{"Hostile", "Names and texts are kept byte by byte, whatever they hold.", testHostile},
	}
}

// join runs f in a Join that must succeed.
func join(t testing.TB, s store.Joiner, f func(store.Store)) {
	t.Helper()
	if err := s.Join(t.Context(), func(in store.Store) error { f(in); return nil }); err != nil {
		t.Fatal(err)
	}
}

func testJoin(t *testing.T, s Shared, open Opener) {
	other := open(false)
	before := State(t, s)
	var rows []int64
	join(t, s, func(in store.Store) {
		rows = append(rows, Put(t, in, store.Source{Label: "a"}, Record("pdf", "d", "b"))...)
		rows = append(rows, Put(t, in, store.Source{Label: "b", Priority: 1}, Record("pdf", "d", "b"))...)
		readers(t, in, func(r store.Reader) {
			if list := entries(t, r, nil); len(list) != 2 {
				t.Errorf("inside there are %d skills", len(list))
			}
			wants(t, "inside, the state", store.State{Catalog: before.Catalog, Generation: before.Generation, Found: 2})(State(t, r), nil)
		})
		wants(t, "outside, the state", before)(State(t, other), nil)
	})
	after := State(t, other)
	if after.Generation.Number != 1 || after.Found != 2 {
		t.Errorf("after two updates in one: %+v", after)
	}
	wants(t, "offered", []string{"b:pdf"})(Offered(t, other), nil)
	got, _, err := other.Changes(t.Context(), before.Generation, "")
	wants(t, "changes", rows)(got, err)

	join(t, s, func(in store.Store) {
		Update(t, in, func(tx store.Tx) error { return tx.PutStamp(rows[0], "later") })
		Update(t, in, func(tx store.Tx) error { return nil })
	})
	join(t, s, func(store.Store) {})
	wants(t, "state after joins that changed nothing", after)(State(t, s), nil)
	known, err := other.Known(t.Context(), sourceRow(t, other, "a"), nil)
	wants(t, "stamp", "later")(known["pdf/SKILL.md"].Stamp, err)
}

func testJoinRollBack(t *testing.T, s Shared, _ Opener) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	before := State(t, s)
	fail := errors.New("no")
	err := s.Join(t.Context(), func(in store.Store) error {
		Put(t, in, store.Source{Label: "b"}, Record("csv", "d", "b"))
		return fail
	})
	if !errors.Is(err, fail) {
		t.Errorf("a join that fails: %v", err)
	}
	func() {
		defer func() { wants(t, "panic", "no")(recover(), nil) }()
		s.Join(t.Context(), func(in store.Store) error {
			Put(t, in, store.Source{Label: "b"}, Record("csv", "d", "b"))
			panic("no")
		})
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Join(ctx, func(in store.Store) error {
		Put(t, in, store.Source{Label: "b"}, Record("csv", "d", "b"))
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a join whose context has ended: %v", err)
	}
	wants(t, "state", before)(State(t, s), nil)
	sources, err := s.Sources(t.Context())
	wants(t, "sources", 1)(len(sources), err)
	join(t, s, func(in store.Store) { Put(t, in, store.Source{Label: "b"}, Record("csv", "d", "b")) })
	wants(t, "skills after the next join", 2)(State(t, s).Found, nil)
}

func testJoinSavepoint(t *testing.T, s Shared, _ Opener) {
	fail := errors.New("no")
	join(t, s, func(in store.Store) {
		Put(t, in, store.Source{Label: "a"}, Record("pdf", "d", "b"))
		err := in.Update(t.Context(), func(tx store.Tx) error {
			_, err := tx.PutSource(store.Source{Label: "b"})
			return errors.Join(err, fail)
		})
		if !errors.Is(err, fail) {
			t.Errorf("an update that fails: %v", err)
		}
		Put(t, in, store.Source{Label: "c"}, Record("csv", "d", "b"))
	})
	wants(t, "offered", []string{"c:csv", "a:pdf"})(Offered(t, s), nil)
	sources, err := s.Sources(t.Context())
	wants(t, "sources", 2)(len(sources), err)
}

func testOrigin(t *testing.T, s Shared, open Opener) {
	type origin struct{ ID, Repository string }
	first := origin{"\xff one", "\xfe of it"}
	for _, step := range []struct {
		put  store.Source
		want origin
	}{
		{store.Source{Label: "a"}, origin{}},
		{store.Source{Label: "a", Origin: first.ID, Repository: first.Repository}, first},
		{store.Source{Label: "a", Priority: 3, Away: true}, first},
		{store.Source{Label: "b", Origin: "two", Repository: "of two"}, first},
		{store.Source{Label: "a", Origin: "two", Repository: "of two"}, origin{"two", "of two"}},
		{store.Source{Label: "a", Origin: "two", Repository: "of one"}, origin{"two", "of one"}},
		{store.Source{Label: "a", Origin: "three"}, origin{"three", ""}},
	} {
		Update(t, s, func(tx store.Tx) error { _, err := tx.PutSource(step.put); return err })
		Update(t, s, func(tx store.Tx) error { return tx.Walked(sourceRow(t, s, "a"), 7, "x") })
		sources, err := open(true).Sources(t.Context())
		wants(t, "origin", step.want)(origin{sources[0].Origin, sources[0].Repository}, err)
	}
}

func testOneJoin(t *testing.T, s Shared, open Opener) {
	const each = 5
	var running atomic.Int32
	alone := func() func() {
		if running.Add(1) != 1 {
			t.Error("two write at once")
		}
		return func() { running.Add(-1) }
	}
	var wg sync.WaitGroup
	for i, s := range []Shared{s, s, open(false), open(false)} {
		wg.Go(func() {
			for j := range each {
				label, record := store.Source{Label: fmt.Sprint(i)}, Record(fmt.Sprint(i, "-", j), "d", "b")
				put := func(tx store.Tx) error {
					defer alone()()
					source, err := tx.PutSource(label)
					if err == nil {
						_, err = tx.PutSkill(source, record)
					}
					return err
				}
				err := s.Update(t.Context(), put)
				if i%2 == 0 {
					record = Record(record.Skill.Name+"-joined", "d", "b")
					err = errors.Join(err, s.Join(t.Context(), func(in store.Store) error { return in.Update(t.Context(), put) }))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	state := State(t, s)
	if state.Found != 6*each || state.Generation.Number != 6*each {
		t.Errorf("%d skills in generation %d; want %d", state.Found, state.Generation.Number, 6*each)
	}
}

func testReadOnly(t *testing.T, s Shared, open Opener) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	putFile(t, s, rows[0], "SKILL.md", "text")
	state := State(t, s)
	put(t, s, baseOf("k", state.Generation, "base"), "base")
	if err := s.AddToken(t.Context(), token("one")); err != nil {
		t.Fatal(err)
	}

	r := open(true)
	if err := r.Ready(t.Context()); err != nil || !r.ReadOnly() || r.Look() == "" {
		t.Errorf("ready: %v; read-only: %v; look %q", err, r.ReadOnly(), r.Look())
	}
	readers(t, r, func(in store.Reader) {
		wants(t, "state", state)(State(t, in), nil)
		wants(t, "offered", []string{"a:pdf"})(Offered(t, in), nil)
	})
	settled, look, err := r.Settle(t.Context())
	wants(t, "settled", state)(settled, err)
	wants(t, "look after Settle", "")(look, nil)
	files, err := r.SkillFiles(t.Context(), "a", "pdf")
	wants(t, "files", 1)(len(files), err)
	wants(t, "content", []byte("text"))(r.Content(t.Context(), digest("text")))
	_, ok, err := r.Base(t.Context(), "k")
	wants(t, "has a base", true)(ok, err)
	wants(t, "base", "base")(get(t, r, baseOf("k", state.Generation, "base")))
	tokens, err := r.Tokens(t.Context())
	wants(t, "tokens", []store.Token{token("one")})(tokens, err)

	_, revoked := r.RevokeToken(t.Context(), "one")
	for what, err := range map[string]error{
		"Update":      r.Update(t.Context(), func(store.Tx) error { t.Error("an update began"); return nil }),
		"Join":        r.Join(t.Context(), func(store.Store) error { t.Error("a join began"); return nil }),
		"PutBase":     tryPut(t, r, baseOf("other", state.Generation, "base"), "base"),
		"AddToken":    r.AddToken(t.Context(), token("two")),
		"RevokeToken": revoked,
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v; want that the catalog is read-only", what, err)
		}
	}
}

// hostile are names that some engine or protocol would take for something else.
var hostile = []string{
	"'; DROP TABLE skills; --", `"quoted" \ $1 %s {}`, "nul \x00 nul", "invalid \xff\xfe UTF-8", "line\nline\ttab",
	"\u202eright to left\u202c", "ünïcödé", "A", "a", "B", `\x00`, `\N`, `\.`,
}

// noise returns a text that no index can compress.
func noise(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(digest(fmt.Sprint(b.Len())))
	}
	return b.String()[:size]
}

func testHostile(t *testing.T, s Shared, open Opener) {
	names := append(hostile, noise(200<<10))
	rows, records := make([]int64, len(names)), make([]*store.Record, len(names))
	join(t, s, func(in store.Store) {
		for i, name := range names {
			records[i] = hostileRecord(name)
			rows[i] = Put(t, in, store.Source{Label: name, Root: name}, records[i])[0]
			putFile(t, in, rows[i], name, name)
		}
	})
	r := open(true)
	for i, name := range names {
		short := fmt.Sprintf("%.20q: ", name)
		list := entries(t, r, rows[i:i+1])
		if len(list) != 1 {
			t.Errorf("%s%d entries", short, len(list))
			continue
		}
		want := records[i].Skill.Meta
		want.ID = list[0].ID
		wants(t, short+"entry", want)(list[0].Meta, nil)
		got, _, err := r.Skill(t.Context(), rows[i])
		wants(t, short+"description", "about "+name)(got.Description, err)
		wants(t, short+"body", "body of "+name)(got.Body, nil)
		known, err := r.Known(t.Context(), sourceRow(t, r, name), []string{records[i].Path})
		wants(t, short+"stamp", "stamp "+name)(known[records[i].Path].Stamp, err)
		files, err := r.SkillFiles(t.Context(), name, name)
		if err != nil || len(files) != 1 || files[0].Path != name {
			t.Errorf("%s%d files, %v", short, len(files), err)
		}
		wants(t, short+"content", []byte(name))(r.Content(t.Context(), digest(name)))
	}
}

// hostileRecord returns a record that has a name in all texts.
func hostileRecord(name string) *store.Record {
	r := Record(name, "about "+name, "body of "+name)
	r.Stamp, r.Path, r.NameKey = "stamp "+name, name+"/SKILL.md", "key of "+name
	r.Skill.Source, r.Skill.Path, r.Skill.Location = name, r.Path, "/"+name
	if utf8.ValidString(name) { // lists may be kept as JSON
		r.Skill.Tags = []string{name}
	}
	return r
}
