package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

// Usage says what one catalog of a database holds.
type Usage struct {
	Catalog    string
	Generation int64 // its number
	Sources    []SourceUsage
	Skills     int   // SKILL.md files, including refused ones
	Files      int   // of all skills
	Bytes      int64 // of different files
	Bases      int   // compiled bases
	BaseBytes  int64
}

// SourceUsage says what one source of a catalog holds.
type SourceUsage struct {
	store.Source // Label, Priority, Walked, Away and Origin
	Skills       int
	Refused      int // of them
}

// Usage returns what the catalogs of the database hold, ordered by name; none if nobody has
// pushed skills to it yet.
func (db *DB) Usage(ctx context.Context) ([]Usage, error) {
	c, err := db.read.Acquire(ctx)
	if err != nil {
		return nil, db.note(ctx, err)
	}
	defer c.Release()
	list, err := usage(ctx, c.Conn())
	return list, db.note(ctx, err)
}

func usage(ctx context.Context, conn *pgx.Conn) ([]Usage, error) {
	var version int
	err := conn.QueryRow(ctx, statement("version")).Scan(&version)
	if isState(err, undefinedTable, invalidSchema) {
		return nil, nil
	}
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		return nil, err
	}
	list, err := collect(ctx, conn, "usage", nil, func(row pgx.Rows) (u Usage, err error) {
		err = row.Scan(&u.Catalog, &u.Generation, &u.Skills, &u.Files, &u.Bytes, &u.Bases, &u.BaseBytes)
		return u, err
	})
	if err != nil {
		return nil, err
	}
	at := make(map[string]*Usage)
	for i := range list {
		at[list[i].Catalog] = &list[i]
	}
	_, err = collect(ctx, conn, "usage_sources", nil, func(row pgx.Rows) (s SourceUsage, err error) {
		var catalog string
		err = row.Scan(&catalog, text(&s.Label), &s.Priority, &s.Away, &s.Walked, text(&s.Origin), &s.Skills, &s.Refused)
		if u := at[catalog]; u != nil { // else it was made just now
			u.Sources = append(u.Sources, s)
		}
		return s, err
	})
	return list, err
}
