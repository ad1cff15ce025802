package postgres_test

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestMigrate: of many programs that start at once, one makes the schema, and each finds
// its catalog. A catalog that does not exist is an error that says so.
func TestMigrate(t *testing.T) {
	address := pgtest.URL(t)
	early := open(t, address, nil)
	missing := func(db *postgres.DB, want string) {
		t.Helper()
		_, err1 := db.State(t.Context())
		err2 := db.Update(t.Context(), func(store.Tx) error { t.Error("an update began"); return nil })
		for _, err := range []error{err1, err2} {
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want that %s", err, want)
			}
		}
	}
	missing(early, "holds no catalogs yet")
	var wg sync.WaitGroup
	for _, name := range []string{"one", "one", "two", "two", "it's a \"catalog\""} {
		wg.Go(func() {
			if err := open(t, address, &postgres.Options{Catalog: name}).Migrate(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	missing(early, `no catalog "default"`)
	must.Do(t, early.Migrate(t.Context()))

	one, two := open(t, address, &postgres.Options{Catalog: "one"}), open(t, address, &postgres.Options{Catalog: "two"})
	storetest.Put(t, one, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	storetest.Put(t, two, store.Source{Label: "a"}, storetest.Record("pdf", "other", "b"), storetest.Record("csv", "d", "b"))
	first, second, third := storetest.State(t, one), storetest.State(t, two), storetest.State(t, early)
	if first.Found != 1 || second.Found != 2 || third.Found != 0 || first.Catalog == second.Catalog || first.Catalog == third.Catalog {
		t.Errorf("catalogs %+v, %+v, %+v", first, second, third)
	}
}

// TestNewerSchema: a schema that a newer program has made is left alone.
func TestNewerSchema(t *testing.T) {
	address := pgtest.URL(t)
	working := migrated(t, address, nil)
	storetest.State(t, working)
	pgtest.Exec(t, address, "UPDATE repertoire.schema SET version = version + 1")
	db := open(t, address, nil)
	_, err1 := db.State(t.Context())
	err2 := db.Migrate(t.Context())
	for _, err := range []error{err1, err2} {
		if err == nil || !strings.Contains(err.Error(), "update this program") {
			t.Errorf("schema from the future: %v", err)
		}
	}
	storetest.State(t, working) // what is connected goes on
	pgtest.Exec(t, address, "ALTER TABLE repertoire.catalogs RENAME COLUMN found TO number")
	_, err := working.State(t.Context())
	_, again := working.State(t.Context())
	if err == nil || again == nil || !strings.Contains(again.Error(), "update this program") {
		t.Errorf("when the schema does not fit: %v, then %v", err, again)
	}
}

// TestOlderSchema: this program needs its own schema.
func TestOlderSchema(t *testing.T) {
	address := pgtest.URL(t)
	migrated(t, address, nil)
	pgtest.Exec(t, address, "UPDATE repertoire.schema SET version = 0")
	if _, err := open(t, address, nil).State(t.Context()); err == nil || !strings.Contains(err.Error(), "push skills once") {
		t.Errorf("schema from the past: %v", err)
	}
}

// TestMigrateColumns: skills that an older program pushed, with a column for each field, keep
// their fields, and are read again at the next push, because there are more of them now.
func TestMigrateColumns(t *testing.T) {
	address := pgtest.URL(t)
	for _, file := range glob(t, "sql/schema/00[1-4]_*.sql") {
		pgtest.Exec(t, address, must.Read(t, file))
	}
	pgtest.Exec(t, address, `
UPDATE repertoire.schema SET version = 4;
INSERT INTO repertoire.catalogs (name, identity, generation, token, newest, found) VALUES ('default', 'x', 1, 7, 2, 2);
INSERT INTO repertoire.generations VALUES (1, 1, 7);
INSERT INTO repertoire.sources VALUES (1, 1, 'a', '', 0, 1, '', false, '');
INSERT INTO repertoire.skills (catalog, id, source, refused, own_folder, tokens, path, stamp, digest, text_digest, name, name_key,
  location, description, tags, needs, triggers) VALUES
 (1, 1, 1, false, true, 300, 'pdf/SKILL.md', 's', 'd', 't', 'pdf', 'pdf', 'a:pdf/SKILL.md', 'Fill forms.', '["office"]', '{"commands":["qpdf"]}', '{"verbs":["fill"]}'),
 (1, 2, 1, true, false, 0, 'x/SKILL.md', 's', 'd', '', '', '', '', '', '', '', ''),
 (1, 3, 1, false, true, 0, 'y/SKILL.md', 's', 'd', '', convert_to('Größter', 'UTF8'), convert_to('größter straßenzählё ςß', 'UTF8') || '\xc3', '', '', '', '', '')`)
	db := migrated(t, address, nil)
	entries, err := db.Entries(t.Context(), nil)
	want := skill.Meta{ID: "pdf", Name: "pdf", Description: "Fill forms.", Source: "a", Path: "pdf/SKILL.md", Location: "a:pdf/SKILL.md",
		Tags: []string{"office"}, Needs: skill.Needs{Commands: []string{"qpdf"}}, Triggers: skill.Triggers{Verbs: []string{"fill"}},
		Tokens: 300, TextDigest: "t"} // no Digest: the next push reads it again
	if err != nil || len(entries) != 3 || entries[1].NameKey != "grösster strassenzählе σss\xc3" || !reflect.DeepEqual(entries[2].Meta, want) || !entries[0].Refused {
		t.Errorf("entries %+v, %v; want %+v", entries, err, want)
	}
	known, err := db.Known(t.Context(), 1, nil)
	if k := known["pdf/SKILL.md"]; err != nil || len(known) != 3 || k.Stamp+k.Digest != "" || k.Name != "pdf" {
		t.Errorf("known %+v, %v", known, err)
	}
}

// TestRemovedCatalog: what is open notices that its catalog is gone, and finds the next one.
func TestRemovedCatalog(t *testing.T) {
	address := pgtest.URL(t)
	db := migrated(t, address, nil)
	before := storetest.State(t, db)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "d", "b"))
	pgtest.Exec(t, address, "DELETE FROM repertoire.catalogs")
	if _, err := db.State(t.Context()); !errors.Is(err, store.ErrStale) {
		t.Errorf("state of a catalog that is gone: %v", err)
	}
	if _, err := db.State(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the next state: %v", err)
	}
	must.Do(t, db.Migrate(t.Context()))
	if after := storetest.State(t, db); after.Catalog == before.Catalog || after.Found != 0 {
		t.Errorf("%+v was made again as %+v", before, after)
	}
}

// login returns the address of a database for a new user with a role.
func login(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	must.Do(t, err)
	name := "user_" + strings.ToLower(rand.Text()[:8])
	pgtest.Exec(t, address, "CREATE ROLE "+name+" LOGIN PASSWORD 'opensesame' IN ROLE "+role)
	t.Cleanup(func() { pgtest.Exec(t, address, "DROP ROLE "+name) })
	u.User = url.UserPassword(name, "opensesame")
	return u.String()
}

// TestRoles: a reader reads everything and changes nothing; a writer pushes, also into a
// new catalog, but needs no rights on the schema.
func TestRoles(t *testing.T) {
	address := pgtest.URL(t)
	pgtest.Exec(t, address, postgres.Roles()) // before the tables are made, and after
	migrated(t, address, nil)
	pgtest.Exec(t, address, postgres.Roles())

	w := migrated(t, login(t, address, "repertoire_writer"), &postgres.Options{Catalog: "written"})
	if w.ReadOnly() {
		t.Error("the writer may not write")
	}
	record := storetest.Record("pdf", "d", "b")
	rows := storetest.Put(t, w, store.Source{Label: "a"}, record)
	storetest.Update(t, w, func(tx store.Tx) error { return tx.PutVectors("m", record.Texts, storetest.Packed([]float32{1})) })

	r := open(t, login(t, address, "repertoire_reader"), &postgres.Options{Catalog: "written"})
	if err := r.Ready(t.Context()); err != nil || !r.ReadOnly() {
		t.Errorf("the reader: %v; read-only: %v", err, r.ReadOnly())
	}
	err := r.View(t.Context(), func(in store.Reader) error {
		all, err := in.Rankings(t.Context(), "m", rows)
		if len(all) != 1 || len(all[rows[0]].Vectors) != 1 {
			t.Errorf("the reader sees %+v", all)
		}
		return err
	})
	if err != nil || storetest.State(t, r) != storetest.State(t, w) || len(storetest.Offered(t, r)) != 1 {
		t.Errorf("the reader does not see what was written; %v", err)
	}
	for what, err := range map[string]error{
		"update":  r.Update(t.Context(), func(store.Tx) error { return nil }),
		"join":    r.Join(t.Context(), func(store.Store) error { return nil }),
		"migrate": open(t, login(t, address, "repertoire_reader"), &postgres.Options{Catalog: "new"}).Migrate(t.Context()),
	} {
		if !errors.Is(err, store.ErrReadOnly) || strings.Contains(err.Error(), "opensesame") {
			t.Errorf("%s by a reader: %v", what, err)
		}
	}
	_, err = open(t, login(t, address, "pg_read_all_settings"), nil).State(t.Context())
	if err == nil || errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "may not read") {
		t.Errorf("a stranger: %v", err)
	}
}

// TestRightsChange: a writer who gets or loses rights need not start again.
func TestRightsChange(t *testing.T) {
	address := pgtest.URL(t)
	migrated(t, address, nil)
	pgtest.Exec(t, address, postgres.Roles())
	pgtest.Exec(t, address, "REVOKE UPDATE ON repertoire.catalogs FROM repertoire_writer")
	w := open(t, login(t, address, "repertoire_writer"), nil)
	if err := w.Update(t.Context(), func(store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a writer who may not write: %v", err)
	}
	pgtest.Exec(t, address, postgres.Roles())
	storetest.Put(t, w, store.Source{Label: "a"})
	pgtest.Exec(t, address, "REVOKE INSERT, UPDATE, DELETE ON repertoire.sources FROM repertoire_writer")
	err := w.Update(t.Context(), func(tx store.Tx) error { _, err := tx.PutSource(store.Source{Label: "b"}); return err })
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a writer without rights: %v", err)
	}
}
