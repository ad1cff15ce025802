package git_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/install/git"
)

// TestEnvironment: what the environment says of another repository, as in a hook of git, does
// not count.
func TestEnvironment(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--template=", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("GIT_DIR", filepath.Join(dir, "none"))
	t.Setenv("GIT_WORK_TREE", filepath.Join(dir, "none"))
	t.Setenv("GIT_CONFIG_COUNT", "x")
	_, err := git.New("file://"+filepath.ToSlash(dir)).Resolve(t.Context(), "")
	if err == nil || err.Error() != "the repository is empty" {
		t.Errorf("got %v", err)
	}
}

// FuzzCheckRef: no ref that is allowed is an option, or names something else to git.
func FuzzCheckRef(f *testing.F) {
	for _, ref := range []string{"main", "v1.2", "refs/tags/v1", "--upload-pack=x", "a..b", "a b", "a@{1}", "a:b", "x.lock"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if git.CheckRef(ref) == nil && (strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, " ~^:?*[\\\n\x00") || strings.Contains(ref, "..")) {
			t.Errorf("%q is allowed", ref)
		}
	})
}
