package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// found returns the findings in a folder as lines: severity, rule, place, message.
func found(t *testing.T, dir string) []string {
	t.Helper()
	r, err := doctor.Folders(t.Context(), []string{dir}, false, nil)
	must.Do(t, err)
	var list []string
	for _, f := range r.Findings {
		name := filepath.ToSlash(strings.TrimPrefix(f.Path, dir+string(filepath.Separator)))
		list = append(list, fmt.Sprintf("%s %s %s:%d: %s", f.Severity, f.Rule, name, f.Line, f.Message))
	}
	slices.Sort(list)
	return list
}

// TestFiles: what is wrong with the files of a skill is found, and nothing else.
func TestFiles(t *testing.T) {
	const use = "Sorts mail. Use when the inbox is full."
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"sound", map[string]string{
			"SKILL.md":              skillFile("a", use, "Read [rules](references/rules.md#the-first-rule), run scripts/sort.py, and use what is in `assets/icons/`.\n\n## Next\n\n[up](#next)"),
			"references/rules.md":   "# Rules\n\n## The first rule ✨\n\nSee [more](more.md), [here](#rules), [root](references/more.md) and [web](https://example.org/x.md).\n\n```\n[code](gone.md)\n```\n",
			"references/more.md":    "<!-- [comment](gone.md) -->\nText `[span](gone.md)`.",
			"scripts/sort.py":       "from lib import tables\n",
			"scripts/lib/tables.py": "TABLE = {}\n",
			"assets/icons/a.png":    "picture",
			"LICENSE.txt":           "Free.",
			"tests/test_sort.py":    "import sort",
		}, nil},
		{"links in other files", map[string]string{
			"SKILL.md":      skillFile("a", use, "Read [b](b.md) and ![c](c.png).\n\n[d]: d.md\n<img src=\"e.png\">"),
			"b.md":          "Text\n\nSee [c](c.md), [d](d/e.md) and [c](c.md) again.\n",
			"not-linked.md": "[nowhere](nowhere.md)",
		}, []string{
			"note unused-file SKILL.md:0: neither the instructions nor any file that they lead to mentions not-linked.md",
			"warning broken-link SKILL.md:7: links to d.md, e.png, which the skill does not have",
			"warning broken-link b.md:3: links to c.md, d/e.md, which the skill does not have",
			"warning missing-resource SKILL.md:5: the body refers to c.png, which the skill does not have",
		}},
		{"anchors", map[string]string{
			"SKILL.md": skillFile("a", use, "# One\n\n[one](#one) [two](#two) [b](b.md#three)\n[c](c.md#none)"),
			"b.md":     "# Four\n",
			"c.md":     "No heading, so this may be no Markdown.",
		}, []string{"note broken-anchor SKILL.md:7: links to #two, b.md#three, but there is no such heading"}},
		{"placeholders", map[string]string{
			"SKILL.md":         skillFile("a", use, "Run `references/<language>.md`, or [it](b.md)."),
			"b.md":             "[a]({{file}}.md) [b](~/c.md) [c](../d/SKILL.md) [d](path/...)",
			"references/go.md": "Go.",
		}, nil},
		{"no word on when", map[string]string{"SKILL.md": skillFile("a", "Sorts mail.", "Sort it.")},
			[]string{"note no-trigger SKILL.md:0: the description does not say when to use the skill"}},
		{"large file", map[string]string{"SKILL.md": skillFile("a", use, "Sort it."), "data.txt": big},
			[]string{"note not-read catalog:0: 1 file of 1 skill was not read: a file has more than 256 KB, or the files of a skill are more than 300 or have more than 4 MB; links and scripts in it were not checked, nor which files of that skill nothing mentions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := found(t, write(t, c.files))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestScripts: scripts that the system cannot run.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no executable bit")
	}
	dir := write(t, map[string]string{
		"SKILL.md":          skillFile("a", "Sorts mail. Use when the inbox is full.", "Run `python3 scripts/plain.py` or\n\n    ./scripts/run.sh --all\n\nand scripts/bare.py, scripts/ok.sh, scripts/crlf.sh, scripts/module.py."),
		"scripts/plain.py":  "#!/usr/bin/env python3\n",
		"scripts/run.sh":    "echo\n",
		"scripts/bare.py":   "print()\n",
		"scripts/ok.sh":     "#!/bin/sh\n",
		"scripts/crlf.sh":   "#!/bin/sh\r\necho\r\n",
		"scripts/module.py": "TABLE = {}\n",
	})
	for _, name := range []string{"bare.py", "ok.sh", "crlf.sh"} {
		must.Do(t, os.Chmod(filepath.Join(dir, "scripts", name), 0o755))
	}
	want := []string{
		"note script-crlf scripts/crlf.sh:0: the #! line ends with a carriage return, so the system finds no interpreter: scripts/crlf.sh",
		"note script-not-executable scripts/plain.py:0: not executable, though there is a #! line: scripts/plain.py",
		"warning script-without-shebang scripts/bare.py:0: to be run as a program, but without a #! line: scripts/bare.py, scripts/run.sh",
	}
	if diff := cmp.Diff(want, found(t, dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
