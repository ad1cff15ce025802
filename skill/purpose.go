package skill

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// Purpose returns what the skill is for, as an embedder reads it: the name, the description
// without what it rules out, and when to use it. If no field says when, and the description does
// not, it is what the body says first of that.
func (s *Skill) Purpose() string {
	description, _ := ruledOut(s.Description)
	text := s.Name + ": " + strings.TrimSpace(words.Once(words.Unpressed(description)))
	when := s.WhenToUse
	if when == "" {
		when = saysWhen(description, s.Body)
	}
	return strings.TrimSpace(text + " " + when)
}

// A clause that rules something out begins a sentence, or stands behind a mark inside one.
var ruleOut = lazyregexp.New(`(?i)(?:^|[.!?;:,(–—\n。；，！（]|\s-{1,2}\s|\bbut\b|\band\b)[\s"'*_` + "`" + `>•-]*(` +
	`(?:do not|don't|don’t|never|must not|should not|not to)\s+(?:be\s+)?(?:use[d]?|trigger(?:ed)?|invoke[d]?|activate[d]?|appl(?:y|ied)|load(?:ed)?|call(?:ed)?|pick|choose|select|fire|run)\b[\s*_]*` +
	`(?:(?:it|this|the skill|this (?:skill|tool|one|command|workflow))[\s*_]+)?(?:for|when|whenever|if|to|on|as|unless|with|in|during|inside|outside|where|just)\b` +
	`|(?:is\s+)?not\s+(?:intended |meant |suitable |designed |applicable |appropriate |needed |required |a (?:substitute|replacement) |to be used |used )?for\b` +
	`|not\s+when\b` +
	`|(?:skip|avoid)\s+(?:using\s+)?(?:it|this|for|if|when|this skill)\b` +
	`|(?:use|prefer|see|try|reach for)\s+(?:the\s+)?[\w./:` + "`" + `*-]+(?:\s+(?:skill|instead))*\s+(?:instead\b|for (?:that|those|these)\b)` +
	`|for\s+[^.;\n]{3,80}?[,:]?\s+(?:use|see|prefer)\s+(?:the\s+)?[\w./:` + "`" + `*-]+(?:\s+skill)?\s+instead\b` +
	`|(?:nicht|kein)\s+(?:verwenden|benutzen|geeignet|gedacht)?\s*(?:für|wenn|zum|zur)\b|ne (?:pas|jamais) (?:l'|le |la )?(?:utiliser|employer) (?:pour|si|quand|lorsque)\b|no (?:usar|utilizar|es) para\b|no (?:usar|utilizar) (?:cuando|si)\b|não (?:use|usar|utilizar) (?:para|quando|se)\b|не (?:используй(?:те)?|использовать|применять|предназначен\S*)\s+(?:для|если|когда)` +
	`|(?:请?不要|请勿|切勿|勿)(?:用于|使用|用来|触发|调用)|不(?:适用|适合|用)于|不适用|非适用|(?:には|では)(?:使用|利用)しない|(?:使用|利用)しないで|(?:에는?|할 때는?) 사용하지` +
	`)`)

