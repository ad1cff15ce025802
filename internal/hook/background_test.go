package hook

import (
	"os"
	"testing"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/must"
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
