package sqlite

import (
	"embed"

	"github.com/repertoire-skills/repertoire/internal/sqlfile"
	"github.com/repertoire-skills/repertoire/skill"
)

// schema makes the tables of a catalog. A catalog can be made again from its sources, so
// there is nothing to migrate: one with an older schema is replaced.
//
//go:embed sql/schema/catalog.sql
var schema string

// schemaNumber grows whenever schema changes, of which a test knows the text that belongs to it,
// and whenever the terms or texts change that are kept of a skill, or what is read of a SKILL.md.
const schemaNumber = 15

// schemaVersion is kept in the file, as user_version. It grows with every new field of a
// skill, too, which older records lack.
func schemaVersion() int { return schemaNumber<<8 | int(skill.MetaVersion()) }

// statements holds one SQL statement in each file; a test prepares all of them.
//
//go:embed sql/*.sql
var statements embed.FS

func statement(name string) string { return sqlfile.Statement(statements, name) }
