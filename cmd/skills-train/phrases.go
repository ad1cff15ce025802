package main

import (
	"regexp"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

const (
	maxQuoted  = 20_000 // bytes of a body that are searched for quotations
	maxPhrases = 40     // phrases of each kind from one body
)

var (
	quotation = regexp.MustCompile(`["“'「]([^"“”'「」\n]{6,90})["”'」]`)
	heading   = regexp.MustCompile(`^(?:#{1,5}\s+(.+)|\*\*(.+?)\*\*:?\s*)$`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+(.+)`)

	// useHeading and useSentence match lines above lists of uses of a skill.
	useHeading  = regexp.MustCompile(`(?i)when to (use|activate|apply|invoke|trigger|run)|use (this|when)|trigger|use cases?|example (prompt|quer|request|usage)|activation|user (says|asks|might)|common (requests|tasks)|sample prompt|usage examples`)
	useSentence = regexp.MustCompile(`(?i)(use|activate|trigger|invoke|apply).{0,40}(when|if|for).{0,40}:\s*$`)
	negation    = regexp.MustCompile(`(?i)\bnot\b|n't|never|avoid|instead`)
	// preamble matches words such as "when the user wants to" at the start of a use.
	preamble = regexp.MustCompile(`(?i)^(when |if |the |a |users? |is |are |you('re)? |need(s|ing)? to |wants? to |ask(s|ing)? (to|for|about) |mention(s|ing)? )+`)
)

// phrases returns the texts of a skill that resemble prompts: quoted words in its
// description, quoted sentences in its body (most are examples of prompts), and the
// items of lists that say when to use it.
func phrases(s rawSkill) []string {
	var list []string
	for _, m := range quotation.FindAllStringSubmatch(s.Description, maxPhrases) {
		list = append(list, m[1])
	}
	body := tidy.Cut(s.Body, maxQuoted)
	for _, m := range quotation.FindAllStringSubmatch(body, maxPhrases) {
		if strings.Count(m[1], " ") >= 2 && !strings.ContainsAny(m[1], `{}=<>/\$_`) {
			list = append(list, m[1])
		}
	}
	return append(list, uses(s.Body)...)
}

// uses returns the items of lists that say when to use a skill.
func uses(body string) []string {
	var list []string
	inUses, inCode := false, false
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if inCode {
			continue
		}
		title := heading.FindStringSubmatch(line)
		item := listItem.FindStringSubmatch(line)
		switch {
		case title != nil:
			inUses = useHeading.MatchString(line) && !negation.MatchString(line)
		case useSentence.MatchString(line):
			inUses = !negation.MatchString(line)
		case inUses && item != nil && len(list) < maxPhrases && isUse(item[1]):
			list = append(list, preamble.ReplaceAllString(strings.Trim(item[1], "*`\"' "), ""))
		}
	}
	return list
}

// isUse reports whether a list item resembles a prompt for the skill. An item with a
// negation says when not to use it.
func isUse(item string) bool {
	const least, most = 10, 200 // bytes
	return len(item) > least && len(item) < most && !negation.MatchString(item)
}
