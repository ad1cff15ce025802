package sqlite

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

// schema holds the migrations, applied in the order of their names. It is append-only: a
// released file is never edited; every change is a new file.
//
//go:embed sql/schema/*.sql
var schema embed.FS

// statements holds one SQL statement in each file; a test prepares all of them.
//
//go:embed sql/*.sql
var statements embed.FS

// statement returns the text of sql/<name>.sql. The names are constants of
// this package, so a missing file is a programming error that the tests find.
func statement(name string) string {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("sqlite: no statement %q", name))
	}
	return string(text)
}

// migrations returns the texts of the schema files, oldest first.
func migrations() ([]string, error) {
	names, err := fs.Glob(schema, "sql/schema/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := schema.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}
