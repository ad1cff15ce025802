package sandbox

import (
	"strings"
	"testing"
)

// TestRules: what each entry of allowed-tools lets run. A path is a file of the skill.
func TestRules(t *testing.T) {
	for _, c := range []struct{ entry, yes, no string }{
		{"git", "git; git status; git -c core.sshCommand=x fetch", "./git; GIT; gitk; env git; ./git/x"},
		{"*", "git; ./x.sh; sh -c x", ""},
		{"Bash", "git; ./x.sh; sh -c x", ""},
		{"Shell", "git; ./x.sh", ""},
		{"Bash(*)", "git; ./x.sh", ""},
		{"Bash(git:*)", "git; git status", "./git; git-x"},
		{"Bash(git:*, jq:*)", "git x; jq x", "sed"},
		{"Bash(git status:*)", "git status; git status --x", "git; git statusx; git -c status; git push status; ./git status"},
		{"Bash(git status *)", "git status; git status --x", "git; git statusx"},
		{"Bash(git status)", "git status", "git status --x; git"},
		{"Bash(go build*)", "go build; go build ./x; go buildx", "go; go test"},
		{"Bash(ffmpeg*)", "ffmpeg -i x; ffmpeg2", "./ffmpeg; x/ffmpeg"},
		{"Bash(npm run test:*)", "npm run test; npm run test x", "npm run test:unit; npm run; npm x run test"},
		{"Bash(npx *agent@*)", "npx agent@1; npx @x/agent@1 y", "npx other; npx"},
		{"Bash(git * main)", "git push main", "git main; git push main x; git push origin main"},
		{"Bash(python3 scripts/x.py *)", "python3 scripts/x.py; python3 scripts/x.py a; python3 ./scripts/x.py", "python3 x.py; python3 scripts/y.py"},
		{"shell(git:*)", "git x", "jq"},
		{"run_shell_command(git status)", "git status", "git"},
		{"bash", "bash -c x; bash x.sh", "./x.sh; git"},
		{"scripts/*", "./scripts/x.sh; ./scripts/x a b", "./scripts/deep/x.sh; ./x.sh; scripts; git; ./scripts"},
		{"./scripts/*.sh", "./scripts/x.sh", "./scripts/x.py"},
		{"scripts/**", "./scripts/x.sh; ./scripts/deep/er/x.sh", "./x.sh; ./scriptsx/y"},
		{"scripts/", "./scripts/x.sh; ./scripts/deep/x.sh", "./x.sh"},
		{"./", "./x.sh; ./scripts/x.sh", "git"},
		{"Bash(cat docs/*)", "cat docs/x; cat docs/a/b", "cat docs/../x; cat docs/a/../../x; cat x"},
		{"scripts/../x.sh", "./x.sh", "./scripts/x.sh"},
		{"x.sh", "./x.sh; x.sh", "./scripts/x.sh; ./x"},
		{"./x", "./x", "x; ./x/y"},
		{"python3.11", "python3.11 x", "./python3.11"},
		{"Bash(scripts/x.sh:*)", "./scripts/x.sh; ./scripts/x.sh a", "./scripts/y.sh"},
		{"Bash(./scripts/x.sh a)", "./scripts/x.sh a", "./scripts/x.sh; ./scripts/x.sh b"},
		{`"Bash(git:*)"`, "git x", "jq"},
		{"Rscript", "Rscript x", "rscript"},
		// Entries that allow nothing.
		{"", "", "git; ./x.sh"},
		{"Read", "", "Read x; git; ./Read"},
		{"Write(/tmp/*)", "", "Write; git; ./tmp/x"},
		{"MCP(git:*)", "", "git"},
		{"mcp__git__status", "", "git; mcp__git__status"},
		{"Bash()", "", "git; ./x.sh"},
		{"Bash(:*)", "", "git; ./x.sh"},
		{"Bash(,)", "", "git"},
		{"/usr/bin/git", "", "git; ./usr/bin/git; ./git"},
		{"../x.sh", "", "./x.sh; x.sh"},
		{"~/x.sh", "", "./x.sh; x.sh"},
		{"[", "", "git; ./x.sh"},
		{"Bash(sh -c *)", "sh -c x", "sh; sh x; bash -c x"},
	} {
		for _, line := range list(c.yes) {
			if !allows([]string{c.entry}, strings.Fields(line)) {
				t.Errorf("%q refuses %q", c.entry, line)
			}
		}
		for _, line := range list(c.no) {
			if allows([]string{c.entry}, strings.Fields(line)) {
				t.Errorf("%q allows %q", c.entry, line)
			}
		}
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "; ")
}

// TestNeeded: the entry that a refusal names allows the command, and no other one.
func TestNeeded(t *testing.T) {
	for _, c := range []struct{ allowed, command, want string }{
		{"", "git status", "git"},
		{"Read", "./scripts/x.sh a", "scripts/x.sh"},
		{"", "./x", "./x"},
		{"Bash(git status:*)", "git push origin", "Bash(git push:*)"},
		{"Bash(git status:*)", "git -C x push", "git"},
		{"Bash(git status:*)", "jq .", "jq"},
	} {
		command := strings.Fields(c.command)
		got := needed([]string{c.allowed}, command)
		if got != c.want || !allows([]string{got}, command) || allows([]string{got}, []string{"other"}) {
			t.Errorf("%q with %q allowed needs %q, want %q", c.command, c.allowed, got, c.want)
		}
	}
	if got := needed(nil, []string{"./a b/c,(d).sh"}); got != "a?b/c??d?.sh" || !allows([]string{got}, []string{"./a b/c,(d).sh"}) {
		t.Errorf("a path with blanks needs %q", got)
	}
}

// FuzzRules: no entry makes the rules panic, and none that names a command allows a file.
func FuzzRules(f *testing.F) {
	for _, s := range []string{"git", "Bash(git:*, jq:*)", "scripts/**", "x.sh", "Bash(a*b*c)", "[", "Bash("} {
		f.Add(s, "scripts/x.sh", "arg")
	}
	f.Fuzz(func(t *testing.T, entry, name, arg string) {
		_ = allows([]string{entry}, []string{name, arg})
		_ = needed([]string{entry}, []string{"./" + name, arg})
		if !strings.ContainsAny(entry, "/*.(") && !strings.Contains(strings.Join(shells[:], " "), strings.Trim(strings.TrimSpace(entry), `"'`)) &&
			allows([]string{entry}, []string{"./" + name, arg}) {
			t.Fatalf("%q allows the file %q", entry, name)
		}
	})
}
