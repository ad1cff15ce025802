package skill

import (
	"errors"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
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

// TestTooLarge refuses what is too large without reading all of it.
func TestTooLarge(t *testing.T) {
	zeros := &endless{}
	_, err := Parse(zeros, "big/SKILL.md")
	wantRefused(t, err, "file-too-large")
	if zeros.read > 4*MaxFile {
		t.Errorf("read %d bytes", zeros.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// TestFolder: a skill that states no name gets the name of its folder, also at the top of
// a source, where the path does not contain it.
func TestFolder(t *testing.T) {
	text := []byte("---\ndescription: Use when it helps.\n---\nBody\n")
	for _, c := range []struct{ path, folder, want string }{
		{"a/b/SKILL.md", "", "b"}, {"a/b/SKILL.md", "other", "other"}, {"SKILL.md", "top", "top"}, {"SKILL.md", "", ""},
	} {
		s, err := ParseBytes(text, c.path, c.folder)
		if c.want == "" {
			wantRefused(t, err, "missing-name")
			continue
		}
		if err != nil || s.Name != c.want || s.Path != c.path || s.Problems[0].Path != c.path {
			t.Errorf("%s in %q: %+v, %v", c.path, c.folder, s, err)
		}
	}
}

func TestKind(t *testing.T) {
	for path, want := range map[string]Kind{
		"SKILL.md": Other, "scripts/a.py": Script, "scripts/deep/b": Script, "references/x.md": Reference, "assets/logo.png": Asset,
		"scripts": Other, "docs/scripts/a.py": Other, "Scripts/a.py": Other, "others/x": Other, "assets.md": Other,
	} {
		if got := (File{Path: path}).Kind(); got != want {
			t.Errorf("%s is of kind %s, want %s", path, got, want)
		}
	}
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

// TestParseReader: Parse returns the error of its reader, which says nothing about the
// skill.
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
		must.Do(t, err)
		if got := len(s.Problems) == 1 && s.Problems[0].Rule == "body-too-long"; got != want {
			t.Errorf("%d bytes: problems %v, want one %t", len(body), s.Problems, want)
		}
	}
}
