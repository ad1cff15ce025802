package regular_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// TestIn: a folder holds itself and what is below it; nothing lies in no folder.
func TestIn(t *testing.T) {
	for _, tt := range []struct {
		folder, name string
		want         bool
	}{
		{"/a", "/a", true}, {"/a", "/a/b/c", true}, {"/a/", "/a/..b", true}, {"/", "/a", true},
		{"/a", "/", false}, {"/a", "/ab", false}, {"/a", "/a/../b", false}, {"/a", "a", false}, {"", "", false}, {"", "/a", false},
	} {
		if got := regular.In(filepath.FromSlash(tt.folder), filepath.FromSlash(tt.name)); got != tt.want {
			t.Errorf("%q in %q: %t", tt.name, tt.folder, got)
		}
	}
}

// TestReal: links are resolved as far as a path exists, also one that leads to what is not there.
func TestReal(t *testing.T) {
	dir, links := regular.Real(t.TempDir()), make(regular.Links)
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, os.Mkdir(at("a"), 0o700))
	for link, target := range map[string]string{"there": "a", "gone": "b", "loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string]string{"there": "a", "there/x/y": "a/x/y", "gone/x": "b/x", "loop/x": "loop/x", "a/../a": "a"} {
		if got := links.Real(at(path)); got != at(want) {
			t.Errorf("with others, %s is %s, want %s", path, got, at(want))
		}
		if got := regular.Real(at(path)); got != at(want) {
			t.Errorf("%s is %s, want %s", path, got, at(want))
		}
	}
	if got := regular.Real(""); got != "" {
		t.Errorf("no path is %q", got)
	}
}

// TestSize: the files of all folders below count; what cannot be read is an error, and the rest
// counts all the same.
func TestSize(t *testing.T) {
	dir := t.TempDir()
	must.Files(t, dir, map[string]string{"a": "12345", "b/c": "123"})
	if n, err := regular.Size(dir); n != 8 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := regular.Size(filepath.Join(dir, "x")); n != 0 || err == nil {
		t.Errorf("no folder: %d bytes, %v", n, err)
	}
}
