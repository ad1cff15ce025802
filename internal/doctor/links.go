package doctor

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/skill"
)

var (
	inlineLink = lazyregexp.New(`\]\(\s*<?([^)\s<>]+)>?(?:\s+["'][^)]*)?\s*\)`)
	definition = lazyregexp.New(`^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s<>]+)>?`)
	attribute  = lazyregexp.New(`<(?:img|a|source|video)\b[^>]*?\b(?:src|href)\s*=\s*["']([^"']+)["']`)
	ownAnchor  = lazyregexp.New(`\b(?:id|name)\s*=\s*["']([^"']+)["']`)
	headingID  = lazyregexp.New(`\s*\{#([^}\s]+)\}\s*$`)
	codeSpan   = lazyregexp.New("`+[^`]*`+")
)

// A link is a target in a Markdown file.
type link struct {
	target string
	line   int  // from 1
	inline bool // [text](target) or an image
}

// linksOf returns the links outside of code blocks and comments.
func linksOf(markdown string) []link {
	var list []link
	eachLine(markdown, func(line int, text string) {
		if !strings.ContainsAny(text, "]<") {
			return
		}
		text = codeSpan().ReplaceAllString(text, "code")
		for _, m := range inlineLink().FindAllStringSubmatch(text, -1) {
			list = append(list, link{m[1], line, true})
		}
		if m := definition().FindStringSubmatch(text); m != nil {
			list = append(list, link{m[1], line, false})
		}
		for _, m := range attribute().FindAllStringSubmatch(text, -1) {
			list = append(list, link{m[1], line, false})
		}
	})
	return list
}

// eachLine calls f with each line that stands in no code block and no comment.
func eachLine(markdown string, f func(line int, text string)) {
	fence, comment, line := "", false, 0
	for text := range strings.Lines(markdown) {
		line++
		bare := strings.TrimLeft(text, " \t>")
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, bare[:1]))]
		case comment:
			comment = !strings.Contains(text, "-->")
		case strings.Contains(text, "<!--"):
			comment = !strings.Contains(text, "-->")
		default:
			f(line, text)
		}
	}
}

// anchorsOf returns the anchors of a Markdown file, see anchorKey.
func anchorsOf(markdown string) map[string]bool {
	anchors := make(map[string]bool)
	previous := ""
	eachLine(markdown, func(_ int, text string) {
		text = strings.TrimSpace(text)
		for _, m := range ownAnchor().FindAllStringSubmatch(text, -1) {
			anchors[anchorKey(m[1])] = true
		}
		heading, found := strings.CutPrefix(text, "#")
		if !found && text != "" && (strings.Trim(text, "=") == "" || strings.Trim(text, "-") == "") {
			heading, found = previous, previous != ""
		}
		if found {
			if m := headingID().FindStringSubmatch(heading); m != nil {
				anchors[anchorKey(m[1])] = true
			}
			anchors[anchorKey(heading)] = true
		}
		previous = text
	})
	return anchors
}

// anchorKey returns what renderers make of a heading, less all in which they differ: only
// letters and digits, in lower case.
func anchorKey(heading string) string {
	if plain, err := url.PathUnescape(heading); err == nil {
		heading = plain
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// isAnchor reports whether anchors has the fragment of a link. Renderers number headings
// that occur again: "usage-1".
// A file without any heading may be of another kind.
func isAnchor(anchors map[string]bool, fragment string) bool {
	key := anchorKey(fragment)
	return len(anchors) == 0 || key == "" || key == "top" || anchors[key] || anchors[strings.TrimRight(key, "0123456789")]
}

// brokenLinks returns a finding about the links of a Markdown file that lead to no file
// and no heading. Inline links of the instructions to files are reported when they are indexed.
func (c *contents) brokenLinks(name string) []skill.Problem {
	if !isMarkdown(name) {
		return nil
	}
	var files, anchors targets
	for _, l := range linksOf(c.text[name]) {
		target, fragment, ok := c.resolve(name, l.target)
		switch {
		case !ok:
		case target == "":
			if !l.inline || name != c.file {
				files.add(l)
			}
		case fragment != "" && isMarkdown(target) && c.text[target] != "" && !isAnchor(anchorsOf(c.text[target]), fragment):
			anchors.add(l)
		}
	}
	var found []skill.Problem
	if len(files.names) > 0 {
		found = append(found, skill.Problem{Rule: "broken-link", Severity: skill.Warning, Path: c.path(name), Line: files.line,
			Message: fmt.Sprintf("links to %s, which the skill does not have", listed(files.names))})
	}
	if len(anchors.names) > 0 {
		found = append(found, skill.Problem{Rule: "broken-anchor", Severity: skill.Note, Path: c.path(name), Line: anchors.line,
			Message: fmt.Sprintf("links to %s, but there is no such heading", listed(anchors.names))})
	}
	return found
}

// targets are different targets of links, and the line of the first link.
type targets struct {
	names []string
	line  int
}

func (t *targets) add(l link) {
	if len(t.names) == 0 {
		t.line = l.line
	}
	if !slices.Contains(t.names, l.target) {
		t.names = append(t.names, l.target)
	}
}

// resolve returns the file that a link of a file leads to, "" if the skill does not have
// it; ok is false if the link leads elsewhere. Paths count from the file, as in all
// Markdown, or from the skill's folder, as the specification wants.
func (c *contents) resolve(from, target string) (file, fragment string, ok bool) {
	target, fragment, _ = strings.Cut(target, "#")
	target, _, _ = strings.Cut(target, "?")
	if target == "" {
		return from, fragment, fragment != ""
	}
	if strings.HasPrefix(target, "/") || strings.ContainsAny(target, `:\*{}$<>|@,=~`) || strings.Contains(target, "...") ||
		!strings.Contains(path.Base(target), ".") {
		return "", "", false // elsewhere, a placeholder or no file
	}
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	near, top := path.Join(path.Dir(from), target), path.Clean(target)
	if strings.HasPrefix(near, "../") {
		return "", "", false
	}
	for _, name := range []string{near, top} {
		if slices.ContainsFunc(c.names, func(s string) bool { return s == name || strings.HasPrefix(s, name+"/") }) {
			return name, fragment, true
		}
	}
	return "", fragment, true
}

func isMarkdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown" || ext == ".mdx"
}
