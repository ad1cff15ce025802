package inspect

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// description reports a description that wants every prompt, or is a list of keywords.
func (in *inspection) description(s *skill.Skill) {
	text := tidy.Line(s.Description + " " + s.WhenToUse)
	add := func(rule, message, hint string) {
		in.add(skill.Problem{Rule: rule, Severity: skill.Warning, Path: s.Path, Message: message, Hint: hint})
	}
	if match := broad().FindStringIndex(lower(text)); match != nil {
		add("over-broad", "the description wants every prompt: "+evidence(text[match[0]:]), "say which tasks the skill is for")
	}
	if share, why := stuffing(text); share > 0 {
		add("keyword-stuffed", "the description is stuffed with keywords: "+why, "say in sentences what the skill does; repeated words gain nothing")
	}
}

var broad = lazyregexp.New(`\b(?:use|invoke|activate|load|apply|call|run|trigger|consult|read)(?:d|s)?\s+(?:this|it|me)?(?:\s+skill)?\s*(?:first\s+)?(?:for|on|in|with|before|at the start of|when starting|whenever starting|when answering)\s+(?:every|each|any|all)\s+(?:(?:single|user|new|kinds? of|types? of|possible)\s+)*(?:tasks?|requests?|messages?|user prompts?|prompts|questions?|conversations?|responses?|interactions?|quer(?:y|ies)|turns?|sessions?)(?:[\s]*[.;,:!—–-]|\s+(?:and|or|no matter|regardless|without exception)\b|$)` +
	`|\balways\s+(?:use|invoke|activate|load|apply|call|trigger|prefer)\s+this(?:\s+skill)?(?:\s+first)?\s*(?:[.;!]|$|no matter|regardless|for (?:everything|anything|every|all)\b)` +
	`|\b(?:use|invoke|load)\s+(?:this|it)(?:\s+skill)?\s+(?:for\s+(?:everything|anything)\s*(?:[.;,!]|$)|no matter what|regardless of)` +
	`|\b(?:primary|default|only|main)\s+(?:tool|skill)\s+for\s+(?:all|any|every)\s+(?:ai\s+|user\s+)?(?:tasks?|requests?|prompts?|messages?|questions?|conversations?|work|things?)\b` +
	`|\b(?:before|instead of|over)\s+(?:any|all|every)\s+other\s+skills?\b`)

// Bounds on what is a list of keywords. Of the descriptions that people wrote, fewer than
// one in five hundred goes beyond them.
const (
	minWords    = 30  // of a description that is looked at
	mostSame    = .2  // the share of the words that one content word may be
	mostTimes   = 10  // how often one content word may occur
	listedShare = .75 // the share of the characters in list items
)

// stuffing returns how much of a description is keywords, and says why; 0 means that it
// has no more than others.
func stuffing(text string) (share float64, why string) {
	counts := make(map[string]int)
	all, top := 0, ""
	for start, end := range words.Runs(text) {
		w := strings.ToLower(text[start:end])
		if all++; strings.ContainsFunc(w, words.Dense) {
			all += utf8.RuneCountInString(w) / 2 // a word has about two characters
			continue
		}
		if utf8.RuneCountInString(w) < 3 || common()[w] {
			continue
		}
		if counts[w]++; counts[w] > counts[top] || counts[w] == counts[top] && w < top {
			top = w
		}
	}
	if all < minWords {
		return 0, ""
	}
	if share := float64(counts[top]) / float64(all); share > mostSame && counts[top] >= mostTimes {
		return share, fmt.Sprintf("%d of its %d words are %q", counts[top], all, evidence(top))
	}
	if items, share := listed(text); share > listedShare {
		return share, fmt.Sprintf("%d items, %.0f %% of the text", items, 100*share)
	}
	return 0, ""
}

// listed returns how many short items a text lists, and which share of its characters
// they are. An item has at most three words, or six characters of a
// script without spaces, and stands between commas or the like.
func listed(text string) (items int, share float64) {
	in := 0
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",;|•、，", r) }) {
		if isItem(item) {
			items++
			in += len(item) + 1
		}
	}
	return items, float64(in) / float64(max(1, len(text)))
}

func isItem(item string) bool {
	n := len(strings.Fields(item))
	if strings.ContainsFunc(item, words.Dense) && utf8.RuneCountInString(item) > 6 {
		return false
	}
	return n > 0 && n <= 3 && !strings.ContainsAny(item, ".:。：")
}

// common are words that many sentences of a description share.
var common = words.Set(`the and for with use when user users skill this that from into your you asks any not are
	about also can has how its like such then all wants needs using`)
