package postgres_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
)

// TestStatements: the server accepts every statement, and the package uses each.
func TestStatements(t *testing.T) {
	address := pgtest.URL(t)
	migrated(t, address, nil)
	conn, err := pgx.Connect(t.Context(), address)
	must.Do(t, err)
	defer conn.Close(t.Context())
	var source strings.Builder
	for _, name := range glob(t, "*.go") {
		source.WriteString(must.Read(t, name))
	}
	for _, file := range glob(t, "sql/*.sql") {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		if !strings.Contains(source.String(), `"`+name+`"`) {
			t.Errorf("nothing uses %s", file)
		}
		if name == "roles" {
			continue // many statements; a test runs them
		}
		text, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), conn, must.Read(t, file), nil)
		if err == nil {
			_, err = conn.Prepare(t.Context(), name, text)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	return names
}
