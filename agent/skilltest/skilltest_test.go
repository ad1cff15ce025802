package skilltest_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/skilltest"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
)

// notes is a skill with a script that counts the lines of a file of the workspace.
const notes = `---
name: notes
description: Counts the lines of notes.
allowed-tools: scripts/*
---
Run scripts/count.sh.
`

const count = `#!/bin/sh
set -e
n=$(wc -l < "$WORKSPACE/notes.txt")
echo $n lines | tee "$WORKSPACE/count.txt"
cat >&2
exit $n
`

// run runs the tests of the skill with these files below tests, each with a name and a text.
func run(t *testing.T, files ...string) ([]skilltest.Outcome, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test need sh")
	}
	dir := filepath.Join(t.TempDir(), "notes")
	write := func(name, text string, mode os.FileMode) {
		name = filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), mode))
	}
	write("SKILL.md", notes, 0o644)
	write("scripts/count.sh", count, 0o755)
	for i := 0; i < len(files); i += 2 {
		write("tests/"+files[i], files[i+1], 0o644)
	}
	src, err := source.Dir(filepath.Dir(dir), nil)
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}})
	cfg := agent.Config{Catalog: c, Executor: sandbox.NewPlain(sandbox.Options{AllowUnconfined: true})}
	return skilltest.Run(t.Context(), cfg, "notes")
}

const good = `Two lines are counted.
-- command --
scripts/count.sh
-- stdin --
to stderr
-- stdout --
2 lines
-- stderr --
to stderr
-- exit --
2
-- files/notes.txt --
one
two
-- want/count.txt --
2 lines
`

// TestRun: what passes, what fails with which difference, and what cannot be run.
func TestRun(t *testing.T) {
	list, err := run(t,
		"a.txtar", good,
		"b.txtar", strings.NewReplacer("2 lines", "3 lines", "to stderr\n-- exit", "nothing\n-- exit").Replace(good),
		"c.txtar", "-- command --\nscripts/gone.sh\n",
		"d.txtar", "-- command --\nls /\n",
		"e.txtar", "-- comand --\nls\n",
		"f.txtar", good+"-- want/more.txt --\nmore\n",
		"g.txtar", strings.Replace(good, "-- exit --\n2\n", "", 1),
		"notes.md", "no test",
	)
	must.Do(t, err)
	want := []struct {
		status        skilltest.Status
		message, diff string
	}{
		{skilltest.Passed, "", ""},
		{skilltest.Failed, "stdout is not as wanted", "stdout stderr want/count.txt"},
		{skilltest.Broken, "sh: scripts/gone.sh: No such file", ""},
		{skilltest.Broken, "allowed-tools", ""},
		{skilltest.Broken, `tests/e.txtar:1: section "comand": there is no such section`, ""},
		{skilltest.Failed, "the workspace has no file more.txt", ""},
		{skilltest.Failed, "the command ended with status 2, not 0", ""},
	}
	if len(list) != len(want) {
		t.Fatalf("%d outcomes: %+v", len(list), list)
	}
	for i, w := range want {
		o := list[i]
		var diffs []string
		for _, d := range o.Diffs {
			diffs = append(diffs, d.What)
		}
		if o.Status != w.status || !strings.Contains(o.Message, w.message) || strings.Join(diffs, " ") != w.diff {
			t.Errorf("%s: %s, %q, %v; want %s, %q, %s", o.Name, o.Status, o.Message, diffs, w.status, w.message, w.diff)
		}
	}
	if text := list[1].Diffs[0].Text; !strings.Contains(text, "-3 lines\n+2 lines\n") {
		t.Errorf("the difference is %s", text)
	}
	if !skilltest.Bad(list) || skilltest.Bad(list[:1]) {
		t.Error("Bad is wrong")
	}
	checkJUnit(t, list)
}

// checkJUnit checks that the XML form says the same.
func checkJUnit(t *testing.T, list []skilltest.Outcome) {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, skilltest.WriteJUnit(&b, list))
	var r struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	must.Do(t, xml.Unmarshal(b.Bytes(), &r))
	if r.Tests != 7 || r.Failures != 3 || r.Errors != 3 || len(r.Suites) != 1 || r.Suites[0].Name != "notes" ||
		!strings.Contains(r.Suites[0].Cases[1].Failure.Text, "+2 lines") {
		t.Errorf("JUnit:\n%s", b.String())
	}
}

