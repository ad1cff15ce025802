package install

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: on a full disk nothing is half-installed, wherever it runs full, and what was
// there stays.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { try(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	from := skills(t, t.TempDir(), "cat", "dog")
	ballast := filepath.Join(disk, "ballast")
	for _, at := range []string{"fetch", "journal", "old", "lock"} {
		for call, again := range killed {
			in, err := Open(filepath.Join(disk, "skills"), nil)
			try(t, err)
			write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
			add(t, in, from, "cat")
			write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", strings.Repeat("Feeds the cat. ", 2000)))
			in.step = func(what string) {
				if what == at {
					fill(t, ballast)
				}
			}
			err = again(t, in, from)
			in.step = func(string) {}
			if exists(ballast) { // an update does not come by "fetch"
				says(t, err, "no space left on device; nothing was changed: make room on the disk of "+in.dir+", and try again")
				try(t, os.Remove(ballast))
				clean(t, in, "cat")
			}
			t.Logf("%s, %s: %v", call, at, err)
			try(t, os.RemoveAll(in.dir))
		}
	}
}

// fill fills the disk of a file to the last byte.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	try(t, err)
	if _, err := io.Copy(f, bytes.NewReader(make([]byte, 1<<20))); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	try(t, f.Close())
}
