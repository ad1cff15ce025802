package toolset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/agent/toolset"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// scripts reads the scripts of a skill with this frontmatter beside its name, and files.
func scripts(t testing.TB, frontmatter string, files map[string]string) ([]toolset.Script, []skill.Problem) {
	t.Helper()
	parsed, err := skill.ParseBytes([]byte("---\nname: pdf\ndescription: Works on PDFs.\n"+frontmatter+"---\nBody.\n"), "SKILL.md", "pdf")
	must.Do(t, err)
	return toolset.Scripts(toolset.Skill{ID: "pdf", Parsed: parsed, Files: slices.Sorted(maps.Keys(files)), Read: func(name string) (string, error) {
		text, ok := files[name]
		if !ok {
			return "", errors.New("no such file")
		}
		return text, nil
	}})
}

// argv returns the arguments of the only script for a call.
func argv(s *toolset.Script, call string) string {
	in, err := tool.Fields(call)
	if err != nil {
		return "error: " + err.Error()
	}
	list, err := s.Args(in)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(list, "|")
}

// TestUsage reads usage lines: those that can be read without doubt, each with the
// arguments of a call, and those that cannot.
func TestUsage(t *testing.T) {
	for usage, test := range map[string]struct{ call, want string }{
		"convert.py":                                       {`{}`, ""},
		"convert.py [--dpi N] INPUT OUTPUT":                {`{"dpi":300,"input":"a b.pdf","output":"$(rm)"}`, "--dpi|300|a b.pdf|$(rm)"},
		"python3 scripts/convert.py <input file> [OUTPUT]": {`{"input_file":"a"}`, "a"},
		"./convert.py [-v | --verbose] [-o, --out FILE]":   {`{"verbose":true,"out":"x"}`, "--verbose|--out|x"},
		"convert.py --format=FMT INPUT":                    {`{"format":"-png","input":"i"}`, "--format=-png|i"},
		"convert.py INPUT [--force]":                       {`{"input":"i","force":true}`, "i|--force"},
		"convert.py INPUT [--force] ":                      {`{"input":"i","force":false}`, "i"},
		"convert.py [--page N]... FILE...":                 {`{"page":[1,2],"file":["a","b"]}`, "--page|1|--page|2|a|b"},
		"convert.py FILE [FILE ...]":                       {`{"file":["a"]}`, "a"},
		"convert.py [FILE…]":                               {`{}`, ""},
		"convert.py [--mode fast|slow] [--kind {A,b}]":     {`{"mode":"slow","kind":"A"}`, "--mode|slow|--kind|A"},
		"$0 [-h] [--ratio NUM] NAME":                       {`{"ratio":"0.5","NAME":7}`, "--ratio|0.5|7"},
		"convert.py [--title TEXT] [--] FILE":              {`{"title":"--x","file":"-y"}`, "--title=--x|--|-y"},
		"convert.py [--dry-run] -n COUNT":                  {`{"dryRun":"true","n":"3"}`, "--dry-run|-n|3"},

		"convert.py  FILE":                  {`{"file":"-rf"}`, "error: argument file starts with -, so the script would take it for an option; write a path as ./-name"},
		"convert.py [-o FILE]":              {`{"o":"-rf"}`, "error: argument o starts with -, so the script would take it for an option; write a path as ./-name"},
		"convert.py INPUT OUTPUT":           {`{"input":"x"}`, "error: argument output is missing"},
		"convert.py [--dpi N] INPUT":        {`{"dpi":1.5,"input":"x"}`, "error: argument dpi is not of the type integer"},
		"convert.py [--dpi N]":              {`{"dpi":12345678901234567890}`, "error: argument dpi is too large to be exact"},
		"convert.py [--mode fast|slow]":     {`{"mode":"quick"}`, "error: the arguments do not fit the schema: "},
		"convert.py INPUT":                  {`{"inputs":"x"}`, "error: there is no argument 'inputs'; did you mean input?"},
		"convert.py  INPUT":                 {`{"input":["x"]}`, "error: argument input is not a text"},
		"convert.py   INPUT":                {`{"input":"a\u0000b"}`, "error: argument input holds a NUL character"},
		"convert.py [--all]":                {`{"all":"maybe"}`, "error: argument all is neither true nor false"},
		"convert.py INPUT...":               {`{"input":"x"}`, "error: argument input is not a list"},
		"convert.py    INPUT":               {`{"input":null}`, "error: argument input is missing"},
		"other.py INPUT":                    {``, "does not start with convert.py"},
		"convert.py [options] INPUT":        {``, `"options" is a name or is to be typed`},
		"convert.py [OPTIONS] INPUT":        {`{"options":"a","input":"b"}`, "follows OPTIONS"},
		"convert.py input.pdf output.pdf":   {``, `"input.pdf" is a name or is to be typed`},
		"convert.py (--a | --b)":            {``, `"("`},
		"convert.py [--json | --yaml]":      {``, "--json and --yaml can be read as one parameter or as two"},
		"convert.py [INPUT OUTPUT]":         {``, "can be read in several ways"},
		"convert.py [INPUT] OUTPUT":         {``, "OUTPUT follows INPUT"},
		"convert.py FILE... DIR":            {``, "DIR follows FILE"},
		"convert.py --verbose":              {``, "whether it is always needed"},
		"convert.py [--pages N...]":         {``, "how several values of --pages N are written is not said"},
		"convert.py [--a] [--a]":            {``, "there are two parameters --a"},
		"convert.py [-vf FILE]":             {``, `"-vf" is no name of an option`},
		"convert.py <INPUT":                 {``, "a < without >"},
		"convert.py [--x":                   {``, "can be read in several ways"},
		"convert.py INPUT > OUTPUT":         {``, `">"`},
		"convert.py start|stop":             {``, "is a choice without a name"},
		strings.Repeat("x", 3000):           {``, "longer than"},
		"convert.py [--colour[=WHEN]] FILE": {``, "can be read in several ways"},
	} {
		found, problems := scripts(t, "", map[string]string{"scripts/convert.py": "#!/usr/bin/env python3\n# Converts.\n#\n# Usage: " + usage + "\nimport sys\n"})
		if len(found) == 0 {
			if len(problems) != 1 || !strings.Contains(problems[0].Message, test.want) || problems[0].Line != 4 || problems[0].Path != "scripts/convert.py" {
				t.Errorf("%s: %v, want %q", usage, problems, test.want)
			}
			continue
		}
		if got := argv(&found[0], test.call); len(problems) > 0 || got != test.want && !(strings.HasSuffix(test.want, ": ") && strings.HasPrefix(got, test.want)) {
			t.Errorf("%s %s: %q %v, want %q", usage, test.call, got, problems, test.want)
		}
	}
}

