package index

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A pasted line is told from prose by its form. What is strong is hardly ever
// written by hand; the rest only counts next to something strong.
type lineClass int

const (
	proseLine lineClass = iota
	blankLine           // nothing, or punctuation alone
	shellLine
	logLine
	strongLogLine
	codeLine
	strongCodeLine
)

// pastedKind returns the kind of a prompt that is all shell commands, log or
// code, "" when any line of it may be a request.
func pastedKind(text string) string {
	if !strings.Contains(text, "\n") {
		// One line is too little to be a log or code.
		if !isBlank(text) && isShell(text) && !isPolite(text) {
			return kindShell
		}
		return ""
	}
	return pastedLines(strings.Split(text, "\n"))
}

// pastedLines is pastedKind for any number of lines.
func pastedLines(lines []string) string {
	p := paste{lines: lines}
	for i := range p.lines {
		if !p.add(i) {
			return ""
		}
	}
	return p.kind()
}

// isBlank reports whether the line is nothing but blanks and punctuation.
func isBlank(line string) bool {
	return strings.IndexFunc(line, func(r rune) bool { return !words.IsSeparator(r) }) < 0
}

// paste counts the lines of a prompt by their form.
type paste struct {
	lines  []string
	counts [strongCodeLine + 1]int
	last   lineClass
	fence  string // that is open, "" outside
	listed bool   // it names a programming language
	fenced int    // lines in such fences
	gap    bool   // the line before is blank
}

// add counts line i. It reports whether the prompt may still be without a
// request.
func (p *paste) add(i int) bool {
	line := p.lines[i]
	trimmed := strings.TrimSpace(line)
	if p.toggles(trimmed) {
		p.gap = true
		return true
	}
	class := classOf(trimmed)
	switch {
	case class == blankLine:
	case p.fence != "" && p.listed:
		p.fenced++
		return !isPolite(trimmed)
	case class == proseLine && p.continues(line):
		class = p.last
	case class == proseLine:
		// A request stands at the start or the end, or in a paragraph of its own.
		apart := p.gap || i == 0 || i == len(p.lines)-1 || strings.TrimSpace(p.lines[i+1]) == ""
		if apart || asks(trimmed) || strings.ContainsFunc(trimmed, words.Dense) {
			return false
		}
	case asks(trimmed) && (class == logLine || class == codeLine), isPolite(trimmed):
		return false
	}
	p.gap = class == blankLine && trimmed == ""
	if class != blankLine {
		p.counts[class]++
		p.last = class
	}
	return true
}

// toggles reports whether the line opens or closes a fence.
func (p *paste) toggles(trimmed string) bool {
	for _, fence := range []string{"```", "~~~"} {
		if !strings.HasPrefix(trimmed, fence) || p.fence != "" && p.fence != fence {
			continue
		}
		language := strings.ToLower(strings.Trim(trimmed, "`~ "))
		if p.fence != "" && language != "" || strings.ContainsRune(language, ' ') {
			return false
		}
		if p.fence != "" {
			p.fence = ""
		} else {
			p.fence, p.listed = fence, language != "" && !proseFences()[language]
		}
		return true
	}
	return false
}

// proseFences are fences in which prose may stand as well.
var proseFences = words.Set(`text txt plain plaintext md markdown prompt quote xml yaml yml`)

// continues reports whether an indented line belongs to the code or the log
// above it: it is no item of a list and asks for nothing.
func (p *paste) continues(line string) bool {
	indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
	return indented && p.last > shellLine && !p.gap && !isItem(strings.TrimSpace(line)) && !asks(line) && !strings.ContainsFunc(line, words.Dense)
}

// kind decides by the counts.
func (p *paste) kind() string {
	shell, prose := p.counts[shellLine], p.counts[proseLine]
	log, code := p.counts[logLine]+p.counts[strongLogLine], p.counts[codeLine]+p.counts[strongCodeLine]
	all := shell + prose + log + code
	switch {
	case shell > 0 && shell == all && p.fenced == 0:
		return kindShell
	case p.counts[strongLogLine] > 0 && log >= 2 && log >= code && prose*10 <= 3*all:
		return kindLog
	case prose > 0:
	case p.fenced > 0 || p.counts[strongCodeLine] > 0 && code >= 2 && code >= log:
		return kindCode
	}
	return ""
}

