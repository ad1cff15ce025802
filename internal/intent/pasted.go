package intent

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A lineClass is the form of a line. People hardly ever type a line of a strong class
// by hand. A line of another class counts only next to a strong one or in a fence.
type lineClass int

const (
	proseLine lineClass = iota
	blankLine           // empty, or only punctuation
	shellLine
	logLine
	strongLogLine
	codeLine
	strongCodeLine
)

// ofPasted returns the kind of a prompt that is all shell commands, log or code. A
// prompt is ordinary if any of its lines may be a request.
func ofPasted(text string) Kind {
	if !strings.Contains(text, "\n") {
		// One line is too little to be a log or code.
		if !isBlank(text) && isShell(text) && !isPolite(text) {
			return Shell
		}
		return Ordinary
	}
	return ofLines(strings.Split(text, "\n"))
}

// ofLines is ofPasted for any number of lines.
func ofLines(lines []string) Kind {
	p := paste{lines: lines}
	for i := range p.lines {
		if !p.add(i) {
			return Ordinary
		}
	}
	return p.kind()
}

// isBlank reports whether the line holds only blanks and punctuation.
func isBlank(text string) bool { return !strings.ContainsFunc(text, words.IsLetter) }

// A paste counts the lines of a prompt by their form.
type paste struct {
	lines  []string
	counts [strongCodeLine + 1]int
	last   lineClass
	fence  string // the marks of the open fence; "" outside of fences
	listed bool   // the open fence names a programming language
	fenced int    // lines in fences that name a language
	gap    bool   // the previous line is blank
}

// add counts line i. It returns false if the line may be a request.
func (p *paste) add(i int) bool {
	line := strings.TrimSpace(p.lines[i])
	if p.toggles(line) {
		p.gap = true
		return true
	}
	class := classOf(line)
	switch {
	case class == blankLine:
	case p.fence != "" && p.listed:
		p.fenced++
		return !isPolite(line)
	case class == proseLine && p.continues(p.lines[i], line):
		class = p.last
	case class == proseLine:
		// A request stands at the start or the end, or in a paragraph of its own.
		apart := p.gap || i == 0 || i == len(p.lines)-1 || strings.TrimSpace(p.lines[i+1]) == ""
		if apart || asks(line) || strings.ContainsFunc(line, words.Dense) {
			return false
		}
	case (class == logLine || class == codeLine) && asks(line), isPolite(line):
		return false
	}
	p.gap = line == ""
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

// proseFences are the languages of fences that may hold prose.
var proseFences = words.Set(`text txt plain plaintext md markdown prompt quote xml yaml yml`)

// continues reports whether an indented line belongs to the code or log above it: it
// is not a list item and asks for nothing. line has no indentation.
func (p *paste) continues(indented, line string) bool {
	if !strings.HasPrefix(indented, "  ") && !strings.HasPrefix(indented, "\t") {
		return false
	}
	return p.last > shellLine && !p.gap && !isItem(line) && !asks(line) && !strings.ContainsFunc(line, words.Dense)
}

// kind returns the kind that the counts show.
func (p *paste) kind() Kind {
	shell, prose := p.counts[shellLine], p.counts[proseLine]
	log, code := p.counts[logLine]+p.counts[strongLogLine], p.counts[codeLine]+p.counts[strongCodeLine]
	all := shell + prose + log + code
	switch {
	case shell > 0 && shell == all && p.fenced == 0:
		return Shell
	case p.counts[strongLogLine] > 0 && log >= 2 && log >= code && prose*10 <= 3*all:
		return Log
	case prose > 0:
	case p.fenced > 0 || p.counts[strongCodeLine] > 0 && code >= 2 && code >= log:
		return Code
	}
	return Ordinary
}

// classOf returns the class of a line without its surrounding blanks.
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

// isSentence reports whether the line is only a few words. It saves the cost of
// matching lineForms for an ordinary prompt.
func isSentence(line string) bool {
	odd := func(r rune) bool { return words.IsSeparator(r) && !strings.ContainsRune(" ,.?'’", r) }
	return strings.Count(line, " ") >= 3 && !strings.ContainsFunc(line, odd)
}

var item = lazyregexp.New(`^([-*+•]|\d{1,3}[.)]) `)

// isItem reports whether the line is an item of a Markdown list.
func isItem(line string) bool { return item().MatchString(line) }

// isMarkup reports whether the line is tags with at most two words between them. More
// words may be a request, because people use tags in prompts too.
func isMarkup(line string) bool {
	rest := tag().ReplaceAllString(line, " ")
	return rest != line && len(strings.Fields(rest)) <= 2
}

var tag = lazyregexp.New(`</?[a-zA-Z!][^<>]*>`)

// A lineForm is a pattern for the lines of a class.
type lineForm struct {
	class lineClass
	form  *regexp.Regexp
}

// lineForms returns the patterns in the order in which to try them. It compiles them on
// first use, because most prompts are one line of prose.
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

// isDiff reports whether every line of the text may belong to a diff.
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

// asks reports whether the line may ask for something: it is a question, or has a word
// that is rare in logs and programs.
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

// isPolite reports whether the line holds a polite request, even in a comment in code.
func isPolite(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(polite, func(s string) bool { return strings.Contains(line, s) })
}

var polite = []string{"please", "help me", "bitte ", "por favor", "s'il ", "пожалуйста", "请", "請", "ください", "주세요"}

var askWords = words.Set(`
	please pls plz why how what explain fix help debug solve investigate summarize summarise review refactor improve translate convert rewrite
	bitte warum wie was erkläre hilf repariere porque por qué cómo ayuda explica arregla pourquoi comment aide explique corrige
	perché aiuto spiega corregge aiutami почему как что помоги объясни исправь dlaczego jak pomóż neden nasıl`)