// mayRuleOut reports whether a description has one of the words without which ruleOut matches nothing. It spares
// seven of ten published descriptions the pattern, which takes longer than all else that is read of a description.
func mayRuleOut(description string) bool {
	lower := strings.ToLower(description)
	for _, word := range []string{"not", "n't", "n’t", "never", "skip", "avoid", "instead", "for th", "nicht", "kein", "ne pas", "ne jamais", "no usar", "no utilizar", "no es", "não", "не", "勿", "不", "非适用", "しない", "사용하지"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

var itself = lazyregexp.New(`(?i)^(?:use|prefer|see|try|reach for)\s+(?:the\s+)?(?:this|it|skill|me)\b`)

// ruledOut returns a description without the clauses that say what the skill is not for, and those
// clauses.
func ruledOut(description string) (rest string, clauses []string) {
	if !mayRuleOut(description) {
		return description, nil
	}
	kept, whole := strings.Builder{}, description
	for {
		at := ruleOut().FindStringSubmatchIndex(description)
		if at == nil {
			break
		}
		start := at[2]
		if itself().MatchString(description[start:at[3]]) { // "use this skill instead of …"
			kept.WriteString(description[:at[3]])
			description = description[at[3]:]
			continue
		}
		end := start + clauseEnd(description[start:], strings.HasSuffix(strings.TrimRight(description[:start], " *_"), "("))
		kept.WriteString(description[:start])
		clauses = append(clauses, strings.TrimSpace(description[start:end]))
		description = description[end:]
	}
	kept.WriteString(description)
	if rest = kept.String(); !strings.ContainsFunc(rest, words.IsLetter) {
		return whole, nil // it says nothing else
	}
	return rest, clauses
}

// A clause that rules something out may name the skill that does it: in backticks, or with hyphens.
var instead = lazyregexp.New(`\b(?:[Uu]se|[Ss]ee|[Pp]refer|[Tt]ry|[Rr]each for|[Ll]oad|[Ii]nvoke|USE|SEE)\s+(?:the\s+)?(?:skill\s+)?` +
	"(?:`([a-z0-9][a-z0-9:-]*)`|([a-z0-9]+(?:-[a-z0-9]+)+))" + `(?:(\s+skill\b)|\s+(?:instead|rather|for|or|and|to|when|if)\b|\s*(?:[).,;:—]|$))`)

// RuledOut returns the clauses of the description that say what the skill is not for. They are searched
// for by nobody.
func (s *Skill) RuledOut() []string {
	_, clauses := ruledOut(s.Description)
	return clauses
}

// Instead returns the names that the description gives, in the clauses that say what the skill is not
// for, of the skills that do that: what has hyphens, or is called a skill. They may be none of a skill.
func (s *Skill) Instead() (names []string) {
	for _, c := range s.RuledOut() {
		for _, m := range instead().FindAllStringSubmatch(c, -1) {
			name := m[1] + m[2]
			if (strings.Contains(name, "-") || m[3] != "") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// clauseEnd returns where a clause ends: before the bracket that closes around it, or at the end of
// its sentence, line or list.
func clauseEnd(s string, inside bool) int {
	s = s[:words.SentenceEnd(s)]
	depth := 0
	for i, r := range s {
		switch r {
		case '(', '（':
			depth++
		case ')', '）':
			if depth--; depth < 0 && inside {
				return i
			}
		case '\n', ';', '；':
			if depth <= 0 {
				return i
			}
		}
	}
	return len(s)
}

// A description of fewer words, or without a word for when, says too little by itself.
const fewWords = 25

var (
	whenWord = lazyregexp.New(`(?i)\b(?:when|whenever|use (?:this|it|for|if|to|whenever)|trigger(?:s|ed)?|wenn|quand|lorsque|cuando|quando|когда|если)\b|当|用于|適|時に|とき|때`)
	whenHead = lazyregexp.New(`(?i)^#{1,4}\s.*\b(?:when|triggers?|use cases?|activation)\b`)
	notWhen  = lazyregexp.New(`(?i)\b(?:not|don't|don’t|never|skip|avoid)\b`)
	whenLine = lazyregexp.New(`(?i)\b(?:use|invoke|activate|apply|trigger|load|run|reach for)\b(?: this| it| the)?(?: skill)?\b.{0,20}\b(?:when|whenever|if)\b|^(?:this skill|the skill|use this|a skill)\b`)
	markup   = strings.NewReplacer("**", "", "__", "", "`", "")
)

// maxWhen is how many words saysWhen returns at most.
const maxWhen = 60

// saysWhen returns the first sentences of a body that say when to use the skill, if the description
// does not say it: at most 60 words, "" if there are none.
func saysWhen(description, body string) string {
	if len(strings.Fields(description)) >= fewWords && whenWord().MatchString(description) {
		return ""
	}
	var found []string
	under, code, n := false, false, 0
	for text := range strings.SplitSeq(body, "\n") {
		text = strings.TrimSpace(text)
		switch n++; {
		case n > 150 || len(found) >= maxWhen:
			return join(found)
		case strings.HasPrefix(text, "```"):
			code = !code
		case code || text == "" || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "<"):
		case strings.HasPrefix(text, "#"):
			if under = whenHead().MatchString(text) && !notWhen().MatchString(text); !under && len(found) >= maxWhen/3 {
				return join(found)
			}
		case (under || whenLine().MatchString(text)) && !notWhen().MatchString(text):
			found = append(found, strings.Fields(markup.Replace(strings.TrimLeft(text, "-*•> \t0123456789.")))...)
		}
	}
	return join(found)
}

func join(words []string) string { return strings.Join(words[:min(len(words), maxWhen)], " ") }
