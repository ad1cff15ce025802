package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const minimal = "---\nname: my-skill\ndescription: Use when it helps.\n---\nBody\n"

// wantRefused fails the test unless err is a *ParseError with the rule.
func wantRefused(t *testing.T, err error, rule string) Problem {
	t.Helper()
	var refused *ParseError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, want a *ParseError with rule %s", err, rule)
	}
	if refused.Problem.Rule != rule || refused.Problem.Severity != Error {
		t.Fatalf("%+v, want rule %s", refused.Problem, rule)
	}
	return refused.Problem
}

func TestLoad(t *testing.T) {
	fsys := fstest.MapFS{
		"file.txt":           {Data: []byte("text")},
		"upper/SKILL.md":     {Data: []byte(minimal)},
		"upper/skill.md":     {Data: []byte("not this one")},
		"lower/skill.md":     {Data: []byte(minimal)},
		"title/Skill.md":     {Data: []byte(minimal)},
		"empty/notes.md":     {Data: []byte(minimal)},
		"folder/SKILL.md/x":  {Data: []byte("text")},
		"deep/down/SKILL.md": {Data: []byte(minimal)},
	}
	for _, c := range []struct{ dir, file, rule string }{
		{"upper", "SKILL.md", ""},
		{"lower", "skill.md", ""},
		{"deep/down", "SKILL.md", ""},
		{"title", "", "missing-skill-md"},
		{"empty", "", "missing-skill-md"},
		{"missing", "", "missing-path"},
		{"file.txt", "", "not-a-folder"},
		{"folder", "", "not-a-file"},
	} {
		s, err := Load(fsys, c.dir)
		if c.rule != "" {
			p := wantRefused(t, err, c.rule)
			if c.dir == "title" && !strings.Contains(p.Hint, "Skill.md") {
				t.Errorf("hint %q does not name the file", p.Hint)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.File() != c.file || s.Dir() != c.dir {
			t.Errorf("read %s of %s, want %s of %s", s.File(), s.Dir(), c.file, c.dir)
		}
	}
}

// TestLoadUnreadable tells a folder that could not be read from one that holds
// no skill.
func TestLoadUnreadable(t *testing.T) {
	var refused *ParseError
	_, err := Load(os.DirFS(t.TempDir()), "../elsewhere")
	if err == nil || errors.As(err, &refused) || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("error %v, want one that wraps fs.ErrInvalid", err)
	}
}

// TestLoadLimits refuses what is too large without reading all of it.
func TestLoadLimits(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "big"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "big", "SKILL.md"), []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "big", "SKILL.md"), 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	_, err := Load(os.DirFS(dir), "big")
	wantRefused(t, err, "file-too-large")
}

func TestLimits(t *testing.T) {
	head := "name: my-skill\ndescription: Use when it helps.\n"
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for _, k := range "bcdefgh" {
		prev := string(k - 1)
		bomb += string(k) + ": &" + string(k) + " [" + strings.Repeat("*"+prev+", ", 9) + "*" + prev + "]\n"
	}
	for _, c := range []struct{ name, yaml, rule string }{
		{"frontmatter", head + "x: " + strings.Repeat("y", MaxFrontmatter) + "\n", "frontmatter-too-large"},
		{"depth", head + "x: " + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + "\n", "frontmatter-limits"},
		{"nodes", head + "x: [" + strings.Repeat("y, ", maxNodes) + "y]\n", "frontmatter-limits"},
		{"aliases", head + bomb, "frontmatter-limits"},
		{"bytes of aliases", head + "x: &x " + strings.Repeat("y", 200_000) + "\nz: [*x, *x, *x, *x, *x, *x]\n", "frontmatter-limits"},
		{"repairs", head + strings.Repeat("x: *\n", maxEntries), "frontmatter-limits"},
		{"repairs allowed", head + strings.Repeat("x: *\n", maxEntries-2), ""},
		{"cycle", head + "x: &x [*x]\n", "frontmatter-limits"},
		{"deeper than the YAML parser goes", head + "x: " + strings.Repeat("[", 20_000) + "\n", ""},
		{"depth allowed", head + "x: " + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(strings.NewReader("---\n"+c.yaml+"---\nBody\n"), "my-skill/SKILL.md")
			if c.rule != "" {
				wantRefused(t, err, c.rule)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestParseReader passes on the error of the reader: it says nothing about
// the skill.
func TestParseReader(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Parse(failingReader{broken}, "my-skill/SKILL.md")
	var refused *ParseError
	if !errors.Is(err, broken) || errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// TestBodyTooLong warns of long instructions, in any script.
func TestBodyTooLong(t *testing.T) {
	for body, want := range map[string]bool{
		strings.Repeat("word ", 7_000): false,
		strings.Repeat("word ", 8_000): true,
		strings.Repeat("技能", 3_900):    false,
		strings.Repeat("技能", 4_100):    true,
	} {
		s, err := Parse(strings.NewReader(minimal+body), "my-skill/SKILL.md")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Problems) == 1 && s.Problems[0].Rule == "body-too-long"; got != want {
			t.Errorf("%d bytes: problems %v, want one %t", len(body), s.Problems, want)
		}
	}
}
