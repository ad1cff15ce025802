package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// A scratch is the folder of one check. It lies beside the catalog, in a folder that holds the
// scratches of all checks that run:
//
//	lock         held while a scratch is made or swept
//	NUMBER/held  locked as long as the process lives whose scratch it is
type scratch struct {
	dir  string
	held *flock.Flock
}

// newScratch makes a scratch in a folder, and removes those that killed processes have left.
func newScratch(above string) (_ *scratch, err error) {
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for checks: %w", err)
	}
	lock := flock.New(filepath.Join(above, "lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil { // nobody holds it for long
		return nil, fmt.Errorf("locking %s: %w", above, err)
	}
	defer lock.Close()
	sweep(above)
	s := &scratch{}
	if s.dir, err = os.MkdirTemp(above, ""); err != nil {
		return nil, fmt.Errorf("making a folder for a check: %w", err)
	}
	s.held = heldIn(s.dir)
	if err := s.held.Lock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", s.dir, err), os.RemoveAll(s.dir))
	}
	return s, nil
}

func heldIn(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "held"), flock.SetPermissions(0o600))
}

// sweep removes the scratches that no process holds. Errors do not matter: the next check tries
// again.
func sweep(above string) {
	entries, _ := os.ReadDir(above)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(above, e.Name())
		held := heldIn(dir)
		if ok, err := held.TryLock(); ok && err == nil {
			held.Close()
			os.RemoveAll(dir)
		}
	}
}

// Close removes the scratch.
func (s *scratch) Close() error { return errors.Join(s.held.Close(), os.RemoveAll(s.dir)) }
