package sandbox

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/skill"
)

// TestNeededAllows: the entry that a refusal names lets the command run, once it stands in the
// allowed-tools of a SKILL.md, and does not let everything run.
func TestNeededAllows(t *testing.T) {
	names := []string{"git", "python3", "python", "python3.11", "bash", "Bash", "Shell", "Read", "mcp__x", "x.sh", "scripts/x.sh", "./x.sh", "scripts/calc.py", "Rscript",
		"a b", "a,b", "a(b)", "[", "*", "a*", "a?b", `a\b`, `"a"`, "'a'", "a:*", ":*", "~", "-x", "a\nb", "a\xffb", "mcp__/x", "Read/x", "scripts/a b.sh", "é.sh", "sudo", "@x", "#x", "a:b", "a:"}
	allowed := []string{"", "git", "Bash(git status:*)", "Bash(python:*)", "python3", "scripts/other.sh", "Bash(python3 x:*, git log)", "Read", "Bash(a b:*)"}
	args := []string{"", "15*23", "scripts/calc.py", "push", "-x", "a b", "a,b", "a\tb", "x:*", "x(y)", "'q'", "--", "../x", "scripts/x.sh", "ü"}
	for _, name := range names {
		for _, arg := range args {
			for _, entry := range allowed {
				neededAllows(t, entry, name, arg)
			}
		}
	}
}

// FuzzNeeded is TestNeededAllows for any names.
func FuzzNeeded(f *testing.F) {
	for _, name := range []string{"git", "scripts/x.sh", "Read", "a b", "mcp__x"} {
		f.Add("Bash(git status:*)", name, "15*23")
	}
	f.Fuzz(func(t *testing.T, allowed, name, arg string) { neededAllows(t, allowed, name, arg) })
}

func neededAllows(t *testing.T, allowed, name, arg string) {
	t.Helper()
	files := fstest.MapFS{}
	for _, n := range []string{"scripts/x.sh", "x.sh", "scripts/calc.py", "scripts/a b.sh", "mcp__/x", "Read/x", "é.sh", "a b", "git"} {
		files[n] = &fstest.MapFile{Mode: 0o755}
	}
	r := Request{Skill: "x", Files: files, Command: "'" + strings.ReplaceAll(name, "'", `'\''`) + "'", Allowed: []string{allowed}}
	if arg != "" {
		r.Args = []string{arg}
	}
	err := Check(new(recorder), r)
	if reasonOf(err) != Refused {
		return
	}
	_, rest, _ := strings.Cut(err.(*Error).Hint, "add `")
	entry, _, ok := strings.Cut(rest, "` to allowed-tools")
	if !ok {
		t.Fatalf("%q %q: no entry in %q", name, arg, err)
	}
	for _, before := range []string{"", "Read ", "Read, "} {
		parsed, err := skill.ParseBytes([]byte("---\nname: x\ndescription: Is tried.\nallowed-tools: "+before+entry+"\n---\n"), "SKILL.md", "x")
		if err != nil || len(parsed.AllowedTools) == 0 || parsed.AllowedTools[len(parsed.AllowedTools)-1] != entry {
			t.Fatalf("%q: the entry %q in a SKILL.md is %+v, %v", name, entry, parsed, err)
		}
	}
	r.Allowed = append(r.Allowed, entry)
	if err := Check(new(recorder), r); err != nil {
		t.Errorf("%q %q with %q and %q allowed: %v", name, arg, allowed, entry, err)
	}
	if name != "something-else" && allows([]string{entry}, []string{"something-else"}) {
		t.Errorf("%q: the entry %q allows everything", name, entry)
	}
}
