package skill

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// maxCompatibility is the specification's limit for the field, in code points.
const maxCompatibility = 500

// known are the fields of the specification.
var known = [...]string{"allowed-tools", "compatibility", "description", "license", "metadata", "name"}

// Check judges a skill that Parse made as the specification's reference validator
// does: it reports a problem of severity Error exactly when the validator calls the
// skill invalid. It adds the problems that Parse found, and advice, as warnings and
// notes. The result is sorted by line.
func Check(s *Skill) []Problem {
	c := &checker{skill: s}
	c.checkFile()
	c.advise()
	c.addLoaded()
	slices.SortStableFunc(c.found, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return c.found
}

// A checker collects the problems of one skill.
type checker struct {
	skill *Skill
	lines []string // the frontmatter as the reference validator cuts it out of the file
	found []Problem
}

func (c *checker) add(rule string, severity Severity, line int, message, hint string) {
	c.found = append(c.found, Problem{Rule: rule, Severity: severity, Path: c.skill.Path, Line: line, Message: message, Hint: hint})
}

func (c *checker) fail(rule string, line int, message, hint string) {
	c.add(rule, Error, line, message, hint)
}

// addLoaded adds the problems that Parse found, unless the same rule has already been
// reported for the line. The reference validator does not know what others lose.
func (c *checker) addLoaded() {
	said := make(map[Problem]bool, len(c.found))
	for _, p := range c.found {
		said[Problem{Rule: p.Rule, Line: p.Line}] = true
	}
	for _, p := range c.skill.Problems {
		switch {
		case p.Rule == tidy.InvalidUTF8:
			p.Severity = Error // the reference cannot read the file at all
		case p.Severity == Error:
			p.Severity = Warning
		}
		if !said[Problem{Rule: p.Rule, Line: p.Line}] {
			c.found = append(c.found, p)
		}
	}
}

// A strictField is one field as the reference validator reads it: every scalar is text.
type strictField struct {
	text   string
	scalar bool
	line   int
}

// checkFields judges the fields as the reference validator does.
func (c *checker) checkFields(fields map[string]strictField) {
	for _, key := range unknown(fields) {
		hint := "the specification knows " + strings.Join(known[:], ", ") + "; put others under metadata"
		if key == "triggers" {
			hint = "write it as metadata.triggers, which means the same"
		}
		c.fail("unexpected-field", fields[key].line, "unexpected field "+quote(key), hint)
	}
	if f, ok := c.nonEmpty(fields, "name"); ok {
		c.checkName(f)
	}
	f, ok := c.nonEmpty(fields, "description")
	if n := utf8.RuneCountInString(f.text); ok && n > MaxDescription {
		c.fail("description-too-long", f.line, fmt.Sprintf("description of %d characters; the limit is %d", n, MaxDescription), "move details into the body")
	}
	if f, ok := fields["compatibility"]; ok {
		c.checkCompatibility(f)
	}
}

// unknown returns the keys that the specification does not name, by line.
func unknown(fields map[string]strictField) []string {
	keys := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(fields[a].line, fields[b].line), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(known[:], key) })
}

// nonEmpty returns a required field, and whether it is a non-empty text. If it is
// not, nonEmpty reports the problem.
func (c *checker) nonEmpty(fields map[string]strictField, key string) (strictField, bool) {
	f, ok := fields[key]
	switch {
	case !ok:
		c.fail("missing-"+key, 1, "missing required field "+key, "add "+key+": …")
	case !f.scalar:
		c.fail("field-type", f.line, key+" must be a text", "quote it")
	case strings.TrimSpace(f.text) == "":
		c.fail("empty-"+key, f.line, key+" must not be empty", "")
	default:
		return f, true
	}
	return f, false
}

func (c *checker) checkCompatibility(f strictField) {
	n := utf8.RuneCountInString(f.text)
	switch {
	case !f.scalar:
		c.fail("field-type", f.line, "compatibility must be a text", "write it as one line")
	case n > maxCompatibility:
		c.fail("compatibility-too-long", f.line, fmt.Sprintf("compatibility of %d characters; the limit is %d", n, maxCompatibility), "")
	case n == 0:
		c.add("empty-compatibility", Warning, f.line, "compatibility is empty", "say something or leave it out")
	}
}

// checkName judges a name in its NFKC form, as the reference validator does.
func (c *checker) checkName(f strictField) {
	name := norm.NFKC.String(strings.TrimSpace(f.text))
	if n := utf8.RuneCountInString(name); n > MaxName {
		c.fail("name-too-long", f.line, fmt.Sprintf("name of %d characters; the limit is %d", n, MaxName), "shorten it")
	}
	if name != strings.ToLower(name) {
		c.fail("name-case", f.line, "name "+quote(name)+" must be lower-case", "write "+quote(strings.ToLower(name)))
	}
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") {
		c.fail("name-hyphen", f.line, "name "+quote(name)+" starts or ends with a hyphen", "")
	}
	if strings.Contains(name, "--") {
		c.fail("name-hyphen", f.line, "name "+quote(name)+" holds two hyphens in a row", "")
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		c.fail("name-characters", f.line, fmt.Sprintf("name %s holds %+q", quote(name), r), "use letters, digits and hyphens")
	}
	// A skill at the top of a source has no known folder name to compare with.
	folder := norm.NFKC.String(path.Base(c.skill.Dir()))
	if folder != "." && folder != "/" && folder != ".." && folder != name {
		c.fail("name-folder", f.line, "name "+quote(name)+" differs from the folder "+quote(folder), "rename one of them")
	}
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		c.add("name-not-ascii", Note, f.line, "name "+quote(name)+" is not ASCII", "the skills extension of MCP serves ASCII names only")
	}
}

// IsPortableName reports whether every client accepts name, also those clients
// that are stricter than the specification: at most MaxName lower-case ASCII
// letters and digits, in words with single hyphens between them, and not the name of a
// device on Windows, where no folder can have it.
func IsPortableName(name string) bool {
	for word := range strings.SplitSeq(name, "-") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return false
		}
	}
	return len(name) <= MaxName && !reserved().MatchString(name)
}

// triggers are phrases with which descriptions say when to use a skill.
var triggers = [...]string{"when", "use for", "use this", "use to", "whenever", "trigger", "if the user", "if you",
	"use it ", "use if", "use in ", "use on ", "use as ", "use with", "use before", "use after", "use during", "use proactively", "invoke", "activate",
	"当", "触发", "使用场景", "适合", "时使用", "用于", "适用", "とき", "場合", "때", "cuando", "quando", "wenn", "lorsque", "когда", "если"}

// SaysWhen reports whether the description says when to use the skill.
func (s *Skill) SaysWhen() bool {
	text := strings.ToLower(s.Description + " " + s.WhenToUse)
	return slices.ContainsFunc(triggers[:], func(t string) bool { return strings.Contains(text, t) })
}

// advise adds advice that the reference validator does not give.
func (c *checker) advise() {
	s := c.skill
	if s.Description != "" && !s.SaysWhen() {
		c.add("no-trigger", Note, 0, "the description does not say when to use the skill", "add \"Use when …\"")
	}
}
