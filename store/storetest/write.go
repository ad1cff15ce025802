package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
)

func writeChecks() []check {
	return []check{
		{"Empty", "A new catalog has an identity, the zero generation, and nothing else.", testEmpty},
		{"Generations", "An Update that changes what readers see increases the generation's number by 1 and gives it a new token; other Updates do neither.", testGenerations},
		{"RollBack", "An Update whose function fails or panics leaves nothing behind, and the next Update can begin.", testRollBack},
		{"Cancelled", "A call whose context has ended returns the error of the context, and changes nothing.", testCancelled},
		{"TxState", "The state in a transaction has the generation before it.", testTxState},
		{"OneWriter", "Only one Update may run its function at a time, and no change may be lost.", testOneWriter},
		{"ReadWhileWriting", "Readers see whole transactions: all of one or nothing of it.", testReadWhileWriting},
		{"ViewStands", "A view sees one state of the catalog, whatever is written meanwhile.", testViewStands},
		{"Changes", "Changes returns the rows of skills that changed after a generation, or that got other vectors by this model, ascending and without duplicates. Of many skills with one text only those count that have changed themselves, however often its vector is put.", testChanges},
		{"ChangesUnknown", "Changes must not answer for a generation that the catalog never had, such as one of the same number with another token.", testChangesUnknown},
		{"Forget", "After Forget, Changes answers for the given generation and for later ones, not for older ones.", testForget},
		{"ForgetWhileReading", "One call of Changes sees one state: it must not lose what is forgotten meanwhile and still say ok.", testForgetWhileReading},
		{"RowsNotReused", "A reader may still hold the row of a skill that is gone: it must never name another skill.", testRowsNotReused},
	}
}

func testEmpty(t *testing.T, s store.Store) {
	state := State(t, s)
	if state.Catalog == "" || state.Generation != (store.Generation{}) || state.Found != 0 {
		t.Errorf("state %+v", state)
	}
	if err := s.Ready(t.Context()); err != nil || s.ReadOnly() {
		t.Errorf("ready: %v; read-only: %v", err, s.ReadOnly())
	}
	sources, err1 := s.Sources(t.Context())
	models, err2 := s.Models(t.Context())
	problems, err3 := s.Problems(t.Context())
	texts, embedded, err4 := s.Coverage(t.Context(), store.Space{Model: "m"}, nil)
	missing, err5 := s.Unembedded(t.Context(), store.Space{Model: "m"}, 0, 9)
	rows, ok, err6 := s.Changes(t.Context(), store.Generation{}, "m")
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Error(err)
	}
	n := len(sources) + len(models) + len(problems) + texts + embedded + len(missing) + len(rows) + len(entries(t, s, nil))
	if n != 0 || !ok {
		t.Errorf("%d things in a new catalog; changes are known: %v", n, ok)
	}
}

func testGenerations(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "fill forms", "body"), Record("csv", "read tables", "body"))
	var source int64
	for _, tt := range []struct {
		name string
		f    func(store.Tx) error
		want int64
	}{
		{"nothing", func(store.Tx) error { return nil }, 0},
		{"put source", func(tx store.Tx) (err error) { source, err = tx.PutSource(store.Source{Label: "b"}); return err }, 1},
		{"put stamp", func(tx store.Tx) error { return tx.PutStamp(rows[0], "new stamp") }, 0},
		{"prune vectors", store.Tx.PruneVectors, 0},
		{"walked", func(tx store.Tx) error { return tx.Walked(source, 1, "x") }, 1},
		{"walked again", func(tx store.Tx) error { return tx.Walked(source, 2, "y") }, 0},
		{"put skill", func(tx store.Tx) error { _, err := tx.PutSkill(source, Record("xls", "d", "b")); return err }, 1},
		{"put many", func(tx store.Tx) error {
			_, err1 := tx.PutSkill(source, Record("xls", "d", "b"))
			_, err2 := tx.PutSkill(source, Record("doc", "d", "b"))
			return errors.Join(err1, err2)
		}, 1},
		{"no vectors", func(tx store.Tx) error { return tx.PutVectors("m", nil, nil) }, 0},
		{"vectors", func(tx store.Tx) error { return tx.PutVectors("m", [][]byte{{1}}, Packed([]float32{1})) }, 1},
		{"drop no model", func(tx store.Tx) error { return tx.DropModel("n") }, 0},
		{"drop a model", func(tx store.Tx) error { return tx.DropModel("m") }, 1},
		{"forget", func(tx store.Tx) error { return tx.Forget(store.Generation{Number: 2}) }, 0},
		{"forget stamps of nothing", func(tx store.Tx) error { return tx.ForgetStamps(99) }, 0},
		{"forget stamps", func(tx store.Tx) error { return tx.ForgetStamps(source) }, 1},
		{"delete skill", func(tx store.Tx) error { return tx.DeleteSkill(rows[0]) }, 1},
		{"delete it again", func(tx store.Tx) error { return tx.DeleteSkill(rows[0]) }, 0},
		{"delete no source", func(tx store.Tx) error { return tx.DeleteSource(99) }, 0},
		{"delete source", func(tx store.Tx) error { return tx.DeleteSource(source) }, 1},
		{"rolled back", func(tx store.Tx) error { return errors.Join(tx.DeleteSkill(rows[1]), errors.New("stop")) }, 0},
	} {
		before := State(t, s)
		err := s.Update(t.Context(), tt.f)
		after := State(t, s)
		if grown := after.Generation.Number - before.Generation.Number; grown != tt.want {
			t.Errorf("%s: the generation grew by %d, want %d; %v", tt.name, grown, tt.want, err)
		}
		if same := after.Generation.Token == before.Generation.Token; same != (tt.want == 0) {
			t.Errorf("%s: token %d after %d", tt.name, after.Generation.Token, before.Generation.Token)
		}
		if after.Catalog != before.Catalog {
			t.Errorf("%s: catalog %s became %s", tt.name, before.Catalog, after.Catalog)
		}
	}
}

