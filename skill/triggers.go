package skill

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Triggers are what its author says a prompt for the skill contains. They are evidence, and
// no promise: an author may claim any word.
type Triggers struct {
	Keywords []string `json:"keywords,omitempty"` // phrases
	Verbs    []string `json:"verbs,omitempty"`    // phrases that say what is to be done
	Patterns []string `json:"patterns,omitempty"` // regular expressions that CheckPattern accepts
}

// Lists returns all lists, for code that stores them one after the other. The order never
// changes.
func (t *Triggers) Lists() [triggerLists]*[]string {
	return [triggerLists]*[]string{&t.Keywords, &t.Verbs, &t.Patterns}
}

const triggerLists = 3 // fields of Triggers

// Empty reports whether there are no triggers.
func (t *Triggers) Empty() bool { return len(t.Keywords)+len(t.Verbs)+len(t.Patterns) == 0 }

const (
	maxPhrases    = 64  // keywords of a skill, and verbs
	maxPatterns   = 16  // patterns of a skill
	maxTrigger    = 120 // code points of a phrase or a pattern
	maxPatternRun = 512 // instructions of a compiled pattern
)

// triggers reads the fields that say which prompts want the skill, in the forms that authors
// use. Those of metadata are added to the others.
//
//	triggers: [extract tables, read a PDF]   keywords
//	triggers: pdf, extract tables            the same
//	triggers: {keywords: …, verbs: …, patterns: …}
//	metadata: {triggers: …}                  any of these
func (p *parser) triggers(meta map[string]*yaml.Node) Triggers {
	r := triggerReader{parser: p}
	own := p.lookup("triggers")
	r.line = own.line
	r.read(own.node)
	r.line = p.lookup("metadata").line
	r.read(meta["triggers"])
	for _, list := range r.Lists() {
		*list = distinct(*list)
	}
	return r.Triggers
}

// A triggerReader collects the triggers of one skill.
type triggerReader struct {
	*parser
	Triggers
	line int // of the field that is read, for problems
}

// read reads the value of one field. A map may have keys for other clients, such as files.
func (r *triggerReader) read(n *yaml.Node) {
	n = target(n)
	if n == nil || n.Kind != yaml.MappingNode {
		r.phrases(n, &r.Keywords)
		return
	}
	known := len(n.Content) == 0
	for key, value := range pairs(n) { // in the order of the file
		switch strings.ToLower(key.Value) {
		case "keywords", "keyword", "phrases":
			r.phrases(value, &r.Keywords)
		case "verbs", "verb":
			r.phrases(value, &r.Verbs)
		case "patterns", "pattern":
			r.patterns(value)
		default:
			continue
		}
		known = true
	}
	if !known {
		r.warn("triggers-unclear", r.line, "triggers has none of the keys keywords, verbs and patterns", "write the phrases below one of them")
	}
}

// items returns the entries of a list, or the parts of a text between separators; "" means
// that the text is one entry. It reports entries that are no text.
func (r *triggerReader) items(n *yaml.Node, separators string) (list []string) {
	n = target(n)
	var odd []string
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		text := nodeText(n)
		if separators == "" {
			return []string{text}
		}
		return strings.FieldsFunc(strings.Trim(text, "[]"), func(c rune) bool { return strings.ContainsRune(separators, c) })
	case n.Kind == yaml.SequenceNode:
		for _, c := range n.Content {
			if isText(c) {
				list = append(list, nodeText(c))
			} else {
				odd = append(odd, quote(nodeText(c)))
			}
		}
		if len(odd) > 0 {
			r.warn("triggers-unclear", r.line, fmt.Sprintf("%d triggers are no text; the first is %s", len(odd), odd[0]), "write one phrase in each entry of a list")
		}
	default:
		r.warn("triggers-unclear", r.line, "a mapping stands where phrases belong", "write them as a list")
	}
	return list
}

// first returns the first items, as many as a list has room for, and reports the others. So
// the number of items bounds neither the time nor the problems.
func (r *triggerReader) first(items, list []string, most int) []string {
	room := max(0, most-len(list))
	if len(items) <= room {
		return items
	}
	r.warn("triggers-too-many", r.line, fmt.Sprintf("%d triggers of one kind; the first %d count", len(list)+len(items), most), "keep those that people say")
	return items[:room]
}

