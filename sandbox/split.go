package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand bounds the bytes of a command line: it is written by a model, and parsed by
// a parser that follows nested brackets.
const maxCommand = 32 << 10

// split returns the words of a command line as a shell would split it. Only one simple
// command of plain and quoted words is accepted; every error is an *Error. workspace stands in
// the place of $WORKSPACE; "" means that there is none. files are those in the working folder: an
// argument with a pattern that matches none of them is a plain word, as in a shell. nil means that
// they are not known.
func split(command, workspace string, files fs.FS) ([]string, error) {
	file, err := parse(command)
	if err != nil {
		return nil, err
	}
	return splitStmts(file.Stmts, workspace, files)
}

// splitStmts is split for a command line that is parsed.
func splitStmts(stmts []*syntax.Stmt, workspace string, files fs.FS) ([]string, error) {
	call, err := simple(stmts)
	if err != nil {
		return nil, err
	}
	if workspace != "" {
		fill(call, workspace)
	}
	list := make([]string, len(call.Args))
	for i, w := range call.Args {
		in := files
		if i == 0 {
			in = nil // a program is named, and not found by a pattern
		}
		if list[i], err = plainWord(w, in); err != nil {
			return nil, err
		}
	}
	if list[0] == "" {
		return nil, blank()
	}
	return list, nil
}

// parse returns a command line, or the program of a shell, that is not blank.
func parse(command string) (*syntax.File, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return nil, blank()
	case len(command) > maxCommand:
		return nil, notOne(fmt.Sprintf("the command line has %d bytes, and at most %d are read", len(command), maxCommand),
			"hand long texts over as standard input")
	case strings.ContainsRune(command, 0):
		return nil, notOne("the command line holds a zero byte", "remove it")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, malformed(err)
	}
	if len(file.Stmts) == 0 {
		return nil, blank() // a comment
	}
	return file, nil
}

func blank() *Error {
	return &Error{Reason: Blank, Fact: "the command is blank", Hint: "write the command to run, such as `scripts/build.sh`"}
}

const intoScript = "run one command at a time, or put this into a script of the skill and run the script"

func notOne(fact, hint string) *Error { return &Error{Reason: Syntax, Fact: fact, Hint: hint} }

// malformed explains an error of the parser.
func malformed(err error) *Error {
	text, at := err.Error(), uint(0)
	var p syntax.ParseError
	var l syntax.LangError
	switch {
	case errors.As(err, &p):
		text, at = p.Text, p.Pos.Col()
	case errors.As(err, &l):
		text, at = l.Feature+" is not supported", l.Pos.Col()
	}
	e := notOne(fmt.Sprintf("sh: syntax error at character %d: %s", at, text), "check that each quote and bracket is closed")
	e.Err = err
	return e
}

// simple returns the one simple command in stmts.
func simple(stmts []*syntax.Stmt) (*syntax.CallExpr, error) {
	s := stmts[0]
	if len(stmts) > 1 {
		return nil, notOne("the command line holds several commands", intoScript)
	}
	switch {
	case s.Background || s.Coprocess || s.Disown:
		return nil, notOne("the command asks to run in the background (&)", "remove the &: a command runs until it ends")
	case s.Semicolon.IsValid():
		return nil, notOne("the command ends with ;", "remove the ;")
	case s.Negated:
		return nil, notOne("the command is negated (!)", "remove the !: the exit code is in the result")
	case len(s.Redirs) > 0:
		return nil, notOne("the command redirects input or output ("+s.Redirs[0].Op.String()+")",
			"remove the redirection: output is in the result, and input can be handed over; or put it into a script of the skill and run the script")
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return nil, notOne("the command sets a variable ("+c.Assigns[0].Name.Value+"=)", intoScript)
		}
		return c, nil
	case *syntax.BinaryCmd:
		return nil, notOne("the command line joins commands with "+c.Op.String(), intoScript)
	}
	return nil, notOne("the command line is a program of the shell's language", intoScript)
}

