package sqlite

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// statementNames returns the names of all statement files.
func statementNames(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(statements, "sql/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("statements: %v, %v", files, err)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".sql")
	}
	return names
}

func TestStatementsPrepare(t *testing.T) {
	db := open(t, dbPath(t))
	for _, name := range statementNames(t) {
		stmt, err := db.write.PrepareContext(t.Context(), statement(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stmt.Close()
	}
}

func TestStatementsUsed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must.Do(t, err)
	var source bytes.Buffer
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		must.Do(t, err)
		source.Write(text)
	}
	for _, name := range statementNames(t) {
		if !bytes.Contains(source.Bytes(), []byte(`"`+name+`"`)) {
			t.Errorf("sql/%s.sql: no source file names it", name)
		}
	}
}

// TestSchemaNumber: whoever changes the schema has to raise its number, by which catalogs of
// older versions are found.
func TestSchemaNumber(t *testing.T) {
	const known = "15 8a8169e0fbeae1cf48e6475dffc3cc78"
	if got := fmt.Sprintf("%d %.16x", schemaNumber, sha256.Sum256([]byte(schema))); got != known {
		t.Errorf("the schema is %q, not %q: raise schemaNumber and write the new text here", got, known)
	}
}

// TestPlans checks that no statement's plan has a step that makes it slow.
func TestPlans(t *testing.T) {
	db := open(t, dbPath(t))
	for name, bad := range map[string]string{
		"match":       "SCAN s", // the row of a hit is found by its ID
		"entries":     "SCAN o", // would search the skills once for each source
		"vectors_of":  "TEMP B-TREE",
		"unembedded":  "TEMP B-TREE",
		"stamps":      "SCAN skills",
		"coverage_of": "SCAN t",
		"changes":     "SCAN c",
		"frequencies": "TEMP B-TREE",
	} {
		if got := plan(t, db, name); strings.Contains(got, bad) {
			t.Errorf("%s: plan has %q:\n%s", name, bad, got)
		}
	}
}

// plan returns what SQLite does for a statement.
func plan(t *testing.T, db *DB, name string) string {
	t.Helper()
	var args []any
	for _, param := range regexp.MustCompile(`:[a-z]+`).FindAllString(statement(name), -1) {
		args = append(args, sql.Named(param[1:], nil))
	}
	rows, err := db.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement(name), args...)
	must.Do(t, err)
	var b strings.Builder
	err = each(name, rows, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		fmt.Fprintln(&b, detail)
		return err
	})
	must.Do(t, err)
	return b.String()
}
