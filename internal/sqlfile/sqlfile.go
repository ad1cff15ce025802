// Package sqlfile reads the SQL of an engine, which the engine keeps in files that are part of
// the program: sql/NAME.sql holds one statement, and sql/schema/*.sql are the migrations.
package sqlfile

import (
	"embed"
	"fmt"
	"io/fs"
)

// Statement returns the text of sql/NAME.sql. The names are constants of the engines, so a
// missing file is a programming error that their tests find.
func Statement(files embed.FS, name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("no statement %q", name))
	}
	return string(text)
}

// Migrations returns the texts of sql/schema/*.sql in the order of their names.
func Migrations(files embed.FS) ([]string, error) {
	names, err := fs.Glob(files, "sql/schema/*.sql") // sorted, as ReadDir is
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts[i] = string(text)
	}
	return texts, nil
}