// TestComments reads declarations in the comments of several languages.
func TestComments(t *testing.T) {
	for name, text := range map[string]string{
		"shell":      "#!/bin/sh\n# Converts a file.\n#\n# Usage: x.sh [--dpi N] INPUT\n#\n#   --dpi N   resolution\n#   INPUT     the file\nset -e\n# Usage: x.sh other\n",
		"docstring":  "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n\"\"\"Converts a file.\n\nUsage:\n    x.sh [--dpi N] INPUT\n\n    --dpi N   resolution\n    INPUT     the file\n\"\"\"\nimport sys\n",
		"javascript": "/**\n * Converts a file.\n *\n * Usage: x.sh [--dpi N] \\\n *          INPUT\n *   --dpi N  resolution\n *   INPUT  the file\n */\nlet a\n",
		"slashes":    "// Converts a file.\r\n//\r\n// usage: x.sh [--dpi N] INPUT\r\n//   --dpi N   resolution\r\n//   INPUT   the file\r\n",
		"schema": "# Converts a file.\n#\n# Parameters: {\"type\": \"object\", \"required\": [\"input\"], \"properties\": {\n#   \"dpi\": {\"type\": \"integer\", \"description\": \"resolution\"},\n" +
			"#   \"input\": {\"type\": \"string\", \"description\": \"the file\", \"x-position\": 1}}}\n# More.\n",
	} {
		found, problems := scripts(t, "", map[string]string{"scripts/x.sh": text})
		if len(found) != 1 || len(problems) > 0 {
			t.Errorf("%s: %v %v", name, found, problems)
			continue
		}
		s := &found[0]
		want := `{"type":"object","properties":{"dpi":{"type":"integer","description":"resolution"},"input":{"type":"string","description":"the file"}},"required":["input"],"additionalProperties":false}`
		if diff := cmp.Diff(want, sorted(t, s.Parameters, want)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if s.Name != "pdf__x" || s.Path != "scripts/x.sh" || s.Description != "Converts a file. (Runs scripts/x.sh of the skill pdf.)" {
			t.Errorf("%s: %+v", name, s)
		}
		if got := argv(s, `{"dpi":72,"input":"i"}`); got != "--dpi|72|i" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// Comments that declare nothing, and one that never ends.
	for _, text := range []string{"", "\n\n", "echo Usage: x.sh FILE\n", "#!/bin/sh", "# Parameters: are described below\n", "\"\"\"Usage: x.sh FILE\n"} {
		if found, problems := scripts(t, "", map[string]string{"scripts/x.sh": text}); len(found)+len(problems) > 0 {
			t.Errorf("%q: %v %v", text, found, problems)
		}
	}
}

// sorted returns JSON with the order of fields of want, if it is the same.
func sorted(t *testing.T, got []byte, want string) string {
	t.Helper()
	var a, b any
	if json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && cmp.Equal(a, b) {
		return want
	}
	return string(got)
}

// TestFrontmatter reads declarations of a skill, and says what is wrong with others.
func TestFrontmatter(t *testing.T) {
	files := map[string]string{"SKILL.md": "", "scripts/a.sh": "echo\n", "tools/b.py": "# Usage: b.py INPUT\n", "tools/c.py": "# Nothing.\n", "scripts/d.sh": "# Usage: d.sh [options]\n"}
	for _, test := range []struct{ frontmatter, tools, problem string }{
		{"", "", "scripts/d.sh:1: note:"},
		{"toolsets: [tools/b.py]\n", "pdf__b", "scripts/d.sh:1: note:"},
		{"metadata:\n  toolsets: ./tools/b.py, tools/c.py\n", "pdf__b", "tools/c.py: warning: toolsets names this script"},
		{"toolsets: [scripts/d.sh]\n", "", "scripts/d.sh:1: warning:"},
		{"toolsets: [tools/z.py]\n", "", `SKILL.md:4: warning: toolsets names "tools/z.py", which the skill does not have`},
		{"metadata:\n  tools:\n    - {script: scripts/a.sh, description: Does a., usage: 'a.sh FILE'}\n", "pdf__a", ""},
		{"metadata:\n  tools: {scripts/a.sh: 'a.sh FILE', tools/b.py: {usage: b.py}}\n", "pdf__a pdf__b", ""},
		{"metadata:\n  tools: '[{\"script\": \"scripts/a.sh\", \"parameters\": {\"properties\": {\"x_y\": {\"type\": \"boolean\"}}}}]'\n", "pdf__a", ""},
		{"metadata:\n  tools: [Read, Bash]\n", "", ""},
		{"metadata:\n  tools: Read Bash\n", "", ""},
		{"metadata:\n  tools: '[{'\n", "", "SKILL.md:5: warning: metadata.tools is malformed JSON"},
		{"metadata:\n  tools: [{usage: a.sh}]\n", "", "has no script"},
		{"metadata:\n  tools: [{script: scripts/a.sh}]\n", "", "gives neither usage nor parameters"},
		{"metadata:\n  tools: [{script: ../a.sh, usage: a.sh}]\n", "", "which the skill does not have"},
		{"metadata:\n  tools: [{script: scripts/a.sh, usage: b.sh}]\n", "", "does not start with a.sh"},
		{"metadata:\n  tools: [{script: [1]}]\n", "", "an entry of metadata.tools is malformed"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {type: array}}]\n", "", "not the schema of an object"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {type: object}}}}]\n", "", "parameter x is no text, number, boolean or list"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {type: boolean, x-position: 1}}}}]\n", "", "parameter x is a boolean"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {type: string, pattern: '('}}}}]\n", "", "no valid JSON Schema"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {type: string, x-flag: '-rf /'}}}}]\n", "", "is no name of an option"},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {type: string, x-position: 1}, y: {type: string, x-position: 1}}}}]\n", "", "have the same x-position"},
		{"metadata:\n  tools: [{script: scripts/a.sh, usage: 'a.sh X', parameters: {properties: {y: {type: string}}}}]\n", "", `the usage line has no parameter "y"`},
		{"metadata:\n  tools: [{script: scripts/a.sh, parameters: {properties: {x: {$ref: 'https://example.com/x'}}}}]\n", "", "refers to another ($ref)"},
	} {
		found, problems := scripts(t, test.frontmatter, files)
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != test.tools {
			t.Errorf("%s: tools %q, want %q: %v", test.frontmatter, got, test.tools, problems)
		}
		if text := fmt.Sprint(problems); !strings.Contains(text, test.problem) {
			t.Errorf("%s: %s, want %q", test.frontmatter, text, test.problem)
		}
	}
}