func testRollBack(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "fill forms", "body"))
	before := State(t, s)
	stop := errors.New("stop")
	add := func(tx store.Tx) error {
		source, err := tx.PutSource(store.Source{Label: "b"})
		if err != nil {
			return err
		}
		_, err = tx.PutSkill(source, Record("csv", "tables", "body"))
		hashes := Record("pdf", "fill forms", "body").Texts
		return errors.Join(err, tx.DeleteSkill(rows[0]), tx.PutVectors("m", hashes, Packed([]float32{1})))
	}
	err := s.Update(t.Context(), func(tx store.Tx) error { return errors.Join(add(tx), stop) })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		s.Update(t.Context(), func(tx store.Tx) error { panic(add(tx)) })
	}()
	wants(t, "offered", []string{"a:pdf"})(Offered(t, s), nil)
	sources, err1 := s.Sources(t.Context())
	models, err2 := s.Models(t.Context())
	if err := errors.Join(err1, err2); err != nil || len(sources) != 1 || len(models) != 0 || State(t, s) != before {
		t.Errorf("sources %v, models %v, state %+v; %v", sources, models, State(t, s), err)
	}
	Update(t, s, add)
	wants(t, "offered in the end", []string{"b:csv"})(Offered(t, s), nil)
}

func testCancelled(t *testing.T, s store.Store) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	before := State(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx store.Tx) error {
		cancel()
		tx.PutSource(store.Source{Label: "b"}) // whether this fails or the commit
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update that is cancelled: %v", err)
	}
	_, err1 := s.State(ctx)
	_, err2 := s.Entries(ctx, nil)
	_, _, err3 := s.Changes(ctx, store.Generation{}, "")
	err4 := s.View(ctx, func(r store.Reader) error { _, err := r.State(ctx); return err })
	err5 := s.Update(ctx, func(store.Tx) error { t.Error("ran"); return nil })
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: error %v, want context.Canceled", i+1, err)
		}
	}
	if after := State(t, s); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

func testTxState(t *testing.T, s store.Store) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	before := State(t, s)
	Update(t, s, func(tx store.Tx) error {
		state, err := tx.State()
		wants(t, "at first", before)(state, err)
		_, err1 := tx.PutSource(store.Source{Label: "b"})
		state, err2 := tx.State()
		wants(t, "after a change", before)(state, err2)
		return err1
	})
}

