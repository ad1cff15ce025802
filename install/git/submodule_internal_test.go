package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestBeside: a submodule is asked for at the host of its repository, as the repository is, and
// nowhere else.
func TestBeside(t *testing.T) {
	const origin = "https://team@h:8443/o/r.git"
	for _, c := range []struct{ origin, said, want string }{
		{origin, "../x.git", "https://team@h:8443/o/x.git"},
		{origin, "./x", "https://team@h:8443/o/r.git/x"},
		{origin, "../../../../../etc", "https://team@h:8443/etc"},
		{origin, "https://H:8443/a/b", "https://team@h:8443/a/b"},
		{origin, "https://other:pass@h:8443/a", "https://team@h:8443/a"},
		{origin, "git@h:a/b.git", "https://team@h:8443/a/b.git"},
		{origin, "ssh://git@h:22/a/b", "https://team@h:8443/a/b"},
		{origin, "https://h:8443/../../a", "https://team@h:8443/a"},
		{"git@h:o/r.git", "../x.git", "git@h:o/x.git"},
		{"git@h:o/r.git", "https://h/a/b", "git@h:a/b"},
		{"git@[::1]:o/r", "git@[::1]:a", "git@[::1]:a"},
		{"https://[::1]/o/r", "ssh://[::2]/a", "! another host"},
		{origin, "https://h/a", "! another host"},
		{origin, "https://h.evil/a", "! another host"},
		{origin, "https://h:8443@evil/a", "! another host"},
		{origin, "https://evil/h:8443/a", "! another host"},
		{origin, "file:///etc", "! begins with file"},
		{origin, "git://h/a", "! begins with git"},
		{origin, "ext::sh -c x", "! no URL"},
		{origin, "ext::sh", "! a command"},
		{origin, "/etc", "! a path"},
		{origin, "C:\\x", "! no URL"},
		{origin, "--upload-pack=x", "! a path"},
		{origin, "", "! no URL"},
		{origin, "../x\n--y", "! no URL"},
		{"file:///srv/r", "../x", "! on this machine"},
		{"file:///srv/r", "https://h/x", "! on this machine"},
	} {
		got, err := beside(c.origin, c.said)
		if err != nil {
			got = "! " + err.Error()
		}
		if bad, ok := strings.CutPrefix(c.want, "! "); got != c.want && !(ok && strings.Contains(got, bad)) {
			t.Errorf("%q beside %s: got %s, want %s", c.said, c.origin, got, c.want)
		}
	}
}

// FuzzBeside: whatever .gitmodules says, the URL of a submodule names the host of the repository.
func FuzzBeside(f *testing.F) {
	for _, said := range []string{"../x", "https://h/x", "git@h:x", "ext::x", "https://h@evil/x", "ssh://h/../x", "./../../x"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		for _, begin := range []string{"https://h/", "git@h:"} {
			if url, err := beside(begin+"o/r", said); err == nil && (!strings.HasPrefix(url, begin) || strings.ContainsAny(url, " \n\x00?#")) {
				t.Errorf("%q: %s", said, url)
			}
		}
	})
}

// TestPrepare: the files of a submodule get to no place outside of the repository, and not into its .git.
func TestPrepare(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(outside, filepath.Join(top, "link")))
	must.Do(t, os.Symlink(".git", filepath.Join(top, "hidden")))
	must.Write(t, filepath.Join(top, ".git", "config"), "x")
	must.Write(t, filepath.Join(top, "file"), "x")
	for _, dir := range []string{"link", "link/x", "hidden/hooks", ".git/hooks", "a/.GIT/x", "../x", "a/../../x", "file", "file/x", ""} {
		m := module{at: dir}
		if err := m.prepare(top); err == nil {
			t.Errorf("%q: no error", dir)
		}
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	m := module{at: "a/b"}
	for range 2 {
		if must.Do(t, m.prepare(top)); m.tree != filepath.Join(top, "a", "b") {
			t.Error(m.tree)
		}
	}
}
