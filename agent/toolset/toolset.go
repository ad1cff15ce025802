// Package toolset reads which scripts of a skill declare parameters, and turns the arguments
// of a call into the arguments of the script. The one rule: it guesses nothing. A
// declaration that can be read in two ways is none, and says why; a value that the script
// could take for an option is refused.
//
// A script declares its parameters in the comment that it starts with, by a line
//
//	Usage: convert.py [--dpi N] [--gray] INPUT OUTPUT
//
// or by "Parameters:" and a JSON Schema, or the skill does in its frontmatter:
//
//	metadata:
//	  tools:
//	    - {script: scripts/convert.py, description: Converts …, usage: "convert.py [--dpi N] INPUT OUTPUT"}
//	  toolsets: [tools/convert.py] # scripts outside of scripts/ that say it themselves
package toolset

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Script is a script that is a tool of its own.
type Script struct {
	Name        string // of the tool; see the function Name
	Path        string // of the script, relative to the skill's folder
	Description string
	Parameters  json.RawMessage // JSON Schema of an object

	params []param
	schema *jsonschema.Resolved
}

// A Skill is what is read of a skill.
type Skill struct {
	ID     string
	Parsed *skill.Skill
	Files  []string // paths of its files
	// Read returns the text of a file.
	Read func(path string) (string, error)
}

// Bounds of one skill.
const (
	maxScripts = 64 // that are looked at
	maxTools   = 16
)

// Scripts returns the scripts of a skill that declare parameters, ordered by path, and what
// is wrong with other declarations.
func Scripts(s Skill) ([]Script, []skill.Problem) {
	r := &reader{Skill: s, named: make(map[string]bool)}
	r.frontmatter()
	r.comments()
	slices.SortFunc(r.scripts, func(a, b Script) int { return strings.Compare(a.Path, b.Path) })
	if len(r.scripts) > maxTools {
		r.problem(skill.Warning, "toolset-too-many", "SKILL.md", 0, fmt.Sprintf("%d scripts declare parameters; the first %d are tools", len(r.scripts), maxTools))
		r.scripts = r.scripts[:maxTools]
	}
	var paths []string
	for i := range r.scripts {
		paths = append(paths, r.scripts[i].Path)
	}
	for i := range r.scripts {
		r.scripts[i].Name = Name(s.ID, r.scripts[i].Path, paths)
	}
	return r.scripts, r.problems
}

// A reader reads the declarations of one skill.
type reader struct {
	Skill
	named    map[string]bool // scripts that toolsets names
	scripts  []Script
	problems []skill.Problem
}

func (r *reader) problem(s skill.Severity, rule, file string, line int, message string) {
	r.problems = append(r.problems, skill.Problem{Rule: rule, Severity: s, Path: file, Line: line, Message: message,
		Hint: "write one line such as Usage: convert.py [--dpi N] [--gray] INPUT, or Parameters: and a JSON Schema"})
}

// frontmatter reads what the frontmatter declares.
func (r *reader) frontmatter() {
	meta, _ := r.Parsed.Frontmatter["metadata"].(map[string]any)
	for _, list := range []any{r.Parsed.Frontmatter["toolsets"], meta["toolsets"]} {
		for _, name := range pathsIn(list) {
			file := path.Clean(name)
			if !slices.Contains(r.Files, file) {
				r.problem(skill.Warning, "toolset-missing", "SKILL.md", r.lineOf("toolsets"), fmt.Sprintf("toolsets names %q, which the skill does not have", tidy.Shorten(name, 80)))
				continue
			}
			r.named[file] = true
		}
	}
	for _, d := range declarationsIn(meta["tools"]) {
		r.declared(d)
	}
}

// lineOf returns the line of SKILL.md with a key of the frontmatter, 0 if it is not found.
func (r *reader) lineOf(key string) int {
	n := 0
	for line := range strings.Lines(r.Parsed.Text()) {
		if n++; strings.HasPrefix(strings.TrimSpace(line), key+":") {
			return n
		}
	}
	return 0
}

// pathsIn returns the entries of a list, or the words of a text.
func pathsIn(v any) []string {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	case []any:
		var paths []string
		for _, e := range v {
			if text, ok := e.(string); ok {
				paths = append(paths, text)
			}
		}
		return paths
	}
	return nil
}

// A declaration is one entry of metadata.tools.
type declaration struct {
	Script      string          `json:"script"`
	Description string          `json:"description"`
	Usage       string          `json:"usage"`
	Parameters  json.RawMessage `json:"parameters"`
	bad         string          // what is malformed
}

