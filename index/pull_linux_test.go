package index_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestPullReadOnly: where the disk became read-only, a machine goes on from memory.
func TestPullReadOnly(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	s, path := newSharing(t), filepath.Join(disk, "copy")
	s.puts(t, "bread", "cake")
	own := s.st.Another(true)
	c := copyOf(t, own, path)
	pulls(t, c)
	must.Do(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s.puts(t, "cake")
	if _, err := c.Pull(t.Context()); !errors.Is(err, syscall.EROFS) {
		t.Errorf("the old copy cannot be withdrawn: %v", err)
	}
	holds(t, "on a read-only disk", c, "cake")
	pulls(t, c)
	fresh := copyOf(t, own, filepath.Join(disk, "other"))
	pulls(t, fresh)
	holds(t, "without an old copy", fresh, "cake")
}