// TestName: names hold to the rules of providers, and differ where scripts differ.
func TestName(t *testing.T) {
	long := strings.Repeat("long-", 20)
	all := []string{"scripts/a.py", "scripts/a.sh", "scripts/b.py", "scripts/ä.py", "scripts/_a.go", "scripts/" + long + ".py", "scripts/" + long + "2.py"}
	seen := make(map[string]string)
	for _, id := range []string{"pdf", "3d-print", "team/pdf", "team_pdf", "pdf_", "日本", long} {
		for _, file := range all {
			name := toolset.Name(id, file, all)
			if seen[name] != "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || !strings.HasPrefix(name, toolset.Prefix(id)) {
				t.Errorf("%s of %s: %q, which %s has", file, id, name, seen[name])
			}
			seen[name] = id + " " + file
		}
	}
	if got := toolset.Name("pdf", "scripts/b.py", all); got != "pdf__b" {
		t.Errorf("a plain name is %s", got)
	}
}

func FuzzScripts(f *testing.F) {
	f.Add("# Usage: x.sh [--dpi N] INPUT\n", "toolsets: scripts/x.sh\n", `{"input":"a","dpi":1}`)
	f.Add("# Parameters: {\"properties\": {\"a\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}\n", "", `{"a":["-x"]}`)
	f.Add("\"\"\"Usage: x.sh [-a|--all] {a,b} <x y>... \"\"\"", "metadata: {tools: [{script: scripts/x.sh, usage: x.sh}]}\n", `{}`)
	f.Fuzz(func(t *testing.T, text, frontmatter, call string) {
		parsed, err := skill.ParseBytes([]byte("---\nname: pdf\ndescription: d\n"+frontmatter+"\n---\n"), "SKILL.md", "pdf")
		if err != nil {
			t.Skip()
		}
		found, problems := toolset.Scripts(toolset.Skill{ID: "pdf", Parsed: parsed, Files: []string{"scripts/x.sh"}, Read: func(string) (string, error) { return text, nil }})
		for _, p := range problems {
			if p.Path == "" || p.Message == "" || p.Rule == "" {
				t.Errorf("a problem without place: %+v", p)
			}
		}
		in, _ := tool.Fields(call) // none if it is malformed
		for i := range found {
			if !json.Valid(found[i].Parameters) {
				t.Errorf("parameters %s", found[i].Parameters)
			}
			list, err := found[i].Args(in)
			if err == nil && slices.ContainsFunc(list, func(a string) bool { return strings.ContainsRune(a, 0) }) {
				t.Errorf("arguments %q", list)
			}
		}
	})
}

