package remote

import (
	"errors"
	"os"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

// swap puts a new folder in the place of the one at path. Nobody finds half of one there, and
// what somebody has open stays until the next swap: the old folder is at path.old.
func swap(fresh, path string) error { return swapWith(atomicfile.Exchange, fresh, path) }

func swapWith(exchange func(a, b string) error, fresh, path string) error {
	old := path + ".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if !exists(path) {
		return os.Rename(fresh, path)
	}
	if err := exchange(fresh, path); err == nil {
		return os.Rename(fresh, old)
	}
	// For a moment nothing is at path; readers find that the source is away, and keep its
	// skills.
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Rename(old, path))
	}
	return nil
}
