package repertoire_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

// postgresNode opens a catalog over a database; its copy is in the folder dir.
func postgresNode(t *testing.T, url, dir string, changed func()) *repertoire.Catalog {
	t.Helper()
	db, err := postgres.Open(url, &postgres.Options{ReadOnly: true})
	must.Do(t, err)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Store: db, DB: filepath.Join(dir, "copy"), Changed: changed})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

// TestNodesPostgres: nodes answer every question while their database is killed and started
// again, and notice afterwards what has changed.
func TestNodesPostgres(t *testing.T) {
	testsize.Long(t)
	server := pgtest.Start(t, nil)
	url := server.URL(t)
	writer, err := postgres.Open(url, nil)
	must.Do(t, err)
	defer writer.Close()
	must.Do(t, writer.Migrate(t.Context()))
	pushed(t, writer, "bread", "cake")

	var nodes []*repertoire.Catalog
	changes := make(chan int, 100)
	machines := t.TempDir()
	for i := range 8 { // two on each machine
		dir := filepath.Join(machines, fmt.Sprint(i/2))
		nodes = append(nodes, postgresNode(t, url, dir, func() { changes <- i }))
	}
	stop, asking := make(chan struct{}), sync.WaitGroup{}
	var asked, failed atomic.Int64
	for _, n := range nodes { // what was read once can be read without the database
		_, err := n.Body(t.Context(), "bread", nil)
		must.Do(t, err)
	}
	for _, n := range nodes {
		asking.Go(func() {
			for ; ; asked.Add(1) {
				select {
				case <-stop:
					return
				default:
				}
				_, err := n.Block(t.Context(), "Please bake a bread for the guests", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil)
				if err == nil {
					_, err = n.Body(t.Context(), "bread", nil)
				}
				if err != nil && failed.Add(1) < 3 {
					t.Error(err)
				}
				time.Sleep(5 * time.Millisecond) // two cores are enough for the server too
			}
		})
	}
	all := func(state string) {
		t.Helper()
		for _, n := range nodes {
			(&follower{Catalog: n}).until(t, state)
		}
	}
	all(repertoire.Current)
	server.Kill(t)
	all(repertoire.Stale)
	server.Start(t)
	all(repertoire.Current)
	pushed(t, writer, "bread", "pie")
	for range nodes {
		select {
		case <-changes:
		case <-time.After(20 * time.Second):
			t.Fatal("a node did not notice the change")
		}
	}
	for i, n := range nodes {
		want(t, fmt.Sprint("skills of node ", i), list(t, n, nil, false), "bread", "pie")
	}
	close(stop)
	asking.Wait()
	if failed.Load() > 0 || asked.Load() == 0 {
		t.Errorf("%d of %d questions failed", failed.Load(), asked.Load())
	}
	t.Logf("%d questions", asked.Load())
}