// declarationsIn reads metadata.tools: a list of declarations, a map from scripts to
// declarations or usage lines, or a text that holds one of both as JSON. Other clients have
// lists of names there, which declare nothing.
func declarationsIn(v any) []declaration {
	if text, ok := v.(string); ok {
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
			return nil
		}
		v = nil
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return []declaration{{bad: "metadata.tools is malformed JSON: " + err.Error()}}
		}
	}
	var list []declaration
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				list = append(list, declarationOf(m, ""))
			}
		}
	case map[string]any:
		for script, e := range v {
			switch e := e.(type) {
			case string:
				list = append(list, declaration{Script: script, Usage: e})
			case map[string]any:
				list = append(list, declarationOf(e, script))
			}
		}
		slices.SortFunc(list, func(a, b declaration) int { return strings.Compare(a.Script, b.Script) })
	}
	return list
}

func declarationOf(m map[string]any, script string) declaration {
	d := declaration{Script: script}
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		d.bad = "an entry of metadata.tools is malformed: " + err.Error()
	}
	return d
}

// declared adds the script of a declaration.
func (r *reader) declared(d declaration) {
	line, file := r.lineOf("tools"), path.Clean(d.Script)
	switch {
	case d.bad != "":
	case d.Script == "":
		d.bad = "an entry of metadata.tools has no script"
	case !slices.Contains(r.Files, file):
		d.bad = fmt.Sprintf("metadata.tools names the script %q, which the skill does not have", tidy.Shorten(d.Script, 80))
	case r.has(file):
		d.bad = "metadata.tools names the script " + file + " twice"
	case d.Usage == "" && d.Parameters == nil:
		d.bad = "metadata.tools gives neither usage nor parameters for the script " + file
	}
	if d.bad != "" {
		r.problem(skill.Warning, "toolset-malformed", "SKILL.md", line, d.bad)
		return
	}
	if err := r.add(file, comment{description: d.Description, usage: d.Usage, schema: d.Parameters}); err != nil {
		r.problem(skill.Warning, "toolset-malformed", "SKILL.md", line, fmt.Sprintf("metadata.tools, script %s: %v", file, err))
	}
	delete(r.named, file)
}

func (r *reader) has(file string) bool {
	return slices.ContainsFunc(r.scripts, func(s Script) bool { return s.Path == file })
}

// comments reads what the scripts declare themselves. A usage line that cannot be read is
// worth a note only, unless toolsets names the script: most are written for people.
func (r *reader) comments() {
	looked := 0
	for _, file := range r.Files {
		named := r.named[file]
		if r.has(file) || !named && (skill.File{Path: file}).Kind() != skill.Script || looked == maxScripts {
			continue
		}
		looked++
		severity := skill.Note
		if named {
			severity = skill.Warning
		}
		text, err := r.Read(file)
		if err != nil {
			r.problem(severity, "toolset-unreadable", file, 0, err.Error())
			continue
		}
		c := readComment(text)
		switch {
		case c.bad != "":
			r.problem(skill.Warning, "toolset-malformed", file, c.line, c.bad)
		case c.usage == "" && c.schema == nil:
			if named {
				r.problem(severity, "toolset-undeclared", file, 0, "toolsets names this script, but the comment that it starts with has no line Usage: and no Parameters:")
			}
		default:
			if err := r.add(file, c); err != nil {
				if c.schema != nil {
					severity = skill.Warning
				}
				r.problem(severity, "toolset-malformed", file, c.line, err.Error())
			}
		}
	}
}

// add adds a script.
func (r *reader) add(file string, c comment) error {
	s := Script{Path: file, Description: r.describe(file, c.description)}
	if c.usage != "" {
		params, err := parseUsage(c.usage, path.Base(file))
		if err != nil {
			return err
		}
		s.params = params
		for i := range s.params {
			s.params[i].text = c.options[s.params[i].name]
		}
	}
	if err := s.build(c.schema, c.usage != ""); err != nil {
		return err
	}
	r.scripts = append(r.scripts, s)
	return nil
}

// maxDescription bounds what a script says of itself, in characters.
const maxDescription = 400

func (r *reader) describe(file, text string) string {
	own := fmt.Sprintf("(Runs %s of the skill %s.)", tidy.Line(file), tidy.Line(r.Parsed.Name))
	if text = tidy.Shorten(tidy.Line(text), maxDescription); text != "" {
		return text + " " + own
	}
	return own
}
