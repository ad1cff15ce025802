// Package catalogtest opens catalogs for the tests of packages that ask one.
package catalogtest

import (
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/sourcetest"
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

// Half makes cfg the configuration of a catalog that has been read before, and of a new source
// that is held up. The caller releases the source before he closes the
// catalog that he opens with cfg.
func Half(t testing.TB, cfg *repertoire.Config, added source.Source) *sourcetest.Held {
	t.Helper()
	cfg.DB, cfg.Schedule = filepath.Join(t.TempDir(), "catalog.db"), repertoire.Never
	c, err := repertoire.Open(t.Context(), *cfg)
	must.Do(t, err)
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	must.Do(t, c.Close())
	held := sourcetest.Hold(added)
	cfg.Sources, cfg.Schedule, cfg.Background = append(cfg.Sources, held), "@every 1h", true
	return held
}
