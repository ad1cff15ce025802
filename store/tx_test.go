package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/repertoire-skills/repertoire/skill"
)

func TestGenerationGrows(t *testing.T) {
	db := open(t, dbPath(t))
	ids := put(t, db, Source{Label: "a"}, newRecord("pdf", "fill forms", "body"), newRecord("csv", "read tables", "body"))
	var source int64
	for _, tt := range []struct {
		name string
		f    func(*Tx) error
		want int64
	}{
		{"nothing", func(*Tx) error { return nil }, 0},
		{"put source", func(tx *Tx) (err error) { source, err = tx.PutSource(Source{Label: "b"}); return err }, 1},
		{"put stamp", func(tx *Tx) error { return tx.PutStamp(ids[0], "new stamp") }, 0},
		{"shadow without effect", (*Tx).Shadow, 0},
		{"prune vectors", (*Tx).PruneVectors, 0},
		{"walked", func(tx *Tx) error { return tx.Walked(source, time.Unix(1, 0)) }, 1},
		{"walked again", func(tx *Tx) error { return tx.Walked(source, time.Unix(2, 0)) }, 0},
		{"put skill", func(tx *Tx) error { _, err := tx.PutSkill(source, newRecord("xls", "d", "b")); return err }, 1},
		{"put many", func(tx *Tx) error {
			_, err1 := tx.PutSkill(source, newRecord("xls", "d", "b"))
			_, err2 := tx.PutSkill(source, newRecord("doc", "d", "b"))
			return errors.Join(err1, err2)
		}, 1},
		{"no vectors", func(tx *Tx) error { return tx.PutVectors("m", nil, nil) }, 0},
		{"vectors", func(tx *Tx) error { return tx.PutVectors("m", [][]byte{{1}}, [][]float32{{1}}) }, 1},
		{"forget stamps of nothing", func(tx *Tx) error { return tx.ForgetStamps(99) }, 0},
		{"forget stamps", func(tx *Tx) error { return tx.ForgetStamps(source) }, 1},
		{"delete skill", func(tx *Tx) error { return tx.DeleteSkill(ids[0]) }, 1},
		{"rolled back", func(tx *Tx) error {
			tx.DeleteSkill(ids[1])
			return errors.New("stop")
		}, 0},
	} {
		before := generation(t, db)
		err := db.Update(t.Context(), tt.f)
		if grown := generation(t, db) - before; grown != tt.want {
			t.Errorf("%s: generation grew by %d, want %d; %v", tt.name, grown, tt.want, err)
		}
	}
}

func TestUpdateRollsBack(t *testing.T) {
	db := open(t, dbPath(t))
	put(t, db, Source{Label: "a"}, newRecord("pdf", "fill forms", "body"))
	stop := errors.New("stop")
	add := func(tx *Tx) error {
		source, err := tx.PutSource(Source{Label: "b"})
		if err != nil {
			return err
		}
		_, err = tx.PutSkill(source, newRecord("csv", "tables", "body"))
		return err
	}
	err := db.Update(t.Context(), func(tx *Tx) error { return errors.Join(add(tx), stop) })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	func() {
		defer func() { recover() }()
		db.Update(t.Context(), func(tx *Tx) error { panic(add(tx)) })
	}()
	if got := offered(t, db); !reflect.DeepEqual(got, []string{"a:pdf"}) {
		t.Errorf("offered %q", got)
	}
	if sources, err := db.Sources(t.Context()); err != nil || len(sources) != 1 {
		t.Errorf("sources %v, %v", sources, err)
	}
	update(t, db, add) // the writer is free again
	if err := checkFile(t.Context(), db); err != nil {
		t.Error(err)
	}
}

func TestSkillRoundTrip(t *testing.T) {
	db := open(t, dbPath(t))
	r := newRecord("pdf", "zero \x00 and ünïcödé", "body \x00 with\nlines")
	r.Path = "office/pdf/skill.md"
	r.Skill = &skill.Skill{
		Meta: skill.Meta{
			Source: "a", Path: r.Path, Location: "/s/office/pdf/skill.md", Name: "pdf", Description: r.Skill.Description,
			Tokens: 7, Digest: "d", TextDigest: "t", Tags: []string{"a,b", `"`}, Requires: []string{"other"},
		},
		Body:        r.Skill.Body,
		Frontmatter: map[string]any{"name": "pdf", "nested": map[string]any{"list": []any{"x", true, nil}}},
		Files:       []skill.File{{Path: "a", Size: 1, SHA256: "x"}, {Path: "skill.md", Size: 1 << 40}},
		Problems:    []skill.Problem{{Rule: "r", Severity: skill.Note, Path: "p", Line: 3, Message: "m", Hint: "h"}},
	}
	id := put(t, db, Source{Label: "a"}, r)[0]
	got, ok, err := db.Skill(t.Context(), id)
	if err != nil || !ok || !reflect.DeepEqual(got, r.Skill) {
		t.Errorf("got %+v, %v, %v\nwant %+v", got, ok, err, r.Skill)
	}
	r.Skill.Frontmatter["description"] = r.Skill.Description // is kept once
	put(t, db, Source{Label: "a"}, r)
	if got, ok, err := db.Skill(t.Context(), id); err != nil || !ok || !reflect.DeepEqual(got, r.Skill) {
		t.Errorf("got %+v, %v, %v\nwant %+v", got, ok, err, r.Skill)
	}
	if _, ok, err := db.Skill(t.Context(), id+1); ok || err != nil {
		t.Errorf("absent skill: %v, %v", ok, err)
	}
	problems, err := db.Problems(t.Context())
	if err != nil || len(problems) != 1 || problems[0] != (Reported{"a", id, r.Skill.Problems[0]}) {
		t.Errorf("problems %v, %v", problems, err)
	}
	stamps, err := db.Stamps(t.Context(), 1)
	if want := (map[string]Stamp{r.Path: {id, r.Stamp, "d"}}); err != nil || !reflect.DeepEqual(stamps, want) {
		t.Errorf("stamps %v, %v", stamps, err)
	}
}

