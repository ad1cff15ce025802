//go:build unix

package index_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestUnwritable: an unwritable folder costs speed, and nothing else. Permissions do
// not stop root, so as root the child process runs as another user.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	top := t.TempDir()
	dir := filepath.Join(top, "cache")
	exe, err := os.Executable()
	must.Do(t, err)
	binary, err := os.ReadFile(exe)
	must.Do(t, err)
	exe = filepath.Join(top, "child")
	err = errors.Join(os.WriteFile(exe, binary, 0o755), os.Mkdir(dir, 0o700), os.Chmod(top, 0o755), os.Chmod(filepath.Dir(top), 0o755))
	must.Do(t, err)
	cmd := exec.Command(exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), unwritableDir+"="+dir)
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		must.Do(t, os.Chown(dir, nobody, nobody))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
