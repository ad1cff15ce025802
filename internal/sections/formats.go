package sections

import (
	"path"
	"strings"
)

// A format is how a file is cut.
type format int

const (
	plain format = iota
	markdown
	script
	jsonFormat
	yamlFormat
	iniFormat
)

// formatOf returns the format of a file by the ending of its name.
func formatOf(name string) format {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".mdc":
		return markdown
	case ".json", ".jsonc", ".json5":
		return jsonFormat
	case ".yaml", ".yml":
		return yamlFormat
	case ".toml", ".ini", ".cfg", ".conf":
		return iniFormat
	case ".py", ".rb", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx", ".go", ".rs", ".java", ".kt", ".kts",
		".swift", ".php", ".pl", ".lua", ".r", ".jl", ".ps1", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".scala", ".ex", ".exs", ".dart", ".nix":
		return script
	}
	return plain
}

// markdown finds headings outside of the frontmatter and of blocks of code.
func (d *document) markdown() {
	fence, at := "", d.frontmatter()
	for i := at; i < len(d.lines); i++ {
		line := strings.TrimRight(d.lines[i], " \t\r\n")
		bare := strings.TrimLeft(line, " \t")
		if mark := fenceOf(bare); fence != "" {
			d.inside[i] = true
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(bare[len(mark):]) == "" {
				fence = ""
			}
			continue
		} else if mark != "" && !(mark[0] == '`' && strings.Contains(bare[len(mark):], "`")) {
			fence, d.inside[i] = mark, true
			continue
		}
		if len(line)-len(bare) > 3 {
			continue
		}
		if level, title := heading(bare); level > 0 {
			d.heads = append(d.heads, head{i, level, title})
		} else if i > at && underlines(bare) && d.isTitle(i-1, at) {
			d.heads = append(d.heads, head{i - 1, 1 + strings.Count(bare[:1], "-"), strings.TrimSpace(d.lines[i-1])})
		}
	}
}

// frontmatter returns how many lines the frontmatter has; 0 if there is none.
func (d *document) frontmatter() int {
	if len(d.lines) == 0 || strings.TrimRight(d.lines[0], " \r\n") != "---" {
		return 0
	}
	for i, line := range d.lines[1:] {
		if strings.TrimRight(line, " \r\n") == "---" {
			return i + 2
		}
	}
	return 0
}

// fenceOf returns the three or more backticks or tildes that a line begins with.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// heading reads "## Title ##"; level 0 means that a line is none.
func heading(line string) (level int, title string) {
	title = strings.TrimLeft(line, "#")
	level = len(line) - len(title)
	if level > 6 || title != "" && title[0] != ' ' && title[0] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(title), "#"))
}

// underlines reports whether a line makes the one before a heading.
func underlines(line string) bool {
	return len(line) >= 3 && (strings.Trim(line, "=") == "" || strings.Trim(line, "-") == "")
}

// isTitle reports whether a line stands alone and can be a heading: text, and no list or table.
func (d *document) isTitle(i, from int) bool {
	line := strings.TrimSpace(d.lines[i])
	alone := i == from || strings.TrimSpace(d.lines[i-1]) == ""
	return alone && line != "" && !strings.ContainsAny(line[:1], "#->|*+`~") && !strings.Contains(line, "|")
}

// Words before the name of a function or type, and words that say that a name follows.
var (
	modifiers = setOf("export default pub public private protected internal static async abstract final override suspend open sealed data local inline unsafe extern virtual")
	keywords  = setOf("def defp defmodule func function fn class interface struct enum trait impl module object record type sub fun namespace")
)

func setOf(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// script finds functions and types at the left edge, and methods one step further right. The
// comment above one belongs to it.
func (d *document) script() {
	for i, line := range d.lines {
		bare := strings.TrimLeft(line, " \t")
		indent := len(line) - len(bare)
		if indent > 4 || bare != "" && line[0] == '\t' && indent > 1 {
			continue
		}
		name := declared(bare, indent == 0)
		if name == "" {
			continue
		}
		level, at := 1, i
		if indent > 0 {
			level = 2
		}
		for at > 0 && isAbove(d.lines[at-1]) && (len(d.heads) == 0 || d.heads[len(d.heads)-1].line < at-1) {
			at--
		}
		d.heads = append(d.heads, head{at, level, name})
	}
}

// declared returns the name of what a line declares; "" if it declares nothing.
func declared(line string, outermost bool) string {
	rest := line
	for {
		word, after, ok := strings.Cut(rest, " ")
		switch {
		case ok && modifiers[word]:
			rest = strings.TrimLeft(after, " ")
			continue
		case ok && keywords[strings.TrimSuffix(word, "*")]:
			after = strings.TrimLeft(after, " ")
			if strings.HasPrefix(after, "(") { // the receiver of a method
				_, after, _ = strings.Cut(after, ")")
			}
			return identifier(strings.TrimLeft(after, " "))
		}
		break
	}
	name := identifier(rest)
	after := strings.TrimSpace(rest[len(name):])
	switch {
	case name == "" || !outermost:
		return ""
	case strings.HasPrefix(after, "()") && strings.HasPrefix(strings.TrimSpace(after[2:]), "{"): // of a shell
		return name
	case name == "const" || name == "let":
		name = identifier(after)
		if name != "" && strings.Contains(after, "=") && (strings.Contains(after, "=>") || strings.Contains(after, "function")) {
			return name
		}
	case strings.HasPrefix(after, "<- function"): // of R
		return name
	}
	return ""
}

// identifier returns the identifier that a text begins with.
func identifier(s string) string {
	for i, r := range s {
		if !(r == '_' || r == '-' && i > 0 || r == '.' && i > 0 || r == '?' && i > 0 || '0' <= r && r <= '9' && i > 0 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127) {
			return s[:i]
		}
	}
	return s
}

// isAbove reports whether a line belongs to what follows it: a comment or an annotation.
func isAbove(line string) bool {
	bare := strings.TrimSpace(line)
	for _, mark := range []string{"#", "//", "/*", "*", "--", "@", ";"} {
		if strings.HasPrefix(bare, mark) && !strings.HasPrefix(bare, "#!") {
			return true
		}
	}
	return false
}

// json finds the keys of the outermost object that begin a line.
func (d *document) json() {
	depth, quoted := 0, false
	for i, line := range d.lines {
		bare := strings.TrimSpace(line)
		if depth == 1 && !quoted && strings.HasPrefix(bare, `"`) {
			if key := keyBefore(bare, ":"); key != "" {
				d.heads = append(d.heads, head{i, 1, key})
			}
		}
		for j := 0; j < len(line); j++ {
			switch c := line[j]; {
			case quoted && c == '\\':
				j++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
		}
		quoted = false // no text goes beyond its line
	}
}

// keys finds the lines at the left edge for which key returns a title.
func (d *document) keys(key func(line string) string) {
	for i, line := range d.lines {
		if line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == '-' || strings.TrimSpace(line) == "" {
			continue
		}
		if k := key(line); k != "" {
			d.heads = append(d.heads, head{i, 1, k})
		}
	}
}

// keyBefore returns the key before a separator, without quotes; "" if a line has none.
func keyBefore(line, separator string) string {
	key, _, ok := strings.Cut(line, separator)
	if !ok {
		return ""
	}
	return strings.Trim(strings.TrimSpace(key), `"'`)
}
