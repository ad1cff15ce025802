package postgres_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// open opens a catalog until the end of the test.
func open(t testing.TB, url string, o *postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(url, o)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// migrated opens a catalog and makes it if there is none.
func migrated(t testing.TB, url string, o *postgres.Options) *postgres.DB {
	t.Helper()
	db := open(t, url, o)
	must.Do(t, db.Migrate(t.Context()))
	return db
}

// TestShared runs the contract of engines for several machines with the roles that such
// machines have.
func TestShared(t *testing.T) {
	owner := pgtest.URL(t)
	pgtest.Exec(t, owner, postgres.Roles())
	urls := map[bool]string{false: login(t, owner, "repertoire_writer"), true: login(t, owner, "repertoire_reader")}
	storetest.TestShared(t, func(t *testing.T) storetest.Opener {
		migrated(t, owner, &postgres.Options{Catalog: t.Name()})
		return func(readOnly bool) storetest.Shared {
			return open(t, urls[readOnly], &postgres.Options{Catalog: t.Name()})
		}
	})
}

// TestStore runs the contract with catalogs of one database.
func TestStore(t *testing.T) {
	url := pgtest.URL(t)
	storetest.Test(t, func(t *testing.T) store.Store {
		return migrated(t, url, &postgres.Options{Catalog: t.Name()})
	})
}
