package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// What systems, runtimes and editors leave in the folder of a skill is no change of it, takes no
// place among its files, and cannot be read.
func TestLeftOvers(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/scripts/b.py": "x = 1"})
	s := open(t, dir, nil)
	before, err := source.Load(t.Context(), s, "a")
	must.Do(t, err)
	stamp := stampOf(t, s)
	left := map[string]string{
		"a/scripts/__pycache__/b.cpython-311.pyc": secret, "a/scripts/b.pyc": secret, "a/.DS_Store": secret, "a/.SKILL.md.swp": secret, "a/SKILL.md~": secret,
		"a/scripts/.#b.py": secret, "a/Thumbs.db": secret, "a/.venv/SKILL.md": doc("venv"), "a/.worktrees/x/SKILL.md": doc("tree"),
	}
	for i := range skill.MaxPublishedFiles {
		left[fmt.Sprintf("a/.venv/lib/%d.py", i)] = secret
		left[fmt.Sprintf("a/node_modules/%d/x.js", i)] = secret
	}
	must.Files(t, dir, left)
	after, err := source.Load(t.Context(), s, "a")
	must.Do(t, err)
	if after.Digest != before.Digest || len(after.Files) != 2 || len(after.Problems) != len(before.Problems) {
		t.Errorf("digest %s, %d files, problems %v; before %s", after.Digest, len(after.Files), after.Problems, before.Digest)
	}
	if now := stampOf(t, s); stamp == "" || now != stamp {
		t.Errorf("stamp %s, want %s", now, stamp)
	}
	for name := range left {
		rel, _ := filepath.Rel("a", name)
		if f, err := source.ReadFile(t.Context(), s, "a", filepath.ToSlash(rel)); err == nil {
			t.Errorf("read %s: %q", name, f.Data)
		}
	}
}

// The ignore files of a skill hold in the user's own folders alone: elsewhere strangers could keep
// files out of the digest that somebody trusts.
func TestIgnoreFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a/SKILL.md": doc("a"), "a/.gitignore": "*.log\nout/\nSKILL.md\n*ignore\n", "a/.skillignore": "/data\n!keep.log\n",
		"a/x.log": secret, "a/keep.log": "kept", "a/s/y.log": secret, "a/s/z.py": "z", "a/data": secret, "a/s/data": "kept",
		"b/SKILL.md": doc("b"), "b/.gitignore": "-> ../a/.gitignore", "b/x.log": "kept",
	}
	for i := range skill.MaxPublishedFiles {
		files[fmt.Sprintf("a/out/%d", i)] = secret
	}
	dir := folder(t, files)
	own := open(t, dir, &source.Options{Own: true})
	sk, err := source.Load(t.Context(), own, "a")
	must.Do(t, err)
	var paths []string
	for _, f := range sk.Files {
		paths = append(paths, f.Path)
	}
	if got, want := fmt.Sprint(paths), "[.gitignore .skillignore SKILL.md keep.log s/data s/z.py]"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	for _, name := range []string{"x.log", "s/y.log", "data", "out/7"} {
		if f, err := source.ReadFile(t.Context(), own, "a", name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("read %s: %v, %v", name, f, err)
		}
	}
	must.Files(t, dir, map[string]string{"a/out/more": secret, "a/new.log": secret})
	if again, err := source.Load(t.Context(), own, "a"); err != nil || again.Digest != sk.Digest {
		t.Errorf("an ignored file changes the digest: %v, %v", again, err)
	}
	if linked, err := source.Load(t.Context(), own, "b"); err != nil || len(linked.Files) != 2 {
		t.Errorf("an ignore file that is a link holds: %v, %v", linked, err)
	}
	before, err := source.Load(t.Context(), open(t, dir, nil), "a")
	must.Do(t, err)
	must.Files(t, dir, map[string]string{"a/data": "changed"})
	if now, err := source.Load(t.Context(), open(t, dir, nil), "a"); err != nil || now.Digest == before.Digest {
		t.Errorf("in the folder of somebody else an ignored file counts for nothing: %v", err)
	}
	must.Files(t, dir, map[string]string{"a/.skillignore": "/data\n"})
	if now, err := source.Load(t.Context(), own, "a"); err != nil || now.Digest == sk.Digest || len(now.Files) != 5 {
		t.Errorf("a changed ignore file changes nothing: %v, %v", now, err)
	}
}