// TestTalk: an agent whose model follows the turns of the test runs the real script.
func TestTalk(t *testing.T) {
	talk := `-- prompt --
How many lines have my notes?
-- files/notes.txt --
one
-- turn --
call run_skill_script: {"skill_name": "notes", "command": "scripts/count.sh"}
-- turn --
want: 1 lines

One.
-- answer --
One.
-- want/count.txt --
1 lines
`
	list, err := run(t, "a.txtar", talk, "b.txtar", strings.Replace(talk, "want: 1 lines", "want: 7 lines", 1),
		"c.txtar", strings.Replace(talk, "-- answer --\nOne.", "-- answer --\nTwo.", 1),
		"d.txtar", talk+"-- turn --\n\nMore.\n")
	must.Do(t, err)
	want := []string{"", `has no "7 lines"`, "answer is not as wanted", "the conversation ended before 1 of its 3 turns"}
	for i, o := range list {
		if !strings.Contains(o.Message, want[i]) || (o.Message == "") != (want[i] == "") {
			t.Errorf("%s: %s, %q; want %q", o.Name, o.Status, o.Message, want[i])
		}
	}
}

// TestNone: a skill without tests is an error that says where they belong.
func TestNone(t *testing.T) {
	_, err := run(t)
	if !errors.Is(err, skilltest.ErrNone) || !strings.Contains(err.Error(), "tests/NAME.txtar") {
		t.Error(err)
	}
}

// TestCancelled: a run that is interrupted is no verdict.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	memory, err := source.Files(map[string]string{"notes/SKILL.md": notes}, nil)
	must.Do(t, err)
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{memory}, DB: filepath.Join(t.TempDir(), "c.db"), Schedule: repertoire.Never})
	must.Do(t, err)
	defer c.Close()
	if _, err := skilltest.Run(ctx, agent.Config{Catalog: c}, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestParse: mistakes in a test are told with their place.
func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `neither a section "command" nor a section "prompt"`},
		{"-- command --\nls\n-- prompt --\nhi\n", "make two files"},
		{"-- prompt --\nhi\n", `no section "turn"`},
		{"-- prompt --\nhi\n-- turn --\n-- stdout --\n", `section "stdout" belongs to a command`},
		{"-- command --\nls\n-- turn --\n", `section "turn" belongs to a prompt`},
		{"about\n\n-- command --\nls\n-- exit --\none\n", `t.txtar:5: section "exit"`},
		{"-- command --\nls\n-- command --\nls\n", "t.txtar:3: section \"command\": it is there twice"},
		{"-- command --\nls\n-- files/../x --\n", "leaves the workspace"},
		{"-- command --\nls\n-- want//x --\n", "leaves the workspace"},
		{"-- prompt --\nhi\n-- turn --\nwnt: x\n", "no such key"},
	} {
		_, err := skilltest.Parse("t.txtar", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzParse: what is read has a command or a prompt, and no path that leaves the workspace.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("-- prompt --\nhi\n-- turn --\nwant: x\n\nyes\n-- answer --\nyes\n"))
	f.Add(txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "command", Data: []byte("ls")}, {Name: "files/a/../../b"}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		test, err := skilltest.Parse("t.txtar", data)
		if err != nil {
			return
		}
		if (test.Command == "") == (test.Prompt == "") {
			t.Errorf("command %q, prompt %q", test.Command, test.Prompt)
		}
		for _, file := range append(test.Files, test.Want...) {
			if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

// TestOtherSkills: what a model says in a test, which the author of the skill wrote, runs no
// scripts of other skills.
func TestOtherSkills(t *testing.T) {
	list, err := run(t,
		"../../other/SKILL.md", "---\nname: other\ndescription: Another skill.\nallowed-tools: '*'\n---\nBody.\n",
		"../../other/scripts/x.sh", "#!/bin/sh\necho gone >$WORKSPACE/gone\n",
		"a.txtar", "-- prompt --\nHow many lines have my notes?\n-- turn --\n"+
			`call run_skill_script: {"skill_name": "other", "command": "sh scripts/x.sh"}`+"\n-- turn --\nwant: runs no scripts of the skill other\n\nOne.\n")
	if err != nil || len(list) != 1 || list[0].Status != skilltest.Passed {
		t.Errorf("%+v, %v", list, err)
	}
}
