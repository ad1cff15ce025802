package virtual

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// internal is the command that stands where a program was rewritten. A script that calls it
// can do nothing that it could not do otherwise.
const internal = "__virtual"

// Paths that only rewritten programs use.
const (
	pipePath = "/dev/.pipe/" // what one side of a pipe writes and the other reads
	nullPath = "/dev/null"
)

// maxNesting is how many nodes of a program may be in each other, some 100 brackets.
const maxNesting = 400

// maxBrackets is how many brackets may be open in the text. Not all of them must be
// brackets of the shell, so there may be more than can be nested.
const maxBrackets = 2000

// A refusal is shell syntax that does not run here.
type refusal struct {
	pos  syntax.Pos
	what string
}

func (r *refusal) Error() string {
	if !r.pos.IsValid() {
		return r.what
	}
	return fmt.Sprintf("line %d: %s", r.pos.Line(), r.what)
}

// parse returns a program that is safe to interpret. The interpreter does some things by
// itself, on the system or without a bound. They are refused, or said in other words:
//
//   - Process substitution makes named pipes on disk: refused. So are coprocesses, time,
//     select, aliases, indirect expansion and references to variables.
//   - The two sides of a pipe, and jobs in the background, run beside each other, so that
//     output would be mixed by chance: here the first side runs to its end before the second
//     begins, and a job runs at once. So there is one goroutine, whose stack is measured and
//     whose panics are caught.
//   - Process numbers and random numbers: $$ is 1, others are refused.
//   - A word may expand to any size: a call of internal before each command that expands
//     something measures it, see measure.go.
//
// args are appended; then the program must be a single command.
func (run *run) parse(text, name string, args ...string) (*syntax.File, error) {
	if len(text) > maxProgram {
		return nil, fmt.Errorf("%s: a program may have %d KiB", name, maxProgram>>10)
	}
	if deep(text) {
		return nil, &refusal{what: "the program is nested too deeply"}
	}
	if err := run.m.charge(64 * len(text)); err != nil { // the tree is much larger than the text
		return nil, err
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	if err := appendArgs(file, args); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &preparer{run: run, name: name}
	p.check(file)
	if p.err == nil {
		file.Stmts = p.stmts(file.Stmts)
	}
	if p.err != nil {
		return nil, fmt.Errorf("%s: %w", name, p.err)
	}
	return file, nil
}

// deep reports whether more brackets are open at once than a program needs. The parser
// needs much memory for each.
func deep(text string) bool {
	open := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if open++; open > maxBrackets {
				return true
			}
		case ')', '}', ']':
			open = max(open-1, 0)
		}
	}
	return false
}

// rewrite is parse for text that the interpreter parses again: eval, source and trap.
func (run *run) rewrite(text, name string) (string, error) {
	file, err := run.parse(text, name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil {
		return "", err
	}
	if _, err := syntax.NewParser().Parse(strings.NewReader(b.String()), name); err != nil {
		return "", fmt.Errorf("%s: this cannot be evaluated here: %w", name, err)
	}
	return b.String(), nil
}

type preparer struct {
	run  *run
	name string
	err  error
}

func (p *preparer) refuse(n syntax.Node, format string, args ...any) {
	if p.err == nil {
		p.err = &refusal{n.Pos(), fmt.Sprintf(format, args...)}
	}
}

// check refuses what cannot run.
func (p *preparer) check(file *syntax.File) {
	depth := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth++; depth > maxNesting {
			p.refuse(n, "the program is nested too deeply")
		}
		p.node(n)
		if p.err != nil {
			depth--
			return false
		}
		return true
	})
}

func (p *preparer) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ProcSubst:
		p.refuse(n, "process substitution needs processes; write to a file in $TMPDIR instead")
	case *syntax.CoprocClause:
		p.refuse(n, "coproc needs processes")
	case *syntax.TimeClause:
		p.refuse(n, "time is not available: the same input gives the same output here")
	case *syntax.ExtGlob:
		p.refuse(n, "extended patterns such as %s...) are not available", n.Op)
	case *syntax.ForClause:
		if n.Select {
			p.refuse(n, "select needs a terminal")
		}
	case *syntax.Stmt:
		if n.Coprocess || n.Disown {
			p.refuse(n, "coprocesses need processes")
		}
	case *syntax.FuncDecl:
		p.function(n)
	case *syntax.CaseItem:
		if n.Op != syntax.Break {
			p.refuse(n, "%s in case is not available: end the item with two semicolons", n.Op)
		}
	case *syntax.UnaryTest:
		switch n.Op {
		case syntax.TsUsrOwn, syntax.TsGrpOwn, syntax.TsFdTerm, syntax.TsRefVar:
			p.refuse(n, "[[ %s ]] is not available: files have no owner, and there is no terminal", n.Op)
		}
	case *syntax.DeclClause:
		p.declare(n)
	case *syntax.ParamExp:
		p.param(n)
	}
}

