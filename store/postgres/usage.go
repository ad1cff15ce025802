package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Usage says what one catalog of a database holds.
type Usage struct {
	Name       string        `json:"name"`
	Generation int64         `json:"generation"` // its number
	Skills     int           `json:"skills"`     // SKILL.md files, including refused ones
	Files      int           `json:"files"`      // of all skills
	Bytes      int64         `json:"bytes"`      // of different files
	Bases      int           `json:"bases"`      // compiled bases
	BaseBytes  int64         `json:"base_bytes"`
	Sources    []SourceUsage `json:"sources"` // not nil
}

// SourceUsage says what one source of a catalog holds.
type SourceUsage struct {
	Label    string `json:"label"`
	Priority int    `json:"priority"`
	Skills   int    `json:"skills"`
	Refused  int    `json:"refused"`          // of them
	Away     bool   `json:"away,omitempty"`   // as store.Source.Away
	Origin   string `json:"origin,omitempty"` // as store.Source.Origin
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
		u.Sources = []SourceUsage{}
		err = row.Scan(&u.Name, &u.Generation, &u.Skills, &u.Files, &u.Bytes, &u.Bases, &u.BaseBytes)
		return u, err
	})
	if err != nil {
		return nil, err
	}
	at := make(map[string]*Usage)
	for i := range list {
		at[list[i].Name] = &list[i]
	}
	_, err = collect(ctx, conn, "usage_sources", nil, func(row pgx.Rows) (s SourceUsage, err error) {
		var catalog string
		err = row.Scan(&catalog, text(&s.Label), &s.Priority, &s.Away, text(&s.Origin), &s.Skills, &s.Refused)
		if u := at[catalog]; u != nil { // else it was made just now
			u.Sources = append(u.Sources, s)
		}
		return s, err
	})
	return list, err
}
