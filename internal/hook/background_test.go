package hook

import (
	"errors"
	"os"
	"testing"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/slots"
)

// TestIndexing: a process indexes as long as it holds the lock; looking makes no lock.
func TestIndexing(t *testing.T) {
	state, db := t.TempDir(), "/cache/catalog.db"
	if Indexing(state, db) {
		t.Error("nobody has ever indexed")
	}
	if files, err := os.ReadDir(state); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	lock := flock.New(lockFile(state, db))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if !Indexing(state, db) || Indexing(state, "/cache/other.db") {
		t.Error("the lock is not seen, or taken for that of another catalog")
	}
	must.Do(t, lock.Close())
	if Indexing(state, db) {
		t.Error("the process has ended")
	}
}

// TestStartLater: an index that cannot wait for its turn is not counted as started, so the next prompt asks again.
func TestStartLater(t *testing.T) {
	state, asked := t.TempDir(), 0
	b := Background{
		State: state, DB: "/cache/catalog.db", Once: func() bool { asked++; return true },
		Args: func(_, _, _ string) ([]string, error) { return nil, errors.New("no index here") },
	}
	var all []*slots.Claim
	for range slots.Places {
		c, err := slots.Place(state)
		must.Do(t, err)
		all = append(all, c)
	}
	if err := b.Start(); err != nil || asked > 0 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	for _, c := range all {
		must.Do(t, c.Free())
	}
	if err := b.Start(); err == nil || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if err := b.Start(); err != nil || asked != 1 { // which fails each time
		t.Errorf("asked %d times at once again: %v", asked, err)
	}
}
