package skill

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// A fix rewrites the text of an entry and says what was wrong with it. The reason has
// no meaning if the text is unchanged.
type fix func(text string) (fixed, reason string)

// mapLines rewrites each line of text and drops the lines for which change
// returns keep = false. It returns the new text and the first reason.
func mapLines(text string, change func(line string) (fixed, reason string, keep bool)) (string, string) {
	var out strings.Builder
	reason := ""
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		fixed, why, keep := change(body)
		if keep {
			out.WriteString(fixed + line[len(body):])
		}
		if reason == "" {
			reason = why
		}
	}
	return out.String(), reason
}

// dropJunk removes merge conflict markers and lines of Markdown between the keys.
func dropJunk(text string) (string, string) {
	return mapLines(text, func(s string) (string, string, bool) {
		switch {
		case strings.HasPrefix(s, "<<<<<<<"), strings.HasPrefix(s, ">>>>>>>"), strings.TrimRight(s, "=") == "" && len(s) >= 7:
			return s, "merge conflict markers", false
		case strings.HasPrefix(s, "> "), strings.HasPrefix(s, "<!--"):
			return s, "Markdown between the keys", false
		}
		return s, "", true
	})
}

var blanks = strings.NewReplacer("\t", "  ", "\u00a0", " ", "&nbsp;", " ")

// spaceIndent replaces tabs and non-breaking spaces in the indentation by spaces,
// the only characters that YAML allows there.
func spaceIndent(text string) (string, string) {
	fixed, _ := mapLines(text, func(s string) (string, string, bool) {
		value := strings.TrimLeft(s, " \t\u00a0")
		for strings.HasPrefix(value, "&nbsp;") {
			value = strings.TrimLeft(value[len("&nbsp;"):], " \t\u00a0")
		}
		return blanks.Replace(s[:len(s)-len(value)]) + value, "", true
	})
	return fixed, "a tab or non-breaking space in the indentation"
}

// listBelowKey moves the first item of "key: - item" to a line of its own.
func listBelowKey(text string) (string, string) {
	first, rest, _ := strings.Cut(text, "\n")
	key, item, ok := strings.Cut(first, ":")
	if item = strings.TrimSpace(item); !ok || !strings.HasPrefix(item, "- ") {
		return text, ""
	}
	fixed, _ := mapLines(item+"\n"+rest, func(s string) (string, string, bool) {
		return "  " + strings.TrimSpace(s), "", true
	})
	return key + ":\n" + fixed, "a list on the line of its key"
}

