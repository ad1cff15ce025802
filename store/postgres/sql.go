package postgres

import (
	"embed"

	"github.com/repertoire-skills/repertoire/internal/sqlfile"
)

// schema holds the migrations, applied in the order of their names. It is append-only: a
// released file is never edited; every change is a new file.
//
//go:embed sql/schema/*.sql
var schema embed.FS

// steps holds what a migration runs between the files of the schema.
//
//go:embed sql/steps/*.sql
var steps embed.FS

// statements holds one SQL statement in each file; a test prepares all of them. Every
// statement gets the number of the catalog as @catalog.
//
//go:embed sql/*.sql
var statements embed.FS

func statement(name string) string { return sqlfile.Statement(statements, name) }

// migrations returns the texts of the schema files, oldest first. Their number is the
// version of the schema.
func migrations() ([]string, error) { return sqlfile.Migrations(schema) }
