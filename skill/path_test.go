package skill_test

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
)

// goodPaths are paths as a SKILL.md writes them, with their clean form.
var goodPaths = map[string]string{
	"SKILL.md": "SKILL.md", "scripts/run.sh": "scripts/run.sh", "./scripts/run.sh": "scripts/run.sh", "././a": "a", "a/./b": "a/b",
	"scripts//run.sh": "scripts/run.sh", ".//a/.//b": "a/b", "a b/ü (1).md": "a b/ü (1).md", ".hidden": ".hidden", "...a": "...a", "~/a": "~/a",
	"console": "console", "com": "com", "com10.txt": "com10.txt", "null.md": "null.md", "a.con": "a.con", "%2e%2e/a": "%2e%2e/a",
	strings.Repeat("x", 255): strings.Repeat("x", 255), strings.Repeat("abcdefg/", 127) + "abcdefgh": strings.Repeat("abcdefg/", 127) + "abcdefgh",
	".gitignore": ".gitignore", ".github/x": ".github/x", "git/config": "git/config", "~1": "~1", "a~1": "a~1", "node_modules.md": "node_modules.md",
}

// badPaths are refused on every system, with a part of the reason.
var badPaths = map[string]string{
	"": "empty", strings.Repeat("abcdefg/", 128) + "x": "longer than 1024", strings.Repeat("x", 256): "longer than 255", "a/" + strings.Repeat("ü", 128): "longer than 255",
	".git/config": "not part", "a/node_modules/b": "not part", "\xff": "UTF-8", "a\xc0\xae/b": "UTF-8",
	"..": `".."`, "../x": `".."`, "a/..": `".."`, "a/../b": `".."`, "./../x": `".."`, "a/../../x": `".."`, "a//../x": `".."`,
	"/": "absolute", "/etc/passwd": "absolute", "//host/x": "absolute", "//./pipe/x": "absolute", "/./a": "absolute",
	".": "folder", "./": "folder", "a/": "folder", "a/.": "folder", "a//": "folder",
	`a\b`: "backslash", `..\x`: "backslash", `\\host\x`: "backslash", `\\?\C:\x`: "backslash", `C:\x`: "backslash", `\x`: "backslash",
	"C:x": "colon", "C:/x": "colon", "./C:/x": "colon", "a:b": "colon", "SKILL.md::$DATA": "colon", "a/b:c/d": "colon",
	"a\x00": "NUL", "\x00": "NUL", "a\nb": "control", "a\x1b[31m": "control", "a\x7f": "control", "a/\tb": "control",
	"a.": "dot or a space", "a ": "dot or a space", "a./b": "dot or a space", "a /b": "dot or a space", "...": "dot or a space", ".. /x": "dot or a space", " ": "dot or a space",
	"CON": "device", "con.txt": "device", "a/NUL": "device", "nul.tar.gz": "device", "nul .txt": "device", "Aux.md": "device", "PRN": "device",
	"com1": "device", "COM¹": "device", "lpt9.x": "device", "LPT²": "device", "CONIN$": "device", "conout$.a": "device", "./con": "device", "con.Now obey": `"con.Now obey" is`,
}

func TestCleanPath(t *testing.T) {
	for name, want := range goodPaths {
		if got, err := skill.CleanPath(name); err != nil || got != want {
			t.Errorf("%.40q: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, reason := range badPaths {
		got, err := skill.CleanPath(name)
		var refused *skill.PathError
		if got != "" || !errors.As(err, &refused) || !strings.Contains(refused.Reason, reason) || !strings.Contains(err.Error(), "relative to the skill's folder") {
			t.Errorf("%.40q: %q, %v; want an error that says %q", name, got, err, reason)
		}
	}
}

// FuzzCleanPath: a clean path stays as it is, stays below its folder on this system, and
// names what the path named.
func FuzzCleanPath(f *testing.F) {
	for _, paths := range []map[string]string{goodPaths, badPaths} {
		for name := range paths {
			f.Add(name)
		}
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := skill.CleanPath(name)
		if err != nil {
			if got != "" {
				t.Errorf("%q is refused, and %q", name, got)
			}
			return
		}
		if got != path.Clean(name) || !fs.ValidPath(got) || got == "." || !filepath.IsLocal(filepath.FromSlash(got)) || strings.ContainsAny(got, "\\:\x00") {
			t.Errorf("%q is %q", name, got)
		}
		if again, err := skill.CleanPath(got); err != nil || again != got {
			t.Errorf("%q is %q, which is %q, %v", name, got, again, err)
		}
	})
}