// classOf returns the form of a line without the blanks around it.
func classOf(line string) lineClass {
	switch {
	case isBlank(line):
		return blankLine
	case isShell(line):
		return shellLine
	case isItem(line) || isSentence(line):
		return proseLine
	}
	for _, f := range lineForms() {
		if f.form.MatchString(line) {
			return f.class
		}
	}
	if strings.HasPrefix(line, "<") && isMarkup(line) {
		return strongCodeLine
	}
	return proseLine
}

// isSentence reports whether the line is a few words and nothing else. It spares
// an ordinary prompt the forms below.
func isSentence(line string) bool {
	odd := func(r rune) bool { return words.IsSeparator(r) && !strings.ContainsRune(" ,.?'’", r) }
	return strings.Count(line, " ") >= 3 && strings.IndexFunc(line, odd) < 0
}

var item = lazyregexp.New(`^([-*+•]|\d{1,3}[.)]) `)

// isItem reports whether the line is one of a list of Markdown.
func isItem(line string) bool { return item().MatchString(line) }

// isMarkup reports whether the line is tags with no more than a few words
// between them: prompts are written in tags too.
func isMarkup(line string) bool {
	rest := tag().ReplaceAllString(line, " ")
	return rest != line && len(strings.Fields(rest)) <= 2
}

var tag = lazyregexp.New(`</?[a-zA-Z!][^<>]*>`)

// lineForm is the form of a class of lines.
type lineForm struct {
	class lineClass
	form  *regexp.Regexp
}

// lineForms are tried in order. They are compiled when they are first needed:
// most prompts are a line of prose.
var lineForms = sync.OnceValue(func() []lineForm {
	const (
		stamp = `[\[(]?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d[-/](\d\d|\w{3})[-/]\d{2,4}[ :]\d\d:\d\d|\d\d:\d\d:\d\d|(Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) .{1,8}\d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:)`
		level = `(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)`
	)
	strong := func(class lineClass, forms ...string) lineForm {
		return lineForm{class, regexp.MustCompile(`^(?:` + strings.Join(forms, "|") + `)`)}
	}
	return []lineForm{
		strong(strongLogLine,
			stamp+`.*(\b`+level+`\b|(?i:\b(trace|debug|info|warn|warning|error|fatal)\b[\]:]|level=)|\b\w+\[\d+\]:|\.go:\d+\])`,
			`\[?`+level+`\]? +\[?\d{4}-\d\d-\d\d`, `.*\blevel=(trace|debug|info|warn|error|fatal)\b`,
			`\d{1,3}(\.\d{1,3}){3} \S+ \S+ \[`,
			`(npm|pnpm|yarn) (ERR!|WARN|error|warn)`,
			`at [\w$.<>\[\]@/ -]+ ?\(.*[:)]`, `at \S+:\d+(:\d+)?\)?$`,
			`File ".*", line \d+`, `Traceback \(most recent call last\)`,
			`goroutine \d+ \[`, `panic: `, `created by \S+ in goroutine`, `Caused by: `, `thread '.*' panicked at`,
			`(\.{0,2}[\w@~/\\-][\w.@~/\\-]*\.\w{1,5}|[A-Z]:\\\S+)[:(]\d+([:,]\d+)?\)?(:| -| \+0x|$)`,
			`--> \S+:\d+:\d+`, `#\d+ +(0x[0-9a-f]+|\S+\(\d+\))`, `from \S+:\d+:in `,
			`\[`+level+`\] `, `--- (FAIL|PASS|SKIP): `, `[\w.-]+@[\w.-]+[: ]\S*[$#] `,
		),
		strong(logLine,
			stamp, `\[?`+level+`\]?[: ]`, `(?i:error|warning|fatal|note)(\[\w+\])?: `,
			`(Uncaught |Unhandled |Exception in )`, `([\w$]+\.)*[\w$]*(Error|Exception|Warning|Panic)(: |$)`,
			`\.\.\. \d+ more`, `\d+ +\| `, `\| `, `(FAIL|PASS|ok|ERR!)\s+\S+`, `E {2,}`, `exit (status|code) \d+`, `Process exited`,
			`Segmentation fault`, `During handling of the above exception`, `The above exception was`,
		),
		strong(strongCodeLine,
			`from [\w.]+ import `, `#(include|define|if|ifdef|ifndef|endif|pragma)\b`, `#!/`,
			`import .* from ['"]`, `import [\w.*]+;$`, `using [\w.]+;$`,
			`(export|const|let|var|static|public|private|protected|pub|async|final|type|struct|enum|interface|class|def|func|fn|function|namespace|impl|trait)\b.*[={(;:]$`,
			`(export|const|let|var|public|private|static|final|def|func|fn|function)\b[^.,?]*(=|\().*\S$`,
			`[\w$][\w$.\[\]"']*(, [\w$]+)* *(=|:=|\+=|-=|=>) *\S`, `[\w$.]+\(.*\)([;,:]| \{)?$`,
			`\.\w+\(`, `[)}\]][^ ]*;$`, `\} *(else|catch|finally)\b`,
			`"[\w.$@/-]+" *: *("[^" ]*( [^" ]*){0,3}"|[\[{\d-]|true|false|null)`,
			`(SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET) .+`, `(CREATE|ALTER|DROP) (TABLE|INDEX|VIEW|DATABASE|FUNCTION|TRIGGER)\b`,
		),
		strong(codeLine,
			`//`, `/\*`, `\*/`, `import [\w.{}*,"'@/ -]+$`, `package [\w.]+;?$`, `return\b.*`, `@\w+(\(.*\))?$`,
			`(if|for|while|switch|elif|else|except|catch|try|do|finally|with|case|default|match|loop|unless)\b.*[:{;]$`,
			`(else|try|do|end|begin|fi|done|pass|break|continue|raise)$`, `[)}\]]`,
			`[\w$"'-]+ *: *[^ ]+( [^ ]+){0,3},$`, `.*[=(){}\[\].<>].*[;{]$`, `[\w"'$]+,$`,
			`(FROM|WHERE|(LEFT |RIGHT |INNER |CROSS )?JOIN|GROUP BY|ORDER BY|LIMIT|HAVING|SET|VALUES|AND|OR|ON|UNION)\b`,
		),
	}
})

