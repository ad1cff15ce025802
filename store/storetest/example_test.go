package storetest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// counted is an engine around another one, which counts the transactions. It embeds the other one as
// it is, not as a store.Store: a catalog also asks for the methods of store.Files and store.Watcher.
type counted struct {
	*memorytest.Store // or *postgres.DB
	updates           *atomic.Int64
}

// Update implements store.Store.
func (c counted) Update(ctx context.Context, f func(store.Tx) error) error {
	c.updates.Add(1)
	return c.Store.Update(ctx, f)
}

// TestCounted runs the contract suite on the engine: Test is for all engines, TestShared for those that
// several machines share.
func TestCounted(t *testing.T) {
	updates := new(atomic.Int64)
	storetest.Test(t, func(*testing.T) store.Store { return counted{memorytest.New(), updates} })
	storetest.TestShared(t, func(*testing.T) storetest.Opener {
		s := memorytest.New()
		return func(readOnly bool) storetest.Shared { return counted{s.Another(readOnly), updates} }
	})
	if updates.Load() == 0 {
		t.Error("the suite made no transaction")
	}
}

// A catalog over an engine of your own.
func Example_engine() {
	ctx := context.Background()
	engine := counted{memorytest.New(), new(atomic.Int64)}
	err := engine.Update(ctx, func(tx store.Tx) error { // as whoever pushes skills does
		team, err := tx.PutSource(store.Source{Label: "team"})
		if err != nil {
			return err
		}
		if err := tx.Walked(team, 1, ""); err != nil {
			return err
		}
		_, err = tx.PutSkill(team, storetest.Record("sourdough", "Bake bread with a crisp crust.", "Rest the dough."))
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	cache, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)

	catalog, err := repertoire.Open(ctx, repertoire.Config{
		Store: engine,
		DB:    filepath.Join(cache, "copy"), // needed unless the engine has a method Name() string
	})
	if err != nil {
		log.Fatal(err)
	}
	defer catalog.Close()
	skills, err := catalog.List(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(skills[0].ID, "of", skills[0].Source, "after", engine.updates.Load(), "transaction")

	// Output:
	// sourdough of team after 1 transaction
}
