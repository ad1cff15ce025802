package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// scripts returns what keeps the system from running scripts of the skill: one finding for
// each rule.
func (c *contents) scripts() []skill.Problem {
	var plain, bare, crlf []string
	run := c.run()
	for _, name := range c.names {
		text, ok := c.text[name]
		first, _, _ := strings.Cut(text, "\n")
		switch mode, known := c.mode[name]; {
		case !ok || !known:
		case isScript(text):
			if mode&0o111 == 0 && inScripts(name) {
				plain = append(plain, name)
			}
			if strings.HasSuffix(first, "\r") {
				crlf = append(crlf, name)
			}
		case needsInterpreter(name) && !strings.HasPrefix(path.Base(name), "__") && (mode&0o111 != 0 && inScripts(name) || run[name]):
			bare = append(bare, name)
		}
	}
	var found []skill.Problem
	add := func(rule string, names []string, is, hint string) {
		if len(names) == 0 {
			return
		}
		p := skill.Problem{Rule: rule, Severity: skill.Note, Path: c.path(names[0]), Message: fmt.Sprintf("%s: %s", is, listed(names)), Hint: hint}
		if slices.ContainsFunc(names, func(name string) bool { return run[name] }) {
			p.Severity = skill.Warning // else "python3 scripts/x.py" works all the same
		}
		found = append(found, p)
	}
	const fix = "\"skills doctor --fix\" does it"
	add("script-not-executable", plain, "not executable, though there is a #! line", "run chmod +x; "+fix)
	add("script-without-shebang", bare, "to be run as a program, but without a #! line", "start the file with a line such as #!/usr/bin/env python3")
	add("script-crlf", crlf, "the #! line ends with a carriage return, so the system finds no interpreter", "save the file with the line ends of Unix; "+fix)
	return found
}

// isScript reports whether a text starts with the line that names its interpreter.
func isScript(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.HasPrefix(first, "#!") && !strings.HasPrefix(first, "#![") // an attribute of Rust
}

// inScripts reports whether a file is in a folder of programs.
func inScripts(name string) bool {
	return strings.HasPrefix(name, "scripts/") || strings.HasPrefix(name, "bin/")
}

// needsInterpreter reports whether the system can run such a file only by its #! line.
func needsInterpreter(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".py", ".sh", ".bash", ".zsh", ".rb", ".pl", ".js", ".mjs":
		return true
	}
	return false
}

// run returns the files that a line of the instructions runs by their path alone, as in
// "./scripts/build.sh --all".
func (c *contents) run() map[string]bool {
	found := make(map[string]bool)
	for line := range strings.Lines(c.text[c.file]) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		if word, _, _ := strings.Cut(line, " "); strings.HasPrefix(word, "./") {
			found[path.Clean(word)] = true
		}
	}
	return found
}
