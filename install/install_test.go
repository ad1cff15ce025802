package install

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFolder: skills of a folder are installed, updated, verified and removed.
func TestFolder(t *testing.T) {
	from := skills(t, t.TempDir(), "cat", "dog")
	in := installer(t, nil)
	r := add(t, in, from)
	if got := summary(r); got != "cat add, dog add" || !r.Approved {
		t.Errorf("installed %q, approved %t", got, r.Approved)
	}
	clean(t, in, "cat", "dog")
	if got := summary(add(t, in, from)); got != "cat unchanged, dog unchanged" {
		t.Errorf("a second time: %s", got)
	}
	write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	r, err := in.Update(t.Context(), Order{}, &caller{})
	try(t, err)
	if got := summary(r); got != "cat update, dog unchanged" {
		t.Errorf("updated: %s", got)
	}
	clean(t, in, "cat", "dog")
	r, err = in.Remove(t.Context(), []string{"dog"}, &caller{})
	try(t, err)
	if got := summary(r); got != "dog remove" {
		t.Errorf("removed: %s", got)
	}
	clean(t, in, "cat")
}

// TestGit: skills of a repository are installed at a branch, a tag and a commit.
func TestGit(t *testing.T) {
	repo := repository(t, "cat", "dog")
	git(t, repo, "tag", "v1")
	url := "file://" + repo
	in := installer(t, nil)
	r := add(t, in, url)
	head := git(t, repo, "rev-parse", "HEAD")
	if r.Commit != head {
		t.Errorf("commit %s, want %s", r.Commit, head)
	}
	clean(t, in, "cat", "dog")
	if info, err := os.Stat(filepath.Join(in.dir, "cat", "scripts", "run.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the script cannot be run: %v, %v", info, err)
	}
}