// isDiff reports whether every line of the text is one of a diff.
func isDiff(text string) bool {
	if !strings.Contains(text, "@@ ") && !strings.Contains(text, "diff --git ") {
		return false
	}
	hunk := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "@@ "), strings.HasPrefix(line, "diff --git "):
			hunk = true
		case strings.TrimSpace(line) == "", strings.IndexAny(line, "+-\\ \t") == 0:
		case !diffHeader().MatchString(line):
			return false
		}
	}
	return hunk
}

var diffHeader = lazyregexp.New(`^(index [0-9a-f]+\.\.|(new|deleted) file mode|(old|new) mode|similarity index|rename (from|to) |copy (from|to) |Binary files |diff |Index: |commit [0-9a-f]{7,}$|Author: |Date: )`)

// asks reports whether a line may ask for something: it is a question, or has a
// word that hardly any log and few programs have.
func asks(line string) bool {
	if strings.ContainsAny(line, "?？") && !strings.ContainsAny(line, "=;{(") {
		return true
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(line), words.IsSeparator) {
		if askWords()[word] {
			return true
		}
	}
	return false
}

// isPolite reports whether a line, of whatever form, is a request, such as a
// comment in code.
func isPolite(line string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc(polite, func(s string) bool { return strings.Contains(lower, s) })
}

var polite = []string{"please", "help me", "bitte ", "por favor", "s'il ", "пожалуйста", "请", "請", "ください", "주세요"}

var askWords = words.Set(`
	please pls plz why how what explain fix help debug solve investigate summarize summarise review refactor improve translate convert rewrite
	bitte warum wie was erkläre hilf repariere porque por qué cómo ayuda explica arregla pourquoi comment aide explique corrige
	perché aiuto spiega corregge aiutami почему как что помоги объясни исправь dlaczego jak pomóż neden nasıl`)
