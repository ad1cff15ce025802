package virtual

import (
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// An estimate finds out how large the words of one command can become, before the
// interpreter expands them: it has no bound of its own, and a few bytes of program can ask
// for any number of bytes. What is too large ends the run.
type estimate struct {
	cmd    syntax.Command
	redirs []*syntax.Redirect
}

func newEstimate(s *syntax.Stmt) estimate {
	return estimate{s.Cmd, slices.Clone(s.Redirs)}
}

// splitCost is how much more memory a word takes that is split into fields of one byte.
const splitCost = 8

// A measurer adds up one command.
type measurer struct {
	env    expand.Environ
	params []string
	own    map[string]int // sizes of variables that the command itself has set
	steps  int            // of matching
	err    string
}

// check ends the run if the command of e could expand to too much.
func (run *run) check(e estimate, env expand.Environ, params []string) error {
	m := &measurer{env: env, params: params, own: map[string]int{}}
	total := 0
	for _, r := range e.redirs {
		total = add(total, m.word(r.Word), m.word(r.Hdoc))
	}
	total = add(total, m.command(e.cmd))
	switch {
	case m.err != "":
		return run.m.stop("%s", m.err)
	case total > maxLine:
		return run.m.stop("a command would expand to more than %d MiB", maxLine>>20)
	case m.steps > maxMatch:
		return run.m.stop("a command would match patterns for too long")
	}
	return run.m.charge(total + 4*m.steps)
}

// huge is larger than every limit, and small enough to be added up.
const huge = 1 << 40

func add(values ...int) int {
	sum := 0
	for _, v := range values {
		sum = min(sum+v, huge)
	}
	return sum
}

func mul(a, b int) int {
	if a > 0 && b > huge/a {
		return huge
	}
	return a * b
}

func (m *measurer) command(c syntax.Command) int {
	total := 0
	switch c := c.(type) {
	case *syntax.CallExpr:
		for _, w := range c.Args {
			total = add(total, m.fields(w))
		}
		total = add(total, m.assigns(c.Assigns))
	case *syntax.DeclClause:
		total = m.assigns(c.Args)
	case *syntax.ForClause:
		if iter, ok := c.Loop.(*syntax.WordIter); ok {
			for _, w := range iter.Items {
				total = add(total, m.fields(w))
			}
		} else {
			total = m.all(c.Loop)
		}
	case *syntax.CaseClause:
		subject := m.word(c.Word)
		total = subject
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				size := m.word(p)
				m.match(subject, size)
				total = add(total, size)
			}
		}
	case *syntax.TestClause:
		total = m.test(c.X)
	case *syntax.ArithmCmd, *syntax.LetClause:
		total = m.all(c)
	}
	return total
}

// match counts the steps of matching a text with a pattern. Nothing can interrupt them.
func (m *measurer) match(text, pattern int) { m.steps = add(m.steps, mul(text, mul(pattern, 2))) }

func (m *measurer) test(x syntax.TestExpr) int {
	switch x := x.(type) {
	case *syntax.Word:
		return m.word(x)
	case *syntax.ParenTest:
		return m.test(x.X)
	case *syntax.UnaryTest:
		return m.test(x.X)
	case *syntax.BinaryTest:
		a, b := m.test(x.X), m.test(x.Y)
		switch x.Op {
		case syntax.TsReMatch: // x{1000} is a thousand states
			m.match(a, mul(b, 16))
			return add(a, b, mul(b, 1000))
		case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch:
			m.match(a, b)
		}
		return add(a, b)
	}
	return 0
}

// assigns adds up assignments, each of which sees those before it.
func (m *measurer) assigns(list []*syntax.Assign) int {
	total := 0
	for _, as := range list {
		if as.Name == nil {
			total = add(total, m.fields(as.Value))
			continue
		}
		size := m.word(as.Value)
		if as.Array != nil {
			for _, elem := range as.Array.Elems {
				size = add(size, m.fields(elem.Value), 32)
				total = add(total, m.arithmetic(elem.Index))
			}
		}
		total = add(total, m.arithmetic(as.Index))
		name, old := m.variable(as.Name.Value)
		if as.Append || as.Index != nil { // an array is copied for each value that is set
			size = add(size, old, 32)
		}
		if size > maxValue && (as.Append || as.Value != nil) {
			m.err = "a variable would be larger than 1 MiB"
		}
		m.own[name] = size
		total = add(total, size)
	}
	return total
}

// variable returns the size of a variable, and the name of the one that it stands for.
func (m *measurer) variable(name string) (string, int) {
	v := m.env.Get(name)
	if n, to := v.Resolve(m.env); n != "" {
		name, v = n, to
	}
	if size, ok := m.own[name]; ok {
		return name, size
	}
	size := len(v.Str) + sizeOf(v.List)
	for k, s := range v.Map {
		size += len(k) + len(s) + 32
	}
	return name, size
}

