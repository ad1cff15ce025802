//go:build unix

package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/storetest"
)

// TestOpenInReadOnlyFolder runs as another user when this one is root, whom
// permissions do not stop.
func TestOpenInReadOnlyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	path := filepath.Join(dir, "catalog.db")
	db, err := Open(t.Context(), path, nil)
	must.Do(t, err)
	storetest.Put(t, db, store.Source{Label: "a"}, storetest.Record("pdf", "fill forms", "body"))
	must.Do(t, db.Close())
	must.Do(t, errors.Join(os.Remove(path+".lock"), os.Chmod(path, 0o444), os.Chmod(dir, 0o555)))
	defer os.Chmod(dir, 0o755)
	cmd := child(t, "read-only", path)
	if os.Geteuid() == 0 {
		asNobody(t, cmd, filepath.Dir(dir))
	}
	if out, err := cmd.Output(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// asNobody makes cmd run without privileges, from a copy of the binary that everybody can
// read.
func asNobody(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	binary, err := os.ReadFile(cmd.Path)
	must.Do(t, err)
	cmd.Path = filepath.Join(dir, "child")
	err = errors.Join(os.WriteFile(cmd.Path, binary, 0o755),
		os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	must.Do(t, err)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
