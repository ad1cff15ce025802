package source

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestIgnore: an ignore file means what it means to git, which is asked about the same paths.
func TestGitignore(t *testing.T) {
	t.Parallel()
	paths := []string{"a", "b", "ab", "a.log", "d/a", "d/a.log", "d/e/a", "d/e/f.txt", "x y", "d/x y", "#a", "!a", "d/#a", "build/o.js", "d/build/o.js", "out/build", "a/b/c/d", "[a]", "d/e/b.log", "ée", "d/é.md"}
	texts := []string{
		"", "a", "/a", "a/", "*.log\n!a.log", "d/", "d/*\n!d/e/", "d/*\n!d/e", "**/a", "d/**", "d/**/a", "**/e/**", "/d/e", "d/e", "e", "build/", "/build", "x y", "x y   ", `x\ y`, "#a", `\#a`, `\!a`, "!a",
		"*", "*\n!d\n!d/a", "*\n!*/\n!*.txt", "?", "[ab]", "[!a]", "[^b].log", "[", "a[", "**", "/**", "***", "a**", "**b", "d/**/**/a", "/", "//", "!", " ", "a\r\nb\r\n", "\ufeffa", "/*\n!/d", "a/b/**", "*/a", "**/b/c", "é",
	}
	r := rand.New(rand.NewPCG(4, 7))
	for range 30 {
		var lines []string
		for range 1 + r.IntN(4) {
			line := []string{"", "", "!", "/", "!/"}[r.IntN(5)]
			for n := range 1 + r.IntN(3) {
				if n > 0 {
					line += "/"
				}
				line += []string{"a", "d", "e", "*", "**", "?", "*.log", "build", "b", "a*", "[a-d]"}[r.IntN(11)]
			}
			lines = append(lines, line+[]string{"", "", "/"}[r.IntN(3)])
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	dir := t.TempDir()
	git := func(args ...string) []byte {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "core.quotePath=false", "-c", "core.excludesFile="}, args...)...)
		cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); err != nil && !(ok && exit.ExitCode() == 1) { // nothing matches
			t.Skipf("git %q: %v", args, err)
		}
		return out
	}
	files := make(map[string]string)
	for _, p := range paths {
		if strings.Contains(strings.Join(paths, "\n")+"\n", "\n"+p+"/") {
			continue // a folder
		}
		files[p] = "x"
	}
	delete(files, "a")
	must.Files(t, dir, files)
	git("init", "-q")
	for _, text := range texts {
		must.Files(t, dir, map[string]string{".git/info/exclude": text})
		out := git("check-ignore", "--no-index", "-z", "--stdin")
		list := parseIgnore(text)
		for _, p := range paths {
			want := bytes.Contains(append([]byte{0}, out...), []byte("\x00"+p+"\x00"))
			if got := list.has(p, p == "a"); got != want {
				t.Errorf("%q: %q is ignored: %t, git says %t", text, p, got, want)
			}
		}
	}
}

// FuzzGitignore: any text is an ignore file, and what is in an ignored folder is ignored.
func FuzzGitignore(f *testing.F) {
	f.Add("a/**/b\n!c\n[", "a/x", "b")
	f.Fuzz(func(t *testing.T, text, dir, name string) {
		list := parseIgnore(text)
		if list.has(dir, true) && !list.has(dir+"/"+name, false) {
			t.Errorf("%q ignores %q, but not %q in it", text, dir, name)
		}
		if list.has("SKILL.md", false) {
			t.Errorf("%q ignores the instructions", text)
		}
	})
}
