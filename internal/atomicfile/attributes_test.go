//go:build linux || darwin || freebsd || netbsd

package atomicfile_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestReplaceKeeps: whoever replaces a file, its permissions, owner, group, attributes and
// names stay.
func TestReplaceKeeps(t *testing.T) {
	for _, size := range []int{0, 1, 100_000} {
		name := filepath.Join(t.TempDir(), "file")
		must.Do(t, os.WriteFile(name, []byte("the content before"), 0o600))
		must.Do(t, os.Chmod(name, 0o664|fs.ModeSticky))
		if err := unix.Setxattr(name, "user.tag", []byte("blue\x00green"), 0); err != nil {
			t.Skip("no extended attributes here: ", err)
		}
		if os.Geteuid() == 0 {
			must.Do(t, os.Chown(name, 1234, 5678))
		}
		before, err := os.Stat(name)
		must.Do(t, err)
		text := strings.Repeat("x", size)
		must.Do(t, atomicfile.Replace(name, []byte(text), 0o600, nil))
		wantFile(t, name, text)
		after, err := os.Stat(name)
		must.Do(t, err)
		was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
		if after.Mode() != before.Mode() || is.Uid != was.Uid || is.Gid != was.Gid {
			t.Errorf("mode %v, owner %d, group %d; want %v, %d, %d", after.Mode(), is.Uid, is.Gid, before.Mode(), was.Uid, was.Gid)
		}
		value := make([]byte, 100)
		if n, err := unix.Getxattr(name, "user.tag", value); err != nil || string(value[:n]) != "blue\x00green" {
			t.Errorf("the attribute is %q, %v", value[:max(n, 0)], err)
		}
		if os.SameFile(before, after) {
			t.Error("the file was overwritten, although it could be replaced")
		}
	}
}

// TestReplaceLinked: a file with several names keeps them, whether it gets longer or
// shorter; an error of check leaves it as it is.
func TestReplaceLinked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	other := filepath.Join(t.TempDir(), "other")
	must.Do(t, os.WriteFile(name, []byte("before"), 0o600))
	must.Do(t, os.Link(name, other))
	for _, text := range []string{"a longer text", "", "short"} {
		must.Do(t, atomicfile.Replace(name, []byte(text), 0o644, nil))
		wantFile(t, name, text)
		wantFile(t, other, text)
	}
	refuse := func() error { return fs.ErrInvalid }
	if err := atomicfile.Replace(name, []byte("b"), 0o600, refuse); err == nil {
		t.Error("an error of check is ignored")
	}
	wantFile(t, other, "short")
}

// replaceAsNobody replaces a file in a process without privileges, to which the folder of
// the file belongs.
func replaceAsNobody(t *testing.T, name, text string) {
	t.Helper()
	const nobody = 65534
	exe, err := os.Executable()
	must.Do(t, err)
	binary, err := os.ReadFile(exe)
	must.Do(t, err)
	top := t.TempDir()
	exe = filepath.Join(top, "child")
	must.Do(t, os.WriteFile(exe, binary, 0o755))
	dir := filepath.Dir(name)
	for _, d := range []string{top, filepath.Dir(top), dir} {
		must.Do(t, os.Chmod(d, 0o755))
	}
	must.Do(t, os.Chown(dir, nobody, nobody))
	cmd := exec.Command(exe)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), childPath+"="+name, childText+"="+text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestReplaceOfRoot: a user may replace a file of root that he can write. It stays root's,
// and what a killed process of root has left is in nobody's way.
func TestReplaceOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	name := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(name, []byte("the content before"), 0o666))
	must.Do(t, os.Chmod(name, 0o666))
	must.Do(t, os.WriteFile(atomicfile.Temp(name), []byte("half of"), 0o600))
	before, err := os.Stat(name)
	must.Do(t, err)
	replaceAsNobody(t, name, "after")
	wantFile(t, name, "after")
	after, err := os.Stat(name)
	must.Do(t, err)
	if !os.SameFile(before, after) || after.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("mode %v, owner %d", after.Mode(), after.Sys().(*syscall.Stat_t).Uid)
	}
}