func testOneWriter(t *testing.T, s store.Store) {
	const writers = 8
	var running atomic.Int32
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			err := s.Update(t.Context(), func(tx store.Tx) error {
				if running.Add(1) != 1 {
					t.Error("two updates run at once")
				}
				defer running.Add(-1)
				_, err := s.Entries(t.Context(), nil) // a reader does not wait for the writer
				_, err2 := tx.PutSource(store.Source{Label: fmt.Sprint(i)})
				return errors.Join(err, err2)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sources, err := s.Sources(t.Context())
	if n := State(t, s).Generation.Number; err != nil || len(sources) != writers || n != writers {
		t.Errorf("%d sources and generation %d after %d updates; %v", len(sources), n, writers, err)
	}
}

func testReadWhileWriting(t *testing.T, s store.Store) {
	const pairs = 20
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true // and reads once more
				default:
				}
				err := s.View(t.Context(), func(r store.Reader) error {
					list, err1 := r.Entries(t.Context(), nil)
					state, err2 := r.State(t.Context())
					rows, ok, err3 := r.Changes(t.Context(), store.Generation{}, "")
					if n := len(list); n%2 != 0 || n != state.Found || n != len(rows) || int64(n) != 2*state.Generation.Number || !ok {
						return fmt.Errorf("%d entries, %d changes, state %+v", n, len(rows), state)
					}
					return errors.Join(err1, err2, err3)
				})
				if list, err2 := s.Entries(t.Context(), nil); err != nil || err2 != nil || len(list)%2 != 0 {
					t.Errorf("%v; %d entries, %v", err, len(list), err2)
					return
				}
			}
		})
	}
	for i := range pairs {
		Put(t, s, store.Source{Label: "a"}, Record(fmt.Sprint("s", i), "d", "b"), Record(fmt.Sprint("t", i), "d", "b"))
	}
	close(done)
	wg.Wait()
}

func testViewStands(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "words of the body"))
	stop := errors.New("stop")
	err := s.View(t.Context(), func(r store.Reader) error {
		before := State(t, r)
		Put(t, s, store.Source{Label: "b", Priority: 1}, Record("csv", "d", "b"), Record("pdf", "d", "b"))
		Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(rows[0]) })
		if after := State(t, r); after != before || State(t, s) == before {
			t.Errorf("the view went from %+v to %+v", before, after)
		}
		wants(t, "the view sees", []string{"a:pdf"})(Offered(t, r), nil)
		got, ok, err := r.Skill(t.Context(), rows[0])
		if err != nil || !ok || got.Body != "words of the body" {
			t.Errorf("skill %+v, %v, %v", got, ok, err)
		}
		changed, ok, err := r.Changes(t.Context(), store.Generation{}, "")
		if err != nil || !ok || len(changed) != 1 {
			t.Errorf("changes %v, %v, %v", changed, ok, err)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("the view returned %v", err)
	}
	wants(t, "afterwards", []string{"b:csv", "b:pdf"})(Offered(t, s), nil)
}

func testChanges(t *testing.T, s store.Store) {
	one, two := []byte("one"), []byte("two")
	pdf, csv, xls := Record("pdf", "d", "b"), Record("csv", "d", "b"), Record("xls", "d", "b")
	pdf.Texts, csv.Texts = [][]byte{one, two}, [][]byte{two}
	low := Put(t, s, store.Source{Label: "low"}, pdf, csv, xls)
	// A second pdf, of higher priority, shadows the first.
	high := Put(t, s, store.Source{Label: "high", Priority: 1}, Record("pdf", "d", "b"))
	source := sourceRow(t, s, "low")
	valued := func(model string, value float32, hashes ...[]byte) func(store.Tx) error {
		return func(tx store.Tx) error {
			return tx.PutVectors(model, hashes, slices.Repeat(Packed([]float32{1, value}), len(hashes)))
		}
	}
	vectors := func(model string, hashes ...[]byte) func(store.Tx) error { return valued(model, 0, hashes...) }
	for _, tt := range []struct {
		name  string
		model string
		f     func(store.Tx) error
		want  []int64
	}{
		{"nothing", "m", func(store.Tx) error { return nil }, nil},
		{"stamp", "m", func(tx store.Tx) error { return tx.PutStamp(low[0], "new") }, nil},
		{"vectors of this model", "m", vectors("m", one), low[:1]},
		{"vectors of two skills", "m", vectors("m", two), low[:2]},
		{"vectors of another model", "m", vectors("n", two), nil},
		{"vectors of no text", "m", vectors("m", []byte("x")), nil},
		{"vectors without a model", "", vectors("n", one), nil},
		{"vectors of an unknown model", "o", vectors("n", one), nil},
		{"put again", "m", func(tx store.Tx) error {
			_, err := tx.PutSkill(source, csv)
			return errors.Join(err, vectors("m", two)(tx))
		}, low[1:2]},
		{"the same vectors", "m", vectors("m", one, two, two), nil},
		{"another vector", "m", valued("m", 1, one, two), low[:2]},
		{"another vector of one text", "m", func(tx store.Tx) error {
			return tx.PutVectors("m", [][]byte{one, two}, Packed([]float32{1, .5}, []float32{1, 1}))
		}, low[:1]},
		{"deleted", "", func(tx store.Tx) error { return tx.DeleteSkill(low[2]) }, low[2:]},
		{"a winner deleted", "", func(tx store.Tx) error { return tx.DeleteSkill(high[0]) }, []int64{low[0], high[0]}},
		{"read again", "", func(tx store.Tx) error { return tx.ForgetStamps(source) }, low[:2]},
	} {
		before := State(t, s).Generation
		Update(t, s, tt.f)
		got, ok, err := s.Changes(t.Context(), before, tt.model)
		if !ok {
			t.Errorf("%s: the generation before is unknown", tt.name)
		}
		wants(t, tt.name, tt.want)(got, err)
	}
	all, ok, err := s.Changes(t.Context(), store.Generation{}, "")
	if !ok {
		t.Error("the zero generation is unknown")
	}
	wants(t, "from the start", []int64{low[0], low[1], low[2], high[0]})(all, err)
	if left := entries(t, s, all); len(left) != 2 || left[0].Name != "csv" || left[1].Name != "pdf" {
		t.Errorf("of these are left %+v; want csv and pdf", left)
	}
}