var (
	surrogates = lazyregexp.New(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	escape     = lazyregexp.New(`\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S]|$)`)
)

// knownEscapes joins JSON's surrogate pairs into one character and doubles each
// backslash that starts no YAML escape (a regular expression, a Windows path).
func knownEscapes(text string) (string, string) {
	if !strings.Contains(text, `\`) || !strings.Contains(text, `"`) {
		return text, ""
	}
	fixed := surrogates().ReplaceAllStringFunc(text, func(s string) string {
		hi, _ := strconv.ParseUint(s[2:6], 16, 16) // the pattern is four hexadecimal digits
		lo, _ := strconv.ParseUint(s[8:12], 16, 16)
		return string(utf16.DecodeRune(rune(hi), rune(lo)))
	})
	fixed = escape().ReplaceAllStringFunc(fixed, func(s string) string {
		switch {
		case s == `\'`:
			return "'" // our parser accepts \', other parsers do not
		case knownEscape(s):
			return s
		}
		return `\` + s
	})
	return fixed, "an escape that YAML does not know"
}

// knownEscape reports whether YAML knows the escape s, a match of escape. Half of
// a surrogate pair is not known.
func knownEscape(s string) bool {
	switch {
	case len(s) == 2:
		return strings.Contains("0abt\tnvfre \"/\\N_LP\n", s[1:])
	case len(s) == 6 && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D'):
		return s[3] < '8'
	}
	return len(s) > 3 && strings.Contains("xuU", s[1:2])
}

// valueLine matches a line of a block mapping, or of a list of mappings: the
// indentation with the list's dashes and the key, then the value.
var valueLine = lazyregexp.New(`^((?: *- )? *(?:"[^"]+"|'[^']+'|[^\s:"'{}\[\],&*#?|>%@` + "`" + `-][^:{}\[\]]*?) *:[ \t]+)(\S.*)$`)

// itemLine matches a line of a block list.
var itemLine = lazyregexp.New(`^( *- +)(\S.*)$`)

// quoteValues quotes the values that YAML cannot read without quotes.
func quoteValues(text string) (string, string) {
	return mapLines(text, func(s string) (string, string, bool) {
		m := valueLine().FindStringSubmatch(s)
		if m == nil {
			m = itemLine().FindStringSubmatch(s)
		}
		if m == nil {
			return s, "", true
		}
		value := strings.TrimSpace(m[2])
		reason := needsQuotes(value)
		if reason == "" {
			return s, "", true
		}
		return m[1] + "'" + strings.ReplaceAll(unquote(value), "'", "''") + "'", reason, true
	})
}

// afterQuote is the reason for which some clients lose a text without a word.
const afterQuote = "text after a closing quote"

// needsQuotes says why value cannot be a plain YAML scalar; "" if it can.
func needsQuotes(value string) string {
	switch value[0] {
	case '*', '&', '!', '%', '@', '`':
		return "a value that starts with " + value[:1]
	case '|', '>':
		if strings.TrimLeft(value[1:], "+-0123456789 ") != "" {
			return "text after a block header"
		}
	case '"', '\'':
		if end := closingQuote(value); end < 0 {
			return "a quote that is not closed"
		} else if rest := strings.TrimSpace(value[end+1:]); rest != "" && !strings.HasPrefix(rest, "#") {
			return afterQuote
		}
	case '[', '{':
		if singleValue("key: "+value) == nil {
			return "text that starts with a bracket"
		}
	case '-', '?':
		if strings.HasPrefix(value[1:], " ") {
			return "a value that starts with " + value[:1]
		}
	default:
		if strings.Contains(value, ": ") || strings.HasSuffix(value, ":") {
			return "an unquoted \": \""
		}
	}
	return ""
}

// closingQuote returns the index of the quote that closes the quoted text at the
// start of value, or -1.
func closingQuote(value string) int {
	quote := value[0]
	for i := 1; i < len(value); i++ {
		switch {
		case quote == '"' && value[i] == '\\':
			i++
		case value[i] == quote && quote == '\'' && i+1 < len(value) && value[i+1] == quote:
			i++
		case value[i] == quote:
			return i
		}
	}
	return -1
}

// unquote returns the text that the author of a malformed value meant: it removes
// a block header before the text and quotes around it.
func unquote(value string) string {
	if value == "" {
		return ""
	}
	switch q := value[0]; q {
	case '|', '>':
		return strings.TrimSpace(strings.TrimLeft(value[1:], "+-0123456789 "))
	case '"', '\'':
		last := len(value) - 1
		switch {
		case last > 0 && value[last] == q:
			value = value[1:last]
		case strings.IndexByte(value[1:], q) < 0:
			value = value[1:]
		}
		if q == '"' {
			value = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n").Replace(value)
		}
	}
	return value
}

// evenIndent gives all lines below the key of a flat list or map the same
// indentation.
func evenIndent(text string) (string, string) {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || !strings.HasSuffix(strings.TrimRight(first, " "), ":") {
		return text, ""
	}
	fixed, _ := mapLines(rest, func(s string) (string, string, bool) {
		return "  " + strings.TrimLeft(s, " "), "", strings.TrimSpace(s) != ""
	})
	if !flat(fixed) {
		return text, ""
	}
	return first + "\n" + fixed, "uneven indentation"
}

// flat reports whether every line of text is an item of a list, or every line
// is a key with a value.
func flat(text string) bool {
	items, pairs, n := 0, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		n++
		if strings.HasPrefix(line, "- ") {
			items++
		} else if key := topKey(line); key != "" && !strings.HasSuffix(line, ":") {
			pairs++
		}
	}
	return n > 0 && (items == n || pairs == n)
}