// TestHostileSchemas: a schema that would never be done, or is too long, or hides a text,
// makes no tool. The first ones would end the whole program if they were checked.
func TestHostileSchemas(t *testing.T) {
	property := func(more string) string { return `{"properties":{"a":{"type":"string"` + more + `}}}` }
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"string"}},"allOf":[{"$ref":"#"}]}`:                                                         "refers to another",
		property(`,"$ref":"#/properties/a"`):                                                                                    "refers to another",
		`{"properties":{"a":{"type":"string"}},"$dynamicAnchor":"x","not":{"$dynamicRef":"#x"}}`:                                "refers to another",
		`{"properties":{"a":{"type":"string","anyOf":[{"\u0024ref":"#/$defs/x"}]}},"$defs":{"x":{"not":{"$ref":"#/$defs/x"}}}}`: "refers to another",
		property(`,"description":"` + strings.Repeat("x", 9<<10) + `"`):                                                         "bytes",
		property(`,"description":"a\u202eb"`):                                                                                   "nobody can see",
		property(`,"enum":["a\udb40\udc41"]`):                                                                                   "nobody can see",
	} {
		found, problems := scripts(t, "", map[string]string{"scripts/a.py": "# Parameters: " + schema + "\n"})
		if len(found) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%.80s: %d tools, %v, want %q", schema, len(found), problems, want)
		}
	}
}