// known reports an error unless ok of Changes is want for a generation.
func known(t *testing.T, s store.Store, g store.Generation, want bool, when string) {
	t.Helper()
	rows, ok, err := s.Changes(t.Context(), g, "")
	if err != nil || ok != want || !ok && rows != nil {
		t.Errorf("%s: changes %v, known: %v, %v; want %v", when, rows, ok, err, want)
	}
}

func testChangesUnknown(t *testing.T, s store.Store) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	now := State(t, s).Generation
	Put(t, s, store.Source{Label: "a"}, Record("csv", "d", "b"))
	known(t, s, now, true, "an old generation")
	known(t, s, State(t, s).Generation, true, "the present generation")
	known(t, s, store.Generation{Number: now.Number, Token: now.Token + 1}, false, "another token")
	known(t, s, store.Generation{Token: now.Token}, false, "another number")
	known(t, s, store.Generation{Number: now.Number + 9, Token: now.Token}, false, "a generation to come")
}

func testForget(t *testing.T, s store.Store) {
	rows := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	first := State(t, s).Generation
	rows = append(rows, Put(t, s, store.Source{Label: "a"}, Record("csv", "d", "b"))...)
	second := State(t, s).Generation
	rows = append(rows, Put(t, s, store.Source{Label: "a"}, Record("xls", "d", "b"))...)
	Update(t, s, func(tx store.Tx) error { return tx.Forget(second) })
	known(t, s, store.Generation{}, false, "the zero generation")
	known(t, s, first, false, "a generation that was forgotten")
	known(t, s, second, true, "the generation that was kept")
	got, _, err := s.Changes(t.Context(), second, "")
	wants(t, "after the generation that was kept", rows[2:])(got, err)
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(rows[0]) })
	got, _, err = s.Changes(t.Context(), second, "")
	wants(t, "after one more change", []int64{rows[0], rows[2]})(got, err)
}

func testForgetWhileReading(t *testing.T, s store.Store) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for ended := false; !ended; {
			state, err := s.State(t.Context())
			for ok, most := true, 0; ok && !ended; {
				var rows []int64
				var err2 error
				rows, ok, err2 = s.Changes(t.Context(), state.Generation, "")
				if err := errors.Join(err, err2); err != nil || ok && len(rows) < most {
					t.Errorf("after %d changes came %d, although none was undone; %v", most, len(rows), err)
					return
				}
				most = max(most, len(rows))
				select {
				case <-done:
					ended = true
				default:
				}
			}
		}
	})
	for i := range 40 {
		Put(t, s, store.Source{Label: "a"}, Record(fmt.Sprint("s", i), "d", "b"))
		if i%4 == 3 {
			now := State(t, s).Generation
			Update(t, s, func(tx store.Tx) error { return tx.Forget(now) })
		}
	}
	close(done)
	wg.Wait()
}

func testRowsNotReused(t *testing.T, s store.Store) {
	first := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))[0]
	Update(t, s, func(tx store.Tx) error { return tx.DeleteSkill(first) })
	if second := Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))[0]; second <= first {
		t.Errorf("row %d was given out after %d", second, first)
	}
}
