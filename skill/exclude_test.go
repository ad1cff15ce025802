package skill_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestIsExcluded: what tools keep in a skill's folder is never part of the skill, in any
// spelling that some system takes for the same.
func TestIsExcluded(t *testing.T) {
	for _, name := range []string{
		".git", ".git/config", "a/.git/hooks/pre-commit", ".GIT", ".giT/x", ".git.", ".git. .", ".git ", ".git::$INDEX_ALLOCATION", ".git:x/config", ".git:",
		".g\u200cit", "\ufeff.git", ".git\u200b/x", ".gi\u034ft", ".git\ufe0f", ".ｇｉｔ", "．git", "git~1", "GIT~1/config", "git~2", "GIT~10.", "git~1:x",
		"node_modules", "a/node_modules/b", "Node_Modules", "node_module\u017f", "NODE_M~1", "node_m~3/x", "node_modules.",
		".hg/hgrc", ".svn", ".bzr", ".jj/repo", "HG~1",
		".staging-1", ".STAGING-x/y", ".cat.repertoire.tmp/cat/SKILL.md", atomicfile.Temp("SKILL.md"), atomicfile.Temp("a/.env"),
		"__pycache__", "scripts/__pycache__/b.cpython-311.pyc", "__PYCACHE__", "__PYCA~1", "b.pyc", "a/B.PYC", "b.pyo", "b.pyc.", "b.pyc::$DATA", "b.py\u200bc", "b.pyc\u200b", "ｂ.pyc",
		".venv/bin/python", "VENV~1", ".worktrees/x/SKILL.md", ".cache", ".pytest_cache", ".mypy_cache/a", ".ruff_cache", ".tox", ".nox", ".ipynb_checkpoints/a",
		".DS_Store", "a/.DS_Store", ".ds_store", "__MACOSX/._SKILL.md", "._SKILL.md", ".AppleDouble", "Thumbs.db", "desktop.ini", "Desktop.ini",
		"SKILL.md~", ".SKILL.md.swp", ".x.swo", "a/.#x", "#x#", "~$plan.docx", ".~lock.plan.odt#", ".nfs000000000123", "x.KATE-SWP",
	} {
		if !skill.IsExcluded(name) {
			t.Errorf("%q is part of a skill", name)
		}
	}
	for _, name := range []string{
		"", "a", "SKILL.md", "git", "git/config", ".github", ".gitignore", ".gitmodules", ".gitattributes", "a.git", "x.git/config", "git~x", "git~1a", "~1", "a~1", "gi~1",
		"node_modules.md", "node_modules2", "modules", "node", "node_m", ".node_modules", "hg", "staging-1", ".staging", "x.tmp", "SKILL.md.tmp", ".env", "名前", "ñ",
		"pycache", "__init__.py", "b.py", "b.pyc.md", "pyc", "venv", "venv.md", "cache", "DS_Store", "thumbs.md", "desktop", "todo", "x.doc", "swp", "# x", "#", "##x", ".nfsrc", "a~b", "notes.bak", "_x", "-", "x.tsx",
	} {
		if skill.IsExcluded(name) {
			t.Errorf("%q is not part of a skill", name)
		}
	}
}

// TestIsSecret: a name that only passwords and keys have, in any spelling.
func TestIsSecret(t *testing.T) {
	for _, name := range []string{".env", "a/.env", ".ENV", ".env.", ".e\u200dnv", ".netrc", "id_rsa", "ID_RSA", "x/id_ed25519", ".aws/credentials", "a/.ssh/b/c", ".AWS/x", ".gnupg/y", ".git-credentials", ".pgpass", ".aws", ".env/x", "a/.ssh"} {
		if !skill.IsSecret(name) {
			t.Errorf("%q is no secret", name)
		}
	}
	for _, name := range []string{"", "env", ".env.example", "x.env", "id_rsa.pub", "id_rsa.md", "aws/x", "SKILL.md"} {
		if skill.IsSecret(name) {
			t.Errorf("%q is a secret", name)
		}
	}
}

// FuzzIsExcluded: a path is excluded if and only if one of its parts is, and all files with the
// path of a skill's file are part of it.
func FuzzIsExcluded(f *testing.F) {
	for _, name := range []string{".git/config", "a/GIT~1", ".g\u200cit:x", "a/b", "~", "node_modules"} {
		f.Add(name, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, want := skill.IsExcluded(a+"/"+b), skill.IsExcluded(a) || skill.IsExcluded(b); got != want {
			t.Errorf("%q/%q: %t", a, b, got)
		}
		if clean, err := skill.CleanPath(a); err == nil && skill.IsExcluded(clean) {
			t.Errorf("%q is the path of a file, and excluded", a)
		}
	})
}
