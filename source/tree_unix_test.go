//go:build unix

package source

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// What takes the place of a folder or a file between the look and the open
// must not block. This is tested from inside, as a race cannot be arranged:
// without the precautions these calls never return.
func TestOpenReplaced(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if f, err := (diskTree{path: filepath.Join(dir, "pipe")}).top(); err == nil {
		t.Errorf("opened a pipe as a source: %v", f)
	}
	top, err := diskTree{path: dir}.top()
	must.Do(t, err)
	defer top.Close()
	if f, err := top.enter("pipe"); err == nil {
		t.Errorf("opened a pipe as a folder: %v", f)
	}
	if f, err := top.(diskFolder).follow("pipe"); err == nil {
		t.Errorf("opened a pipe as a link to a folder: %v", f)
	}
	if f, err := openAndCheck(top, "pipe"); !errors.Is(err, ErrRefused) {
		t.Errorf("opened a pipe as a file: %v, %v", f, err)
	}
}
