package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// push adds a skill with a file of random bytes in one Join, and calls then before the Join
// ends.
func push(ctx context.Context, db *postgres.DB, name string, size int, then func()) error {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(data)
	return db.Join(ctx, func(in store.Store) error {
		err := in.Update(ctx, func(tx store.Tx) error {
			source, err := tx.PutSource(store.Source{Label: "a"})
			if err != nil {
				return err
			}
			row, err := tx.PutSkill(source, storetest.Record(name, "about "+name, "body"))
			if err != nil {
				return err
			}
			sum := digest(data)
			err = tx.(store.FileTx).PutFiles(row, []skill.File{{Path: "data", Size: int64(size), SHA256: sum}})
			return errors.Join(err, tx.(store.FileTx).PutContent(sum, data))
		})
		then()
		return err
	})
}

func nothing() {}

// TestServerFails: whatever happens to the server during a push, the catalog stays as it
// was, and everything goes on with the server.
func TestServerFails(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	server := pgtest.Start(t, nil)
	db := migrated(t, server.URL(t), nil)
	must.Do(t, push(t.Context(), db, "first", 100, nothing))
	before := storetest.State(t, db)
	same := func(when string) {
		t.Helper()
		if now := storetest.State(t, db); now != before {
			t.Errorf("%s: %+v; it was %+v", when, now, before)
		}
		files, err := db.SkillFiles(t.Context(), "a", "first")
		if err != nil || len(files) != 1 {
			t.Errorf("%s: files %v, %v", when, files, err)
		}
		if _, err := db.SkillFiles(t.Context(), "a", "second"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: files of the skill whose push failed: %v", when, err)
		}
	}

	server.Stop(t)
	server.LimitFiles(17 << 20) // a segment of the log has 16 MB
	server.Start(t)
	err := push(t.Context(), db, "second", 20<<20, nothing)
	if err == nil || !strings.Contains(err.Error(), "File too large") {
		t.Errorf("a push onto a full disk: %v", err)
	}
	same("after a full disk")
	if err := db.PutBase(t.Context(), baseOf(before.Generation, make([]byte, 20<<20)), bytes.NewReader(make([]byte, 20<<20))); err == nil {
		t.Error("a base was put onto a full disk")
	}
	if _, ok, err := db.Base(t.Context(), "k"); ok || err != nil {
		t.Errorf("a base that did not fit: %t, %v", ok, err)
	}

	err = push(t.Context(), db, "second", 100, func() { server.Kill(t) })
	if err == nil {
		t.Error("a push ended without a server")
	}
	if _, err := db.State(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	server.LimitFiles(0)
	server.Start(t)
	same("after the server was killed")
	if err := push(t.Context(), db, "second", 20<<20, nothing); err != nil {
		t.Errorf("a push after all that: %v", err)
	}
	if n := storetest.State(t, db).Found; n != 2 {
		t.Errorf("%d skills after all that", n)
	}
}

func baseOf(g store.Generation, data []byte) store.Base {
	return store.Base{Key: "k", Generation: g, Size: int64(len(data)), SHA256: digest(data)}
}

// TestCutWhileWriting: wherever the connection is cut, a push that fails has changed
// nothing, and one that succeeds everything.
func TestCutWhileWriting(t *testing.T) {
	direct := pgtest.URL(t)
	proxy, url := pgtest.NewProxy(t, direct)
	db, other := migrated(t, url, nil), open(t, direct, nil)
	failed, succeeded := 0, 0
	for i := range testsize.Rounds(25, 400) {
		before := storetest.State(t, other).Found
		name := fmt.Sprint("s", i)
		if err := db.Ready(t.Context()); err != nil { // so that reading the schema is no part of it
			t.Fatal(err)
		}
		proxy.CutAfter(int64(1 + i*testsize.Rounds(64, 4)))
		err := push(t.Context(), db, name, 100, nothing)
		proxy.CutAfter(-1)
		got := storetest.State(t, other).Found - before
		if err != nil {
			failed++
		} else {
			succeeded++
		}
		if err == nil && got != 1 || err != nil && got != 0 {
			t.Errorf("cut after %d bytes: %d skills were added, %v", 1+i*testsize.Rounds(64, 4), got, err)
		}
	}
	t.Logf("%d pushes failed, %d succeeded", failed, succeeded)
	if failed < 3 || succeeded < 1 {
		t.Errorf("%d pushes failed and %d succeeded; want some of both", failed, succeeded)
	}
}

// TestCutWhileReading: a connection that is cut in the middle of a row costs nothing, and
// one that is cut again an error, never a part of the answer.
func TestCutWhileReading(t *testing.T) {
	direct := pgtest.URL(t)
	proxy, url := pgtest.NewProxy(t, direct)
	db, node := migrated(t, direct, nil), open(t, url, &postgres.Options{ReadOnly: true})
	var records []*store.Record
	for i := range 50 {
		records = append(records, storetest.Record(fmt.Sprintf("s%02d", i), strings.Repeat("x", 1000), "body"))
	}
	storetest.Put(t, db, store.Source{Label: "a"}, records...)
	base := bytes.Repeat([]byte("base"), 600_000)
	must.Do(t, db.PutBase(t.Context(), baseOf(storetest.State(t, db).Generation, base), bytes.NewReader(base)))
	whole := func(what string) {
		t.Helper()
		list, err := node.Entries(t.Context(), nil)
		if err != nil || len(list) != len(records) {
			t.Errorf("%s: %d entries, %v", what, len(list), err)
		}
	}
	whole("at first")
	proxy.Cut()
	whole("after a connection that died in silence")
	proxy.CutAfter(20_000)
	whole("after a connection that died in the middle of a row")

	proxy.CutAfter(1_500_000)
	var got bytes.Buffer
	err := node.GetBase(t.Context(), baseOf(storetest.State(t, db).Generation, base), &got)
	if err != nil || !bytes.Equal(got.Bytes(), base) {
		t.Errorf("base: %d of %d bytes, %v", got.Len(), len(base), err)
	}

	proxy.Refuse(true)
	if list, err := node.Entries(t.Context(), nil); err == nil || list != nil {
		t.Errorf("without a server: %d entries, %v", len(list), err)
	}
	proxy.Refuse(false)
	whole("after the server was away")
}

// TestDamagedContent: bytes that are not what they were are never handed out.
func TestDamagedContent(t *testing.T) {
	url := pgtest.URL(t)
	db := migrated(t, url, nil)
	must.Do(t, push(t.Context(), db, "pdf", 100, nothing))
	b := baseOf(storetest.State(t, db).Generation, []byte("base"))
	must.Do(t, db.PutBase(t.Context(), b, strings.NewReader("base")))
	files, err := db.SkillFiles(t.Context(), "a", "pdf")
	must.Do(t, err)
	pgtest.Exec(t, url, "UPDATE repertoire.contents SET data = data || '\\x00'")
	pgtest.Exec(t, url, "UPDATE repertoire.chunks SET data = 'bass'")
	if data, err := db.Content(t.Context(), files[0].SHA256); !errors.Is(err, store.ErrDamaged) || data != nil {
		t.Errorf("damaged content: %d bytes, %v", len(data), err)
	}
	storetest.Update(t, db, func(tx store.Tx) error {
		if list, err := tx.(store.FileTx).Missing([]string{files[0].SHA256}); err != nil || len(list) != 1 {
			t.Errorf("damaged content is to be replaced: %q, %v", list, err)
		}
		return nil
	})
	if err := db.GetBase(t.Context(), b, new(bytes.Buffer)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("damaged base: %v", err)
	}
	pgtest.Exec(t, url, "DELETE FROM repertoire.chunks")
	if err := db.GetBase(t.Context(), b, new(bytes.Buffer)); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a base whose bytes are gone: %v", err)
	}
}

// TestDuringPush: a token must not live longer because somebody pushes, and a base need not
// wait.
func TestDuringPush(t *testing.T) {
	db := migrated(t, pgtest.URL(t), nil)
	base, token := baseOf(storetest.State(t, db).Generation, []byte("base")), store.Token{Name: "one", Hash: digest([]byte("secret"))}
	err := push(t.Context(), db, "pdf", 100, func() {
		if err := db.AddToken(t.Context(), token); err != nil {
			t.Error(err)
		}
		if ok, err := db.RevokeToken(t.Context(), "one"); !ok || err != nil {
			t.Errorf("revoked: %t, %v", ok, err)
		}
		if err := db.PutBase(t.Context(), base, strings.NewReader("base")); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func digest(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(data))
}
