//go:build unix

package source

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What takes the place of a folder or a file between the look and the open
// must not block. This is tested from inside, as a race cannot be arranged:
// without the precautions these calls never return.
func TestOpenReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := (diskTree{path: dir}).folder("pipe"); err == nil {
		t.Errorf("opened a pipe as a folder: %v", f)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if f, err := openAndCheck(diskFolder{root}, "pipe"); !errors.Is(err, ErrRefused) {
		t.Errorf("opened a pipe as a file: %v, %v", f, err)
	}
}