func (p *preparer) function(n *syntax.FuncDecl) {
	if n.Name == nil || n.Name.Value == internal || isShellWord(n.Name.Value) {
		p.refuse(n, "a function cannot have the name of a command of the shell")
		return
	}
	p.run.functions[n.Name.Value] = true
}

// declare refuses references, and what the interpreter would print in the order of chance.
func (p *preparer) declare(n *syntax.DeclClause) {
	if n.Variant.Value == "nameref" {
		p.refuse(n, "references to variables are not available")
	}
	for _, as := range n.Args {
		if as.Name == nil && len(as.Value.Parts) > 0 {
			lit, ok := as.Value.Parts[0].(*syntax.Lit)
			if q, quoted := as.Value.Parts[0].(*syntax.DblQuoted); quoted && len(q.Parts) > 0 {
				lit, ok = q.Parts[0].(*syntax.Lit)
			}
			if ok && strings.HasPrefix(lit.Value, "-") && strings.ContainsAny(lit.Value, "np") {
				p.refuse(n, "%s %s is not available", n.Variant.Value, lit.Value)
			} else if !ok && n.Variant.Value != "export" && n.Variant.Value != "readonly" {
				p.refuse(n, "%s needs a name that is in the program", n.Variant.Value)
			}
		}
	}
}

// param refuses variables that the system decides, and replaces those that have an answer.
func (p *preparer) param(n *syntax.ParamExp) {
	if n.Param == nil {
		p.refuse(n, "this expansion is not available")
		return
	}
	switch n.Param.Value {
	case "PPID", "RANDOM", "SRANDOM", "!", "DIRSTACK":
		p.refuse(n, "$%s is not available: there are no processes, and the same input gives the same output", n.Param.Value)
	}
	index := ""
	if w, ok := n.Index.(*syntax.Word); ok {
		index = w.Lit()
	}
	if n.Excl && (n.Names != 0 || index != "@" && index != "*") {
		p.refuse(n, "indirect expansion ${!%s} is not available; use an array or eval", n.Param.Value)
	}
	if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
		if op := n.Exp.Word.Lit(); op == "" || !strings.Contains("QULu", op) {
			p.refuse(n, "${%s@%s} is not available", n.Param.Value, op)
		}
	}
}

// stmts rewrites a list of commands.
func (p *preparer) stmts(list []*syntax.Stmt) []*syntax.Stmt {
	out := make([]*syntax.Stmt, 0, len(list))
	for _, s := range list {
		out = append(out, p.stmt(s)...)
	}
	return out
}

// one rewrites a command that must stay one.
func (p *preparer) one(s *syntax.Stmt) *syntax.Stmt {
	if all := p.stmt(s); len(all) != 1 {
		return &syntax.Stmt{Position: s.Position, Cmd: &syntax.Block{Stmts: all}}
	} else {
		return all[0]
	}
}

// stmt returns the commands that stand for s.
func (p *preparer) stmt(s *syntax.Stmt) []*syntax.Stmt {
	var out []*syntax.Stmt
	if g := p.guard(s); g != nil {
		out = append(out, g)
	}
	p.expansions(s)
	p.inside(s.Cmd)
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		s.Cmd = &syntax.Block{Stmts: p.pipe(b)}
	}
	if s.Negated { // the interpreter would take what fails inside for an error
		inner := *s
		inner.Negated, inner.Background = false, false
		s.Negated = false
		s.Redirs = nil
		s.Cmd = &syntax.IfClause{Cond: []*syntax.Stmt{&inner}, Then: []*syntax.Stmt{{Negated: true, Cmd: call(":")}},
			Else: &syntax.IfClause{Then: []*syntax.Stmt{{Cmd: call(":")}}}}
	}
	if s.Background {
		job := *s
		job.Background = false
		s = &syntax.Stmt{Position: s.Position, Cmd: &syntax.IfClause{
			Cond: []*syntax.Stmt{{Cmd: &syntax.Subshell{Stmts: []*syntax.Stmt{&job}}, Redirs: []*syntax.Redirect{{Op: syntax.RdrIn, Word: word(nullPath)}}}},
			Then: []*syntax.Stmt{{Cmd: call(":")}},
		}}
	}
	return append(out, s)
}

// pipe says "x | y" as "(x) >pipe, then (y) <pipe". With pipefail, the status of x counts.
func (p *preparer) pipe(b *syntax.BinaryCmd) []*syntax.Stmt {
	p.run.pipes++
	id := strconv.Itoa(p.run.pipes)
	side := func(s *syntax.Stmt, op syntax.RedirOperator) *syntax.Stmt {
		return &syntax.Stmt{Cmd: &syntax.Subshell{Stmts: []*syntax.Stmt{s}}, Redirs: []*syntax.Redirect{{Op: op, Word: word(pipePath + id)}}}
	}
	x, y := side(b.X, syntax.RdrOut), side(b.Y, syntax.RdrIn)
	if b.Op == syntax.PipeAll {
		x.Redirs[0].Op = syntax.RdrAll
	}
	status := func(cmd string) *syntax.Stmt { return &syntax.Stmt{Cmd: call(internal, cmd, id)} }
	return []*syntax.Stmt{
		{Cmd: &syntax.IfClause{Cond: []*syntax.Stmt{x}, Then: []*syntax.Stmt{status("piped")}, Else: &syntax.IfClause{Then: []*syntax.Stmt{status("piped")}}}},
		y, status("joined"),
	}
}

