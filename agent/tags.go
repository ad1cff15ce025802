package agent

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// The tags of instructions, which a model writes.
const (
	tagUse  = "use_skill"
	tagRead = "read_resource"
	tagRun  = "execute_script"
	tagFind = "search_skills"
)

// The tags of results, which only this package writes.
const (
	availableSkills = "available_skills"
	skillsFound     = "skills_found"
	searchError     = "search_error"
	skillContent    = "skill_content"
	skillError      = "skill_error"
	scriptResult    = "script_result"
	scriptError     = "script_error"
	resourceContent = "resource_content"
	resourceError   = "resource_error"
	stdout          = "stdout"
	stderr          = "stderr"
)

// ownTags are all tags that mean something to a model, because of this package.
func ownTags() []string {
	return []string{
		tagUse, tagRead, tagRun, tagFind, availableSkills, skillsFound, searchError, skillContent, skillError,
		scriptResult, scriptError, resourceContent, resourceError, stdout, stderr,
	}
}

// shielded makes a text safe to stand in a message: no part of it is one of our tags, opening
// or closing, whatever its case and width, with blanks and invisible characters. Everything
// else stays readable: a < becomes &lt; only where one of our names follows.
//
// A model that repeats a shielded tag repeats &lt;, which is no instruction. Nothing can
// prevent that a model turns it back into a tag, or does what a text tells it in words; that
// is why a skill runs only what its list of tools allows, inside the walls of its executor.
func shielded(text string) string {
	text = tidy.Clean(text)
	var b strings.Builder
	for {
		i := strings.IndexAny(text, "<＜﹤")
		if i < 0 {
			break
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[:i])
		if bracket := text[i : i+n]; startsTag(text[i+n:]) {
			b.WriteString("&lt;")
		} else {
			b.WriteString(bracket)
		}
		text = text[i+n:]
	}
	if b.Len() == 0 {
		return text
	}
	return b.String() + text
}

// startsTag reports whether the name of one of our tags follows a <, in letters of any form.
func startsTag(s string) bool {
	const longest = 64 // bytes of a name in the longest letters
	s = strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("/／\\!?", r) })
	if s == "" || s[0] < utf8.RuneSelf && !strings.ContainsRune("ueras", unicode.ToLower(rune(s[0]))) {
		return false // without a look at the rest, as nearly always
	}
	s = strings.ReplaceAll(norm.NFKC.String(tidy.Cut(s, longest)), "-", "_")
	return slices.ContainsFunc(ownTags(), func(tag string) bool { return strings.EqualFold(tidy.First(s, len(tag)), tag) })
}

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ")

// attr returns an attribute with a blank before it; blanks in its value stay.
func attr(name, value string) string {
	return " " + name + `="` + shielded(html.EscapeString(lineEnds.Replace(tidy.Clean(value)))) + `"`
}

// element returns an element on lines of its own. attrs come from attr, and content is
// shielded.
func element(name, attrs, content string) string {
	if content = strings.Trim(content, "\n"); content != "" {
		content = "\n" + content + "\n"
	}
	return "<" + name + attrs + ">" + content + "</" + name + ">\n"
}
