package inspect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
)

// A rule finds commands and sentences in the text of a skill. It looks at a line only if
// one of its words is in it, because regular expressions are slow.
type rule struct {
	id      string
	words   []string // lower-case, at least three bytes each
	needs   []string // all that the pattern matches has one of these, too; nil means that nobody has looked
	pattern func() *regexp.Regexp
	message string // what the line does
	hint    string

	// near is how many lines after the line belong to what the pattern is matched with.
	near int
	// judge returns the severity of a match between two parts of a line, all lower-case; ""
	// means that it is no finding. A nil judge means a warning.
	judge func(before, match, after string) skill.Severity
}

// A hit is the first finding of a rule in a text, and how many there are.
type hit struct {
	skill.Problem
	at, count int
	evidence  string
}

// text reports what the rules find in a text without hidden characters: each rule once
// for each severity, with the number of lines.
func (in *inspection) text(name, text string) {
	low := lower(text)
	rules := textRules()
	hits := make([]map[skill.Severity]*hit, len(rules))
	done := make([]int, len(rules)) // text[:done] has been matched with the rule
	tooMuch := false
	textWords().find(low, func(i, at int) {
		if at < done[i] {
			return
		}
		r := &rules[i]
		start, end := line(low, at, r.near)
		start, done[i] = max(start, done[i]), end
		if in.matched += end - start; in.matched > maxMatched {
			tooMuch = true
			return
		}
		part := joined(low[start:end])
		at, severity := r.match(part)
		if severity == "" {
			return
		}
		if in.security {
			severity = skill.Note
		}
		if hits[i] == nil {
			hits[i] = make(map[skill.Severity]*hit)
		}
		if h := hits[i][severity]; h != nil {
			h.count++
			return
		}
		hits[i][severity] = &hit{at: start + at, count: 1, evidence: evidence(text[start+at : end]),
			Problem: skill.Problem{Rule: r.id, Severity: severity, Path: name, Message: r.message, Hint: r.hint}}
	})
	if tooMuch {
		in.skip(strings.TrimPrefix(name, in.dir+"/"), "too many commands, in part")
	}
	for _, bySeverity := range hits {
		for _, severity := range []skill.Severity{skill.Error, skill.Warning, skill.Note} {
			if h := bySeverity[severity]; h != nil {
				in.add(h.problem(text))
			}
		}
	}
}

// match returns where the worst match of the rule is in a line, and its severity; ""
// means that there is none.
func (r *rule) match(line string) (at int, worst skill.Severity) {
	const most = 8
	if r.needs != nil && !slices.ContainsFunc(r.needs, func(s string) bool { return strings.Contains(line, s) }) {
		return 0, "" // much faster than the pattern
	}
	for _, m := range r.pattern().FindAllStringIndex(line, most) {
		severity := skill.Warning
		if r.judge != nil {
			severity = r.judge(line[:m[0]], line[m[0]:m[1]], line[m[1]:])
		}
		if worst == "" || severity == skill.Warning && worst == skill.Note {
			at, worst = m[0], severity
		}
	}
	return at, worst
}

// problem returns the finding with its place and its evidence.
func (h *hit) problem(text string) skill.Problem {
	p := h.Problem
	p.Line = 1 + strings.Count(text[:h.at], "\n")
	if inFence(text[:h.at]) {
		p.Message += ", in a code block"
	}
	if h.count > 1 {
		p.Message += fmt.Sprintf(" (%d times)", h.count)
	}
	p.Message += ": " + h.evidence
	return p
}

// lower returns s with lower-case ASCII letters. Other than strings.ToLower it keeps all
// positions.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// longest bounds what a pattern is matched with, before and after the word, in bytes.
const longest = 1500

// maxMatched bounds how much of a skill is matched with patterns, in bytes, because a text
// of nothing but their words would take minutes.
const maxMatched = 512 << 10

// line returns where the line of a text around a position starts and ends, with the lines
// that continue it, and at least so many lines after it.
func line(text string, at, more int) (start, end int) {
	from, to := max(0, at-longest), min(len(text), at+longest)
	start = max(from, 1+strings.LastIndexByte(text[:at], '\n'))
	for end = at; ; more-- {
		n := strings.IndexByte(text[end:to], '\n')
		if n < 0 {
			return start, to
		}
		end += n
		if more <= 0 && !continues(text[start:end], text[end+1:to]) {
			return start, end
		}
		end++
	}
}

// continues reports whether a command goes on in the next line.
func continues(line, next string) bool {
	next, _, _ = strings.Cut(next, "\n")
	next = strings.TrimSpace(next)
	return strings.HasSuffix(line, "\\") ||
		strings.HasPrefix(next, "| ") && !strings.HasSuffix(next, "|") // not a table
}

// joined makes one line of a command in several lines; positions stay.
func joined(lines string) string {
	if !strings.Contains(lines, "\n") {
		return lines
	}
	return continued.Replace(lines)
}

var continued = strings.NewReplacer("\\\n", "  ", "\n", " ")

// inFence reports whether a text ends inside of a fenced code block.
func inFence(text string) bool {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case fence == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			fence = line[:3]
		case fence != "" && strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "":
			fence = ""
		}
	}
	return fence != ""
}

// A finder finds many words in a text at once: it looks up the three bytes at each
// position, which is several times faster than one search for each word.
type finder struct {
	maybe [1 << 16]bool      // by hash of three bytes: a word may start here
	words map[uint32][]entry // by the first three bytes of a word
}

// An entry is a word of a finder, and the index of the rule that it belongs to.
type entry struct {
	word string
	rule int
}

var textWords = sync.OnceValue(func() *finder {
	f := &finder{words: make(map[uint32][]entry)}
	for i, r := range textRules() {
		for _, w := range r.words {
			key := three(w, 0)
			f.maybe[key*0x9E3779B1>>16] = true
			f.words[key] = append(f.words[key], entry{w, i})
		}
	}
	return f
})

func three(s string, i int) uint32 { return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 }

// find calls found with the rule and the position of each word in a text.
func (f *finder) find(text string, found func(rule, at int)) {
	for i := 0; i+3 <= len(text); i++ {
		key := three(text, i)
		if !f.maybe[key*0x9E3779B1>>16] {
			continue
		}
		for _, e := range f.words[key] {
			if strings.HasPrefix(text[i:], e.word) {
				found(e.rule, i)
			}
		}
	}
}