// inside rewrites the commands in a command.
func (p *preparer) inside(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.Block:
		c.Stmts = p.stmts(c.Stmts)
	case *syntax.Subshell:
		c.Stmts = p.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			c.Cond, c.Then = p.stmts(c.Cond), p.stmts(c.Then)
		}
	case *syntax.WhileClause:
		c.Cond, c.Do = p.stmts(c.Cond), p.stmts(c.Do)
	case *syntax.ForClause:
		c.Do = p.stmts(c.Do)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			item.Stmts = p.stmts(item.Stmts)
		}
	case *syntax.FuncDecl:
		c.Body = p.one(c.Body)
	case *syntax.BinaryCmd:
		c.X, c.Y = p.one(c.X), p.one(c.Y)
	}
}

// expansions rewrites the command substitutions and variables in the words of a command, but
// not in the commands inside of it.
func (p *preparer) expansions(s *syntax.Stmt) {
	walkOwn(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if file := shortCat(n.Stmts); file != nil { // $(<file)
				n.Stmts[0].Cmd = call("cat")
			}
			n.Stmts = p.stmts(n.Stmts)
			return false
		case *syntax.Word:
			for i, part := range n.Parts {
				n.Parts[i] = p.part(part, false)
			}
		case *syntax.DblQuoted:
			for i, part := range n.Parts {
				n.Parts[i] = p.part(part, true)
			}
		}
		return true
	})
}

func shortCat(list []*syntax.Stmt) *syntax.Word {
	if len(list) == 1 && list[0].Cmd == nil && len(list[0].Redirs) == 1 && list[0].Redirs[0].Op == syntax.RdrIn {
		return list[0].Redirs[0].Word
	}
	return nil
}

// part replaces $$ and the names of scripts in arrays of Bash.
func (p *preparer) part(part syntax.WordPart, quoted bool) syntax.WordPart {
	n, ok := part.(*syntax.ParamExp)
	if !ok || n.Exp != nil || n.Repl != nil || n.Slice != nil || n.Length {
		return part
	}
	switch n.Param.Value {
	case "$":
		return &syntax.Lit{ValuePos: n.Pos(), ValueEnd: n.End(), Value: "1"}
	case "BASH_SOURCE":
		if quoted {
			escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")
			return &syntax.Lit{ValuePos: n.Pos(), ValueEnd: n.End(), Value: escape.Replace(p.name)}
		}
		return &syntax.SglQuoted{Left: n.Pos(), Right: n.End(), Value: p.name}
	}
	return part
}

// walkOwn walks a command without the commands inside of it.
func walkOwn(s *syntax.Stmt, f func(syntax.Node) bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if inner, ok := n.(*syntax.Stmt); ok && inner != s {
			return false
		}
		return n == nil || f(n)
	})
}

// guard returns the command that measures what s expands to, or nil if s expands nothing.
func (p *preparer) guard(s *syntax.Stmt) *syntax.Stmt {
	grows, positional := false, false
	walkOwn(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			grows = true
			switch name := n.Param.Value; {
			case name == "@" || name == "*" || name[0] >= '1' && name[0] <= '9':
				positional = true
			}
		case *syntax.CmdSubst:
			grows = true
			return false
		case *syntax.Lit:
			grows = grows || strings.ContainsAny(n.Value, "{*?[")
		case *syntax.Assign:
			grows = grows || n.Append || n.Index != nil
		case *syntax.TestClause:
			grows = true
		}
		return true
	})
	if !grows {
		return nil
	}
	p.run.guards = append(p.run.guards, newEstimate(s))
	g := call(internal, "guard", strconv.Itoa(len(p.run.guards)-1))
	if positional {
		g.Args = append(g.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{
			&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "@"}}}}}})
	}
	// "guard && :" keeps the status of the command before, and is never taken for an error.
	return &syntax.Stmt{Cmd: &syntax.BinaryCmd{Op: syntax.AndStmt, X: &syntax.Stmt{Cmd: g}, Y: &syntax.Stmt{Cmd: call(":")}}}
}

func word(text string) *syntax.Word {
	return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text}}}
}

func call(words ...string) *syntax.CallExpr {
	c := &syntax.CallExpr{}
	for _, w := range words {
		c.Args = append(c.Args, word(w))
	}
	return c
}
