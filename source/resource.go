package source

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxMissing bounds how many missing files are reported for one skill.
const maxMissing = 20

var (
	fence    = lazyregexp.New("^\\s*(?:[-*+>]\\s+|\\d+[.)]\\s+)*(```+|~~~+)")
	codeSpan = lazyregexp.New("`+[^`]*`+")
	linkTo   = lazyregexp.New(`\]\(\s*<?([^)\s<>]+)>?(?:\s+["'][^)]*)?\s*\)`)
	resource = lazyregexp.New(`(?:scripts|references|assets)/[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,7}`)
)

// missing reports files that the body refers to but the skill does not have: the
// targets of links and paths below scripts/, references/ or assets/. One in ten of
// 20,000 published skills has such a reference. In a sample of 45 reports, four
// were wrong: they named a file of the user's project or of an example.
func (m *Manifest) missing(body string, bodyLine int) []skill.Problem {
	var problems []skill.Problem
	seen := make(map[string]bool)
	for _, r := range resources(body) {
		if len(problems) == maxMissing {
			break
		}
		if seen[r.path] || m.has(r.path) {
			continue
		}
		seen[r.path] = true
		p := skill.Problem{Rule: "missing-resource", Severity: skill.Warning, Path: m.path(), Line: bodyLine + r.line,
			Message: "the body refers to " + r.path + ", which the skill does not have"}
		if strings.HasPrefix(r.path, "..") {
			p.Rule, p.Severity = "outside-resource", skill.Note
			p.Message = "the body links to " + r.path + ", which is outside of the skill's folder and not served"
		}
		problems = append(problems, p)
	}
	return problems
}

// has reports whether name is a file or a folder of the skill. Folders behind links and of
// other skills are not listed, so any path below one is assumed to exist.
func (m *Manifest) has(name string) bool {
	return name == "." ||
		slices.ContainsFunc(m.Files, func(f skill.File) bool { return within(f.Path, name) }) ||
		slices.ContainsFunc(slices.Concat(m.Links, m.Skills), func(dir string) bool { return within(name, dir) })
}

// A mention is a relative path that a body mentions.
type mention struct {
	path string
	line int // from 0
}

// resources returns the paths of files that a Markdown text refers to, in order. A
// link in a code block does not count. A path below one of the well-known folders
// counts there too, because commands stand in code blocks.
func resources(body string) []mention {
	var list []mention
	line, open := 0, ""
	for text := range strings.Lines(body) {
		mark := fenceMark(text)
		switch {
		case open == "" && mark != "":
			open = mark
		case open != "" && strings.HasPrefix(mark, open):
			open = ""
		case open == "":
			list = appendLinks(list, text, line)
		}
		list = appendNamed(list, text, line)
		line++
	}
	return list
}

// fenceMark returns the backticks or tildes that open or close a code block.
func fenceMark(text string) string {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return "" // without this test, the expression makes it a hundred times slower
	}
	if found := fence().FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

func appendLinks(list []mention, text string, line int) []mention {
	if !strings.Contains(text, "](") {
		return list
	}
	for _, found := range linkTo().FindAllStringSubmatch(codeSpan().ReplaceAllString(text, "code"), -1) {
		if target, ok := relative(found[1]); ok {
			list = append(list, mention{target, line})
		}
	}
	return list
}

// relative returns the relative path in the target of a link; ok is false if the
// target is something else, such as a URL.
func relative(target string) (string, bool) {
	target, _, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if target == "" || strings.HasPrefix(target, "/") || strings.ContainsAny(target, `:\*{}$<>|`) {
		return "", false
	}
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	target = path.Clean(target)
	// A link to another skill is not a file of this one.
	return target, !strings.HasPrefix(target, "..") || !strings.EqualFold(path.Base(target), upperFile)
}

// appendNamed adds the paths below well-known folders. It skips a path that is the
// tail of a longer one, and a path with a placeholder.
func appendNamed(list []mention, text string, line int) []mention {
	if !strings.Contains(text, "scripts/") && !strings.Contains(text, "references/") && !strings.Contains(text, "assets/") {
		return list
	}
	for _, at := range resource().FindAllStringIndex(text, -1) {
		before := strings.TrimSuffix(text[:at[0]], "./")
		if endsPath(before) || startsPath(text[at[1]:]) {
			continue
		}
		list = append(list, mention{path.Clean(text[at[0]:at[1]]), line})
	}
	return list
}

func endsPath(s string) bool {
	return s != "" && (isWord(s[len(s)-1]) || strings.IndexByte(`./\-~}>)*@`, s[len(s)-1]) >= 0)
}

func startsPath(s string) bool {
	return s != "" && (isWord(s[0]) || strings.IndexByte(`/\-{<*$[`, s[0]) >= 0)
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