// fill puts the path of the workspace in the place of its variable, which so is part of one
// word, whatever the path holds.
func fill(call *syntax.CallExpr, workspace string) {
	isWorkspace := func(part syntax.WordPart) bool {
		p, ok := part.(*syntax.ParamExp)
		return ok && p.Param != nil && p.Param.Value == WorkspaceVar && !p.Excl && !p.Length && !p.Width && !p.IsSet &&
			p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
	}
	for _, w := range call.Args {
		for i, part := range w.Parts {
			q, ok := part.(*syntax.DblQuoted)
			switch {
			case isWorkspace(part):
				w.Parts[i] = &syntax.SglQuoted{Value: workspace}
			case !ok:
				continue
			default:
				for j, inner := range q.Parts {
					if isWorkspace(inner) {
						q.Parts[j] = &syntax.Lit{Value: strings.ReplaceAll(workspace, `\`, `\\`)}
					}
				}
			}
		}
	}
}

// plainWord returns the text of a word that a shell would not expand.
func plainWord(w *syntax.Word, files fs.FS) (string, error) {
	syntax.SplitBraces(w) // into parts of an own type
	var b, pattern strings.Builder
	meta := ""
	for i, part := range w.Parts {
		start := b.Len()
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				return "", expands("~")
			}
			text, glob, first := unescape(part.Value)
			b.WriteString(text)
			pattern.WriteString(glob)
			meta = cmp.Or(meta, first)
			continue
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", expands("$'…'")
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if err := quoted(&b, part); err != nil {
				return "", err
			}
		default:
			return "", expands(kindOf(part))
		}
		pattern.WriteString(patternMarks.Replace(b.String()[start:]))
	}
	if meta != "" && matches(files, pattern.String()) {
		return "", expands(meta)
	}
	return b.String(), nil
}

// patternMarks writes a text as a pattern that matches nothing else.
var patternMarks = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`)

// matches reports whether a shell may find files for a pattern. Where that is not known, such
// as outside of the working folder, it may.
func matches(files fs.FS, pattern string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	if files == nil || path.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
		return true
	}
	found, err := fs.Glob(files, pattern)
	return err == nil && len(found) > 0 // a malformed pattern is none
}

func expands(what string) *Error {
	return notOne("a shell would expand "+what+", and no shell runs here",
		"put it between single quotes if it is meant as it is, write its value, or put the command into a script of the skill and run the script")
}

// kindOf returns how an expansion is written.
func kindOf(p syntax.WordPart) string {
	switch p := p.(type) {
	case *syntax.ParamExp:
		if p.Param != nil {
			return "$" + p.Param.Value
		}
		return "${…}"
	case *syntax.CmdSubst:
		return "$(…)"
	case *syntax.ArithmExp:
		return "$((…))"
	case *syntax.ProcSubst:
		return "<(…)"
	case *syntax.ExtGlob:
		return p.Op.String() + "…)"
	}
	return "{…}"
}

// quoted adds the text of a double-quoted part to b.
func quoted(b *strings.Builder, q *syntax.DblQuoted) error {
	if q.Dollar {
		return expands(`$"…"`)
	}
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return expands(kindOf(part))
		}
		for i := 0; i < len(lit.Value); i++ {
			if lit.Value[i] == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\", lit.Value[i+1]) >= 0 {
				i++
			}
			b.WriteByte(lit.Value[i])
		}
	}
	return nil
}

// unescape removes the backslashes of an unquoted text, and returns the pattern that it is for
// package path. meta is the first thing in it that makes it a pattern; "" means that it is none.
func unescape(s string) (text, pattern, meta string) {
	b, p := make([]byte, 0, len(s)), make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c, mark := s[i], ""
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			c = s[i]
		case c == '*' || c == '?':
			mark = string(c)
		case c == '[' && strings.IndexByte(s[i+1:], ']') >= 0:
			mark = "[…]"
		}
		if meta = cmp.Or(meta, mark); mark == "" && strings.IndexByte(`*?[\`, c) >= 0 {
			p = append(p, '\\')
		}
		b, p = append(b, c), append(p, c)
		if mark == "[…]" && s[i+1] == '!' {
			i++
			b, p = append(b, '!'), append(p, '^') // as package path writes it
		}
	}
	return string(b), string(p), meta
}

// Quote returns a word of a command that a shell reads as s.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