// TestReplaceLeavesNothing: a replaced skill is found by its new words only,
// and a refused one by none.
func TestReplaceLeavesNothing(t *testing.T) {
	db := open(t, dbPath(t))
	id := put(t, db, Source{Label: "a"}, newRecord("pdf", "old", "old"))[0]
	if again := put(t, db, Source{Label: "a"}, newRecord("pdf", "fresh", "fresh"))[0]; again != id {
		t.Errorf("id %d became %d", id, again)
	}
	if got := matchIDs(t, db, "old", nil, 9); len(got) != 0 {
		t.Errorf("old words find %v", got)
	}
	if got := matchIDs(t, db, "fresh", nil, 9); !reflect.DeepEqual(got, []int64{id}) {
		t.Errorf("new words find %v", got)
	}
	put(t, db, Source{Label: "a"}, refused("pdf/SKILL.md"))
	if got := matchIDs(t, db, "fresh OR old", nil, 9); len(got) != 0 {
		t.Errorf("a refused skill is found: %v", got)
	}
	texts, _, err := db.Coverage(t.Context(), "m")
	files, err2 := db.Files(t.Context(), id)
	if texts != 0 || len(files) != 0 || err != nil || err2 != nil {
		t.Errorf("%d texts, files %v; %v, %v", texts, files, err, err2)
	}
	if err := checkFile(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// TestIDsNotReused: another process may still hold the ID of a removed skill.
func TestIDsNotReused(t *testing.T) {
	db := open(t, dbPath(t))
	first := put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "b"))[0]
	update(t, db, func(tx *Tx) error { return tx.DeleteSkill(first) })
	if second := put(t, db, Source{Label: "a"}, newRecord("csv", "d", "b"))[0]; second == first {
		t.Errorf("id %d was given out twice", first)
	}
}

func TestDeleteSource(t *testing.T) {
	db := open(t, dbPath(t))
	ids := put(t, db, Source{Label: "a", Root: "/a", Priority: 3}, newRecord("pdf", "d", "b"))
	update(t, db, func(tx *Tx) error { return tx.Walked(1, time.Unix(7, 8)) })
	sources, err := db.Sources(t.Context())
	want := Source{ID: 1, Label: "a", Root: "/a", Priority: 3, Walked: time.Unix(7, 8)}
	if err != nil || len(sources) != 1 || sources[0] != want {
		t.Errorf("sources %v, %v; want %v", sources, err, want)
	}
	if err := db.Update(t.Context(), func(tx *Tx) error { return tx.DeleteSource(1) }); err == nil {
		t.Error("a source that still has skills was removed")
	}
	update(t, db, func(tx *Tx) error { return errors.Join(tx.DeleteSkill(ids[0]), tx.DeleteSource(1)) })
	if sources, err := db.Sources(t.Context()); err != nil || len(sources) != 0 {
		t.Errorf("sources %v, %v", sources, err)
	}
}

// running is sent a value each time that a statement calls the SQL function
// test_running, which exists in every connection of the test binary.
var running = make(chan struct{})

func sendRunning(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
	running <- struct{}{}
	return int64(1), nil
}

// TestCancelInterrupts: SQLite would count for hours. SQLite forgets an interrupt
// that comes before the statement runs, so the statement itself says when it does.
func TestCancelInterrupts(t *testing.T) {
	db := open(t, dbPath(t))
	const endless = `WITH RECURSIVE n (i) AS (SELECT test_running() UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	for range 2 * runtime.GOMAXPROCS(0) { // more often than there are connections
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			var n int
			done <- db.read.QueryRowContext(ctx, endless).Scan(&n)
		}()
		select {
		case <-running:
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
		case err := <-done:
			t.Fatalf("the query ended by itself: %v", err)
		}
		cancel()
	}
	generation(t, db)
	err := db.Update(t.Context(), func(tx *Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tx.ctx = ctx
		return tx.PutStamp(1, "x")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v, want context.Canceled", err)
	}
	put(t, db, Source{Label: "a"}, newRecord("pdf", "d", "b")) // the pools are usable
}

func BenchmarkPutSkill(b *testing.B) {
	db := open(b, dbPath(b))
	records := generated(500)
	n := 0
	for b.Loop() {
		update(b, db, func(tx *Tx) error {
			source, err := tx.PutSource(Source{Label: "a"})
			if err != nil {
				return err
			}
			for range 50 {
				if _, err := tx.PutSkill(source, records[n%len(records)]); err != nil {
					return fmt.Errorf("skill %d: %w", n, err)
				}
				n++
			}
			return nil
		})
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "skills/s")
}
