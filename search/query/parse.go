package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// maxDepth is how deep parentheses may be nested. The parser of SQLite holds 100
// symbols, and one level may take 11.
const maxDepth = 6

// A phrase is a sequence of words.
type phrase struct {
	initial bool // "^": only at the start of a column
	parts   []part
}

// A part is a word or quoted text.
type part struct {
	text   string
	prefix bool // "*": its last word is only the start of a word
	at     int  // in bytes
}

// parseSyntax parses a query into the terms of the index; nil means that none of its words is
// indexed. Its errors are of type *SyntaxError. The language is FTS5's with three differences: AND may also be left out next to parentheses,
// words may hold any character without a meaning in the language, and obvious
// mistakes are errors.
func parseSyntax(query string, t *translator) (expr, error) {
	tokens, err := lex(query)
	if err != nil {
		return nil, err
	}
	p := &syntaxParser{query: query, tokens: tokens, to: t, columns: columnNames()}
	if p.peek() == tokenEnd {
		return nil, p.error(tokens[0], "the query is empty; write a word, or a phrase in quotes")
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.tokens[p.pos]; t.kind != tokenEnd {
		return nil, p.unexpected(t)
	}
	return root, nil
}

type syntaxParser struct {
	query   string
	tokens  []token
	pos     int
	depth   int // of open parentheses
	to      *translator
	columns []string // in which the next operand is sought; nil means that it is excluded
}

func (p *syntaxParser) peek() tokenKind { return p.tokens[p.pos].kind }

// next returns the next token and moves on, but never past the end.
func (p *syntaxParser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

// accept moves past a token of that kind, if it is the next.
func (p *syntaxParser) accept(kind tokenKind) bool {
	ok := p.peek() == kind
	if ok {
		p.pos++
	}
	return ok
}

func (p *syntaxParser) error(t token, format string, args ...any) error {
	return syntaxError(p.query, t.at, format, args...)
}

// chain parses operands with an operator between them, and joins them.
func (p *syntaxParser) chain(operator tokenKind, operand func() (expr, error), join func([]expr) expr) (expr, error) {
	var list []expr
	for {
		n, err := operand()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.accept(operator) {
			break
		}
		if !p.startsOperand() {
			t := p.tokens[p.pos-1]
			return nil, p.error(t, "%q needs a word or a phrase after it; add one, or remove %s", t.text, t.text)
		}
	}
	return join(list), nil
}

func allOf(list []expr) expr { return joined(and, list) }
func anyOf(list []expr) expr { return joined(or, list) }

// OR binds weakest, then AND, then NOT. Two words without an operator between them
// bind strongest.

func (p *syntaxParser) or() (expr, error)  { return p.chain(tokenOr, p.and, anyOf) }
func (p *syntaxParser) and() (expr, error) { return p.chain(tokenAnd, p.not, allOf) }

// not keeps nothing if nothing is left to keep: FTS5 cannot express "all but".
func (p *syntaxParser) not() (expr, error) {
	columns := p.columns
	defer func() { p.columns = columns }()
	operand := func() (expr, error) {
		e, err := p.implicitAnd()
		p.columns = nil // what follows is excluded
		return e, err
	}
	return p.chain(tokenNot, operand, func(list []expr) expr {
		keep, drop := list[0], anyOf(list[1:])
		if keep == nil || drop == nil {
			return keep
		}
		return &exceptExpr{keep, drop}
	})
}

// implicitAnd parses operands without an operator between them.
func (p *syntaxParser) implicitAnd() (expr, error) {
	var list []expr
	for len(list) == 0 || p.startsOperand() {
		n, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return allOf(list), nil
}

// startsOperand reports whether the next token can begin an operand.
func (p *syntaxParser) startsOperand() bool {
	switch p.peek() {
	case tokenWord, tokenQuoted, '(', '{', '-', '^':
		return true
	}
	return false
}

// operand parses a phrase, NEAR or an expression in parentheses, with or without a
// column filter before it.
func (p *syntaxParser) operand() (expr, error) {
	at := p.tokens[p.pos]
	columns, err := p.filter()
	if err != nil {
		return nil, err
	}
	if columns != nil && p.peek() != '(' && p.peek() != '^' && !p.isText() {
		return nil, p.error(p.tokens[p.pos], `a word, a phrase or "(" is expected after the column`)
	}
	outer := p.columns
	if columns != nil {
		p.columns = common(outer, columns)
	}
	var e expr
	if p.peek() == '(' {
		e, err = p.parenthesis()
	} else {
		e, err = p.near()
	}
	p.columns = outer
	switch {
	case err != nil || columns == nil:
		return e, err
	case len(columns) == 0:
		return nil, p.error(at, "no column is left; there are %s", strings.Join(columnNames(), ", "))
	case e == nil:
		return nil, nil
	}
	return &columnExpr{columns, e}, nil
}

func (p *syntaxParser) isText() bool { return p.peek() == tokenWord || p.peek() == tokenQuoted }

// filter parses a column filter; nil means that there is none.
func (p *syntaxParser) filter() ([]string, error) {
	start := p.pos
	minus := p.accept('-')
	var names []string
	switch {
	case p.peek() == '{':
		open := p.next()
		for p.isText() {
			if err := p.column(&names); err != nil {
				return nil, err
			}
		}
		if !p.accept('}') {
			return nil, p.error(open, `"{" is not closed; write the names of columns and then "}:"`)
		}
		if !p.accept(':') || len(names) == 0 {
			return nil, p.error(open, `columns are written as {name description}: before what is searched for in them`)
		}
	case p.isText() && p.tokens[p.pos+1].kind == ':':
		if err := p.column(&names); err != nil {
			return nil, err
		}
		p.next()
	case minus:
		return nil, p.error(p.tokens[start], `"-" stands before a column only, as in -body: word; to leave out a word write NOT before it`)
	default:
		return nil, nil
	}
	rest := []string{}
	for _, c := range columnNames() {
		if slices.Contains(names, c) != minus {
			rest = append(rest, c)
		}
	}
	return rest, nil
}

// column adds the next token, which is the name of a column.
func (p *syntaxParser) column(names *[]string) error {
	t := p.next()
	name := strings.ToLower(t.text)
	if !slices.Contains(columnNames(), name) {
		return p.error(t, `no column %q; there are %s (a text with ":" in it needs quotes)`, tidy.Shorten(t.text, maxQuoted), strings.Join(columnNames(), ", "))
	}
	*names = append(*names, name)
	return nil
}

func (p *syntaxParser) parenthesis() (expr, error) {
	open := p.next()
	if p.depth++; p.depth > maxDepth {
		return nil, p.error(open, "parentheses are nested more than %d deep; remove some", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.accept(')') {
		return nil, p.error(open, "there is nothing between the parentheses; write a word")
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek() == tokenEnd {
		return nil, p.error(open, `"(" is not closed; add ")"`)
	}
	if !p.accept(')') {
		return nil, p.unexpected(p.tokens[p.pos])
	}
	return n, nil
}

// near parses a single phrase, or NEAR(…) with phrases in it.
func (p *syntaxParser) near() (expr, error) {
	t, then := p.tokens[p.pos], p.tokens[min(p.pos+1, len(p.tokens)-1)]
	if t.kind != tokenWord || then.kind != '(' || !strings.EqualFold(t.text, "NEAR") {
		one, err := p.phrase()
		if err != nil {
			return nil, err
		}
		return p.to.near([]phrase{one}, 0, p.columns), nil
	}
	if t.text != "NEAR" {
		return nil, p.error(t, `write NEAR in capitals, or %q in quotes for the word`, t.text)
	}
	p.pos += 2
	var phrases []phrase
	distance := 10 // as in FTS5
	for p.isText() {
		one, err := p.phrase()
		if err != nil {
			return nil, err
		}
		phrases = append(phrases, one)
	}
	if p.accept(',') {
		number := p.next()
		d, err := strconv.ParseUint(number.text, 10, 16)
		if number.kind != tokenWord || err != nil {
			return nil, p.error(number, "the greatest distance is expected here, a number of words; write NEAR(a b, 5)")
		}
		distance = int(d)
	}
	switch {
	case p.peek() == tokenEnd:
		return nil, p.error(t, `"NEAR(" is not closed; add ")"`)
	case !p.accept(')'):
		return nil, p.error(p.tokens[p.pos], `words and phrases are expected in NEAR, then ")"; write NEAR(a b, 5)`)
	case len(phrases) == 0:
		return nil, p.error(t, "there is nothing in NEAR; write NEAR(a b, 5)")
	}
	return p.to.near(phrases, distance, p.columns), nil
}

// phrase parses words and quoted texts with + between them.
func (p *syntaxParser) phrase() (phrase, error) {
	out := phrase{initial: p.accept('^')}
	for {
		t := p.tokens[p.pos]
		if !p.isText() {
			return out, p.unexpected(t)
		}
		p.pos++
		one := part{text: t.text, at: t.at}
		if p.peek() == '*' {
			star := p.next()
			one.prefix = true
			if then := p.tokens[p.pos]; then.kind == tokenWord && then.at == star.end {
				return out, p.error(star, `"*" stands at the end of a word only; put a space after it`)
			}
		} else if err := p.lowerOperator(t); err != nil {
			return out, err
		}
		out.parts = append(out.parts, one)
		if !p.accept('+') {
			return out, nil
		}
	}
}

// lowerOperator refuses "or" and "not" without quotes. They are too common to be
// indexed, so the query would mean AND.
func (p *syntaxParser) lowerOperator(t token) error {
	if word := strings.ToUpper(t.text); t.kind == tokenWord && (word == "OR" || word == "NOT") {
		return p.error(t, "%q is too common to be searched for; write %s in capitals, or remove it", t.text, word)
	}
	return nil
}

// unexpected is the error for a token that cannot stand where it does.
func (p *syntaxParser) unexpected(t token) error {
	switch t.kind {
	case tokenEnd:
		return p.error(t, "the query ends where a word or a phrase is expected; add one")
	case tokenAnd, tokenOr, tokenNot:
		return p.error(t, "%q needs a word or a phrase before it; add one, or remove %s", t.text, t.text)
	case ')':
		return p.error(t, `")" closes nothing; remove it, or add "("`)
	case '*':
		return p.error(t, `"*" needs the start of a word before it, as in form*`)
	case ':':
		return p.error(t, `":" needs a column before it: %s`, strings.Join(columnNames(), ", "))
	case ',':
		return p.error(t, `"," stands only in NEAR(a b, 5); remove it`)
	}
	return p.error(t, "%q stands where a word or a phrase is expected; remove it, or put the text in quotes", t.text)
}
