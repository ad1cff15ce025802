package access

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// fill fills the disk of a folder, and returns a function that makes room again.
func fill(t *testing.T, dir string) (again func()) {
	t.Helper()
	return crashtest.Fill(t, filepath.Join(dir, "ballast"))
}

// readOnly makes the file system of a folder read-only.
func readOnly(t *testing.T, dir string) (again func()) {
	t.Helper()
	must.Do(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return func() { must.Do(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size=256k")) }
}

// onlyFile makes a folder read-only, but not the file of tokens in it.
func onlyFile(t *testing.T, dir string) (again func()) {
	t.Helper()
	file := filepath.Join(dir, "tokens.json")
	must.Do(t, syscall.Mount(file, file, "", syscall.MS_BIND, ""))
	must.Do(t, syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REC, ""))
	must.Do(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	return func() {
		must.Do(t, syscall.Unmount(dir, syscall.MNT_DETACH))
		must.Do(t, syscall.Unmount(file, syscall.MNT_DETACH))
	}
}

// TestRevokedNotKept: a token that was revoked when the list of tokens could not be written
// never counts again; the others count as soon as the list can be written.
func TestRevokedNotKept(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string) (again func()){
		"full disk": fill, "read-only disk": readOnly, "read-only folder": onlyFile,
	} {
		t.Run(name, func(t *testing.T) {
			e, dir := &engine{File: Open(t.TempDir())}, crashtest.SmallDisk(t, "256k")
			kept := filepath.Join(dir, "tokens.json")
			s := OpenShared(e, kept, nil)
			a, b := add(t, e, "a", "", time.Time{}), add(t, e, "b", "", time.Time{})
			must.Do(t, s.Reload(t.Context()))
			want(t, OpenShared(e, kept, nil), a, Caller{Name: "a"})

			again := spoil(t, dir)
			_, err := e.RevokeToken(t.Context(), "a")
			must.Do(t, err)
			if err := s.Reload(t.Context()); err == nil {
				t.Error("a list that is not kept is no error")
			}
			want(t, s, a, Caller{})
			want(t, s, b, Caller{Name: "b"})
			e.gone.Store(true)
			restarted := OpenShared(e, kept, nil)
			for _, secret := range []string{a, b} {
				if _, err := restarted.Check(t.Context(), secret); !errors.Is(err, errStarting) || !restarted.Any() {
					t.Errorf("after a restart: %v, any %t", err, restarted.Any())
				}
			}
			again()
			if err := s.Reload(t.Context()); !errors.Is(err, errGone) { // it keeps what it knows all the same
				t.Error(err)
			}
			restarted = OpenShared(e, kept, nil)
			want(t, restarted, a, Caller{})
			want(t, restarted, b, Caller{Name: "b"})
		})
	}
}
