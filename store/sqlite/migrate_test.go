package sqlite

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// rowsOfSchema2 are the rows of a catalog with schema 2: two sources, a skill that shadows
// another, a refused skill, and the vector [127] of the text that the first two skills
// have (the description of storetest.Record("pdf", "d", "b")).
const rowsOfSchema2 = `
INSERT INTO sources (id, label, root, priority, walked) VALUES (3, 'a', '/a', 1, 7), (5, 'b', '', 0, 8);
INSERT INTO skills (id, source_id, refused, tokens, path, stamp, digest, name, name_key, location, tags, requires, description) VALUES
  (11, 3, 0, 1, 'pdf/SKILL.md', 's', 'd', 'pdf', 'pdf', '', '[]', '[]', 'd'),
  (12, 5, 0, 1, 'pdf/SKILL.md', 's', 'd', 'pdf', 'pdf', '', '[]', '[]', 'd'),
  (13, 5, 1, 0, 'x/SKILL.md', 's', 'd', '', '', '', '[]', '[]', '');
UPDATE skills SET shadowed_by = 11 WHERE id = 12;
INSERT INTO bodies VALUES (11, x'00'), (12, x'00');
INSERT INTO files VALUES (11, 'SKILL.md', 1, '');
INSERT INTO texts VALUES (11, 0, :hash), (12, 0, :hash);
INSERT INTO models VALUES (1, 'm');
INSERT INTO vectors VALUES (1, :hash, x'0000803f7f');
INSERT INTO fields VALUES (11, x'00'), (12, x'00');
INSERT INTO fts (rowid, name, description, tags, body) VALUES (11, 'pdf', 'd', '', 'b'), (12, 'pdf', 'd', '', 'b');
INSERT INTO changes VALUES (11, 1, 9);
UPDATE state SET generation = 9, feed = 2`

// TestMigrateSchema2: after the migration, skills must be read again; their vectors are
// kept for them.
func TestMigrateSchema2(t *testing.T) {
	path := schema2(t, rowsOfSchema2)
	db := open(t, path)
	checkWhole(t, db)
	state := storetest.State(t, db)
	if state.Found != 0 || state.Generation.Number != 9 || state.Generation.Token == 0 || len(state.Catalog) != 16 || db.Recovered() != "" {
		t.Errorf("state %+v, recovered %q", state, db.Recovered())
	}
	for _, since := range []store.Generation{{}, {Number: 8}, {Number: 9}} {
		if rows, ok, err := db.Changes(t.Context(), since, "m"); ok || err != nil {
			t.Errorf("changes since %+v: %v, %v", since, rows, err)
		}
	}
	if rows, ok, err := db.Changes(t.Context(), state.Generation, "m"); len(rows) != 0 || !ok || err != nil {
		t.Errorf("changes since now: %v, %v, %v", rows, ok, err)
	}
	sources, err := db.Sources(t.Context())
	if want := []store.Source{{Row: 3, Label: "a", Root: "/a", Priority: 1}, {Row: 5, Label: "b"}}; err != nil || !reflect.DeepEqual(sources, want) {
		t.Errorf("sources %+v, %v; want %+v", sources, err, want)
	}
	if found := matchIDs(t, db, "pdf OR b", nil, 9); len(found) != 0 {
		t.Errorf("full text still finds %v", found)
	}

	row := storetest.Put(t, db, store.Source{Label: "a", Root: "/a", Priority: 1}, storetest.Record("pdf", "d", "b"))[0]
	if row <= 13 {
		t.Errorf("row %d was given out again", row)
	}
	vectors, err := db.Vectors(t.Context(), "m", row)
	if err != nil || len(vectors) != 1 || !reflect.DeepEqual(vectors[0].Values, []float32{127}) {
		t.Errorf("vectors %+v, %v", vectors, err)
	}
	if rows, ok, err := db.Changes(t.Context(), state.Generation, "m"); len(rows) != 1 || !ok || err != nil {
		t.Errorf("changes since the migration: %v, %v, %v", rows, ok, err)
	}
	if again := open(t, path); storetest.State(t, again) != storetest.State(t, db) {
		t.Error("it was migrated twice")
	}
}

// TestMigrateEmptySchema2: a migrated catalog without skills is like a new one.
func TestMigrateEmptySchema2(t *testing.T) {
	db := open(t, schema2(t, ""))
	if state := storetest.State(t, db); state.Generation != (store.Generation{}) {
		t.Errorf("state %+v", state)
	}
	checkWhole(t, db)
}

// TestMigrateSchema6: the skills of a catalog of before are read again, and its generation
// is another one.
func TestMigrateSchema6(t *testing.T) {
	texts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	makeDatabase(t, path, strings.Join(texts[:6], "")+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 6", applicationID))
	makeDatabase(t, path, `
INSERT INTO sources (id, label, root, priority, walked) VALUES (3, 'a', '/a', 1, 7);
INSERT INTO skills (id, source_id, refused, tokens, path, stamp, digest, name, name_key, location, tags, requires, description) VALUES
  (11, 3, 0, 1, 'pdf/SKILL.md', 's', 'd', 'pdf', 'pdf', '', '[]', '["gh"]', 'd');
INSERT INTO fts (rowid, name) VALUES (11, 'pdf');
UPDATE state SET generation = 9, token = 5; INSERT INTO generations VALUES (9, 5)`)
	db := open(t, path)
	checkWhole(t, db)
	state := storetest.State(t, db)
	if state.Found != 0 || state.Generation.Number != 9 || state.Generation.Token == 5 {
		t.Errorf("state %+v", state)
	}
	if rows, ok, err := db.Changes(t.Context(), store.Generation{Number: 9, Token: 5}, ""); ok || err != nil {
		t.Errorf("changes since the generation of before: %v, %v", rows, err)
	}
	if found := matchIDs(t, db, "pdf", nil, 9); len(found) != 0 {
		t.Errorf("full text still finds %v", found)
	}
	r := storetest.Record("pdf", "d", "b")
	r.Skill.Needs.Commands = []string{"gh"}
	r.Skill.Triggers.Keywords = []string{"merge"}
	storetest.Put(t, db, store.Source{Label: "a", Root: "/a", Priority: 1}, r)
	entries, err := db.Entries(t.Context(), nil)
	if err != nil || len(entries) != 1 || !reflect.DeepEqual(entries[0].Needs, r.Skill.Needs) || !reflect.DeepEqual(entries[0].Triggers, r.Skill.Triggers) {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

// schema2 makes a catalog of schema 2 with these rows, and returns its path.
func schema2(t *testing.T, rows string) string {
	t.Helper()
	texts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	makeDatabase(t, path, texts[0]+texts[1]+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 2", applicationID))
	hash := fmt.Sprintf("x'%x'", storetest.Record("pdf", "d", "b").Texts[0])
	makeDatabase(t, path, "PRAGMA foreign_keys = on;"+strings.ReplaceAll(rows, ":hash", hash))
	return path
}