// phrases adds the phrases of n to a list, and reports those that cannot match.
func (r *triggerReader) phrases(n *yaml.Node, list *[]string) {
	for _, text := range r.first(r.items(n, ",，、;；\n"), *list, maxPhrases) {
		text = strings.Join(strings.Fields(strings.Trim(text, " \t\"'")), " ")
		switch {
		case text == "" || r.tooLong(text):
		case len(words.Terms(text)) == 0:
			r.warn("triggers-unclear", r.line, "trigger "+quote(text)+" has only words that any prompt may have", "write what the skill is about")
		default:
			*list = append(*list, text)
		}
	}
}

// patterns adds the patterns of n, and reports those that cannot be used.
func (r *triggerReader) patterns(n *yaml.Node) {
	for _, text := range r.first(r.items(n, ""), r.Patterns, maxPatterns) {
		if text = strings.TrimSpace(text); text == "" || r.tooLong(text) {
			continue
		}
		if _, err := CheckPattern(text); err != nil {
			r.warn("trigger-pattern", r.line, "trigger pattern "+quotePattern(text)+" is ignored: "+err.Error(), "write a regular expression of RE2 that only fitting prompts match")
			continue
		}
		r.Patterns = append(r.Patterns, text)
	}
}

// tooLong reports whether a trigger is too long, and says so.
func (r *triggerReader) tooLong(text string) bool {
	n := utf8.RuneCountInString(text)
	if n > maxTrigger {
		r.warn("trigger-too-long", r.line, fmt.Sprintf("trigger %s of %d characters is ignored; the limit is %d", quote(text), n, maxTrigger),
			"write the few words that prompts have")
	}
	return n > maxTrigger
}

// quotePattern is quote for a pattern, whose backslashes it does not double.
func quotePattern(pattern string) string {
	if strconv.CanBackquote(pattern) {
		return `"` + pattern + `"`
	}
	return quote(pattern)
}

// CompilePattern compiles a trigger pattern. Patterns ignore case.
func CompilePattern(pattern string) (*regexp.Regexp, error) { return regexp.Compile("(?i)" + pattern) }

// CheckPattern returns an error for a pattern that is no regular expression, that takes too
// long, or that matches nearly any prompt. Otherwise it returns how many instructions the
// compiled pattern has: matching costs at most as many steps for each byte of a prompt.
func CheckPattern(pattern string) (cost int, err error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl|syntax.FoldCase)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	if cost = len(program.Inst); cost > maxPatternRun {
		return 0, fmt.Errorf("it compiles to %d instructions, and the limit is %d", cost, maxPatternRun)
	}
	compiled, err := CompilePattern(pattern)
	if err != nil {
		return 0, err
	}
	if compiled.MatchString("") {
		return 0, errors.New("it matches the empty prompt")
	}
	matched := 0
	for _, prompt := range ordinary {
		if compiled.MatchString(prompt) {
			matched++
		}
	}
	if most := len(ordinary) / 8; matched > most {
		return 0, fmt.Errorf("it matches %d of %d prompts that have nothing in common", matched, len(ordinary))
	}
	return cost, nil
}

// ordinary are prompts that have nothing in common: what matches more than an eighth of them
// says nothing about a prompt.
var ordinary = [...]string{
	"Why is the sky blue?",
	"rename userCount to total in main.go",
	"Thanks, that works now!",
	"Plan three days in Lisbon with two children",
	"How many bytes has a SHA-256 digest?",
	"make the button green",
	"Translate this letter into French, please.",
	"The tests fail since yesterday: connection refused",
	"Convert invoice_2024.pdf to a table",
	"what did I ask you before",
	"Write a poem about rain in 12 lines",
	"docker compose up prints nothing",
	"Explain mutexes to a beginner.",
	"add error handling to parse()",
	"Which of these two logos looks better",
	"git status",
	"Solve 3x + 7 = 40",
	"Draft an e-mail that moves our meeting to Friday",
	"undo",
	"Wie spät ist es in Tokio?",
	"请帮我写一封道歉信",
	"El informe trimestral necesita un resumen",
	"ok",
	"Set up a nightly backup of the customer database",
}
