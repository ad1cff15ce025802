package virtual

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Bounds of a pattern: RE2 needs time in proportion to pattern times text, and x{1000} is a
// thousand patterns.
const (
	maxPattern = 4096
	maxStates  = 20_000
)

// A pattern is a regular expression and what one byte of text costs to match.
type pattern struct {
	*regexp.Regexp
	cost int
}

// compile translates a basic or an extended regular expression of POSIX to one of Go. Of
// several matches at one place, grep and sed take the longest.
func compile(text string, extended, fixed, fold bool) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("a pattern may have %d bytes", maxPattern)
	}
	expr := regexp.QuoteMeta(text)
	if !fixed {
		var err error
		if expr, err = translatePattern(text, extended); err != nil {
			return nil, err
		}
	}
	if fold {
		expr = "(?i)" + expr
	}
	states := weigh(expr)
	if states > maxStates {
		return nil, errors.New("the pattern repeats too much")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", text, err)
	}
	re.Longest()
	return &pattern{re, 1 + states/2}, nil
}

// weigh is at least as large as the number of states that expr needs: the product of the
// repeats that may be in each other.
func weigh(expr string) int {
	states, repeats := len(expr), 1
	for i := 0; i < len(expr); i++ {
		if expr[i] != '{' || i > 0 && expr[i-1] == '\\' {
			continue
		}
		n, most := 0, 1
		for i++; i < len(expr) && expr[i] != '}'; i++ {
			if expr[i] < '0' || expr[i] > '9' {
				n = 0
				continue
			}
			n = min(n*10+int(expr[i]-'0'), 1000)
			most = max(most, n)
		}
		repeats = min(mul(repeats, max(most, 1)), huge)
	}
	return mul(states, repeats)
}

// A translator goes through a pattern.
type translator struct {
	in       string
	at       int
	extended bool
	out      strings.Builder
	depth    int
}

// translatePattern returns the Go form of a POSIX pattern.
func translatePattern(text string, extended bool) (string, error) {
	t := &translator{in: text, extended: extended}
	start := true // at the begin of the pattern, a group or an alternative
	for t.at < len(t.in) {
		var err error
		if start, err = t.next(start); err != nil {
			return "", err
		}
		if t.depth > 100 {
			return "", errors.New("the pattern is nested too deeply")
		}
	}
	if t.depth != 0 {
		return "", errors.New("a group in the pattern does not end")
	}
	return t.out.String(), nil
}

// next translates one element.
func (t *translator) next(start bool) (bool, error) {
	ch := t.in[t.at]
	t.at++
	special := t.extended
	if ch == '\\' {
		if t.at == len(t.in) {
			return false, errors.New("the pattern ends with a backslash")
		}
		ch = t.in[t.at]
		t.at++
		if special = !t.extended && strings.IndexByte("(){}|+?", ch) >= 0; !special {
			return false, t.escaped(ch)
		}
	}
	switch {
	case ch == '[':
		return false, t.bracket()
	case ch == '.':
		t.out.WriteByte('.')
	case ch == '^' && (start || t.extended), ch == '$' && (t.extended || t.ends()):
		t.out.WriteByte(ch)
		return ch == '^', nil
	case ch == '*' && start:
		t.out.WriteString(`\*`)
	case ch == '*':
		t.out.WriteByte('*')
		t.unrepeat()
	case special && (ch == '(' || ch == '|'):
		t.out.WriteByte(ch)
		if ch == '(' {
			t.depth++
		}
		return true, nil
	case special && ch == ')':
		if t.depth--; t.depth < 0 {
			return false, errors.New("a group in the pattern does not begin")
		}
		t.out.WriteByte(ch)
	case special && (ch == '+' || ch == '?') && !start:
		t.out.WriteByte(ch)
		t.unrepeat()
	case special && ch == '{' && !start:
		return false, t.interval()
	default:
		t.out.WriteString(regexp.QuoteMeta(t.in[t.at-1 : t.at]))
	}
	return false, nil
}

// escaped translates what follows a backslash and is no operator.
func (t *translator) escaped(ch byte) error {
	switch {
	case strings.IndexByte("wWsSbBnt", ch) >= 0:
		t.out.WriteString(`\` + string(ch))
	case ch == '<' || ch == '>':
		t.out.WriteString(`\b`)
	case ch >= '1' && ch <= '9':
		return errors.New("references such as \\1 are not available in patterns: matching would take too long")
	default:
		t.out.WriteString(regexp.QuoteMeta(t.in[t.at-1 : t.at]))
	}
	return nil
}

// ends reports whether a $ is at the end of a basic pattern or group.
func (t *translator) ends() bool {
	rest := t.in[t.at:]
	return rest == "" || strings.HasPrefix(rest, `\)`) || strings.HasPrefix(rest, `\|`)
}

// unrepeat takes away a second repetition, such as in "a**", which Go takes for another one.
func (t *translator) unrepeat() {
	for t.at < len(t.in) && (t.in[t.at] == '*' || t.extended && (t.in[t.at] == '+' || t.in[t.at] == '?')) {
		t.at++
	}
}

// interval translates {n}, {n,} and {n,m}.
func (t *translator) interval() error {
	end := "}"
	if !t.extended {
		end = `\}`
	}
	body, _, ok := strings.Cut(t.in[t.at:], end)
	if !ok || body == "" || strings.Trim(body, "0123456789,") != "" || strings.Count(body, ",") > 1 || body[0] == ',' || len(body) > 9 {
		return errors.New("an interval in the pattern is not as {2} or {2,4}")
	}
	t.at += len(body) + len(end)
	t.out.WriteString("{" + body + "}")
	t.unrepeat()
	return nil
}

// bracket translates what follows a "[".
func (t *translator) bracket() error {
	t.out.WriteByte('[')
	if strings.HasPrefix(t.in[t.at:], "^") {
		t.out.WriteByte('^')
		t.at++
	}
	for first := true; t.at < len(t.in); first = false {
		rest := t.in[t.at:]
		switch {
		case rest[0] == ']' && !first:
			t.at++
			t.out.WriteByte(']')
			return nil
		case strings.HasPrefix(rest, "[:"):
			name, _, ok := strings.Cut(rest[2:], ":]")
			if !ok || class(name) == "" {
				return errors.New("unknown class in the pattern")
			}
			t.out.WriteString("[:" + name + ":]")
			t.at += len(name) + 4
			continue
		case strings.IndexByte(`[]\^&~`, rest[0]) >= 0:
			t.out.WriteByte('\\')
		}
		t.out.WriteByte(rest[0])
		t.at++
	}
	return errors.New("a [ in the pattern does not end")
}