// all adds up every word in an expression.
func (m *measurer) all(n syntax.Node) int {
	total := 0
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			total = add(total, m.word(w))
			return false
		}
		return true
	})
	return total
}

func (m *measurer) arithmetic(x syntax.ArithmExpr) int {
	if x == nil {
		return 0
	}
	return m.all(x)
}

// word returns how long a word can become that stays one.
func (m *measurer) word(w *syntax.Word) int {
	if w == nil {
		return 0
	}
	return m.parts(w.Parts, false)
}

// fields returns what the fields take that a word becomes.
func (m *measurer) fields(w *syntax.Word) int {
	if w == nil {
		return 0
	}
	size := 0
	for _, part := range w.Parts {
		one := m.parts([]syntax.WordPart{part}, false)
		if _, ok := part.(*syntax.ParamExp); ok {
			one = mul(one, splitCost)
		}
		size = add(size, one)
	}
	split := *w
	if !syntax.SplitBraces(&split) {
		return size
	}
	count := braces(split.Parts)
	if count > 16<<10 {
		m.err = "brace expansion would make more than 16384 words"
	}
	if count > 1 { // what a substitution yields is not known, and is repeated
		size = add(size, m.parts(w.Parts, true))
	}
	return mul(count, add(size, 64))
}

// maxBraces is a little more than what the interpreter makes of one word.
const maxBraces = 20_000

// braces returns how many words brace expansion makes.
func braces(parts []syntax.WordPart) int {
	count := 1
	for _, part := range parts {
		b, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		n := 0
		if b.Sequence {
			n = maxBraces
			from, err1 := strconv.Atoi(b.Elems[0].Lit())
			to, err2 := strconv.Atoi(b.Elems[1].Lit())
			if err1 == nil && err2 == nil && max(from, -from, to, -to) < maxBraces && max(from, to) < maxBraces {
				n = max(from-to, to-from) + 1
			} else if err1 != nil || err2 != nil {
				n = 256 // letters
			}
		} else {
			for _, e := range b.Elems {
				n = add(n, braces(e.Parts))
			}
		}
		count = min(mul(count, n), maxBraces)
	}
	return count
}

// parts adds up the parts of a word. multiplied means that what a command substitution
// yields is counted with its largest size; else it was counted when it was written.
func (m *measurer) parts(parts []syntax.WordPart, multiplied bool) int {
	total := 0
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			total = add(total, len(part.Value))
		case *syntax.SglQuoted:
			total = add(total, len(part.Value))
		case *syntax.DblQuoted:
			total = add(total, m.parts(part.Parts, multiplied))
		case *syntax.ParamExp:
			total = add(total, m.param(part))
		case *syntax.ArithmExp:
			total = add(total, 20, m.arithmetic(part.X))
		case *syntax.CmdSubst:
			if multiplied {
				total = add(total, maxValue)
			}
		}
	}
	return total
}

// whole is the size of a word that something else multiplies.
func (m *measurer) whole(w *syntax.Word) int {
	if w == nil {
		return 0
	}
	return m.parts(w.Parts, true)
}

func (m *measurer) param(n *syntax.ParamExp) int {
	name, size := n.Param.Value, 64
	switch {
	case name == "@" || name == "*":
		size = add(size, sizeOf(m.params))
	case name[0] >= '0' && name[0] <= '9':
		if i, err := strconv.Atoi(name); err == nil && i > 0 && i <= len(m.params) {
			size = len(m.params[i-1])
		}
	default:
		name, size = m.variable(name)
	}
	extra := m.arithmetic(n.Index)
	if n.Excl && m.env.Get(n.Param.Value).Kind == expand.Associative {
		m.err = "${!" + n.Param.Value + "[@]} is not available: the keys of an associative array have no order"
	}
	if n.Slice != nil {
		extra = add(extra, m.arithmetic(n.Slice.Offset), m.arithmetic(n.Slice.Length), mul(size, 4))
	}
	if n.Repl != nil {
		pattern, with := m.whole(n.Repl.Orig), m.whole(n.Repl.With)
		times := 1
		if n.Repl.All {
			times = size + 1
		}
		m.match(size, pattern)
		return add(size, pattern, mul(times, with), mul(pattern, 64), extra)
	}
	if n.Exp == nil {
		return add(size, extra)
	}
	arg := m.whole(n.Exp.Word)
	switch n.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		m.own[name] = max(size, arg)
		if arg > maxValue {
			m.err = "a variable would be larger than 1 MiB"
		}
		return add(size, arg, extra)
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		m.match(size, arg)
		return add(size, mul(arg, 64), extra)
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		m.match(size, arg)
		return add(mul(size, 16), mul(arg, 64), extra)
	case syntax.OtherParamOps:
		return add(mul(size, 8), extra)
	}
	return add(size, arg, extra)
}
