// Package catalogtest opens catalogs for the tests of packages that ask one.
package catalogtest

import (
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// Open opens a catalog in a temporary folder, unless cfg says another, scans its sources once
// and closes it when the test ends.
func Open(t testing.TB, cfg repertoire.Config) *repertoire.Catalog {
	t.Helper()
	if cfg.DB == "" {
		cfg.DB = filepath.Join(t.TempDir(), "catalog.db")
	}
	cfg.Schedule = repertoire.Never
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	return c
}
