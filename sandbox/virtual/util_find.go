package virtual

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// A found is a file or folder that find looks at.
type found struct {
	name  string // as it is printed
	n     *node
	depth int
}

// A finder is one call of find.
type finder struct {
	*command
	rest     []string
	min, max int
	acts     bool // -print, -exec or -delete is given
	status   int
	batches  []*batch
}

// A batch collects names for "-exec … +".
type batch struct {
	args  []string
	names []string
}

type test func(f found) bool

func find(c *command) int {
	f := &finder{command: c, max: 1 << 30}
	var roots []string
	for len(c.args) > 0 && c.args[0] != "" && c.args[0][0] != '-' && c.args[0] != "(" && c.args[0] != "!" {
		roots, c.args = append(roots, c.args[0]), c.args[1:]
	}
	if roots == nil {
		roots = []string{"."}
	}
	f.rest = c.args
	keep, err := f.or(0)
	if err == nil && len(f.rest) > 0 {
		err = fmt.Errorf("unknown argument %q", f.rest[0])
	}
	if err != nil {
		return c.usage(err)
	}
	for _, root := range roots {
		n, err := c.node(root)
		if err != nil {
			f.status = c.failed(root, err)
			continue
		}
		f.walk(found{root, n, 0}, func(at found) {
			if keep(at) && !f.acts {
				fmt.Fprintln(c.out, at.name)
			}
		})
	}
	for _, b := range f.batches {
		if len(b.names) > 0 && c.sub(append(b.args, b.names...)) != 0 {
			f.status = 1
		}
	}
	return f.status
}

// walk visits a tree: a folder before what is in it, but with -delete after.
func (f *finder) walk(at found, visit func(found)) {
	if f.run.m.Err() != nil || f.run.m.charge(64+len(at.name)) != nil {
		return
	}
	inside := func() {
		if at.depth < f.max {
			for _, e := range at.n.list() {
				f.walk(found{strings.TrimSuffix(at.name, "/") + "/" + e.name, e.n, at.depth + 1}, visit)
			}
		}
	}
	deletes := strings.Contains(" "+strings.Join(f.args, " ")+" ", " -delete ")
	if deletes {
		inside()
	}
	if at.depth >= f.min {
		visit(at)
	}
	if !deletes {
		inside()
	}
}

func (f *finder) take() string {
	a := f.rest[0]
	f.rest = f.rest[1:]
	return a
}

// or, and and one parse expressions.
func (f *finder) or(depth int) (test, error) {
	a, err := f.and(depth)
	for err == nil && len(f.rest) > 0 && (f.rest[0] == "-o" || f.rest[0] == "-or") {
		f.take()
		left := a
		var b test
		b, err = f.and(depth)
		a = func(x found) bool { return left(x) || b(x) }
	}
	return a, err
}

func (f *finder) and(depth int) (test, error) {
	all := []test{}
	for len(f.rest) > 0 && f.rest[0] != "-o" && f.rest[0] != "-or" && f.rest[0] != ")" {
		if f.rest[0] == "-a" || f.rest[0] == "-and" {
			f.take()
			continue
		}
		t, err := f.one(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return func(x found) bool {
		for _, t := range all {
			if !t(x) {
				return false
			}
		}
		return true
	}, nil
}

func (f *finder) one(depth int) (test, error) {
	if depth > 100 {
		return nil, errors.New("the expression is nested too deeply")
	}
	if len(f.rest) == 0 {
		return nil, errors.New("a test is missing at the end")
	}
	switch word := f.take(); word {
	case "!", "-not":
		t, err := f.one(depth + 1)
		return func(x found) bool { return !t(x) }, err
	case "(":
		t, err := f.or(depth + 1)
		if err == nil && (len(f.rest) == 0 || f.take() != ")") {
			err = errors.New("a ) is missing")
		}
		return t, err
	case "-print", "-print0":
		f.acts = true
		end := "\n"
		if word == "-print0" {
			end = "\x00"
		}
		return func(x found) bool { io.WriteString(f.out, x.name+end); return true }, nil
	case "-empty":
		return func(x found) bool { return len(x.n.data) == 0 && len(x.n.entries) == 0 }, nil
	case "-delete":
		f.acts = true
		return f.remove, nil
	case "-exec":
		f.acts = true
		return f.execute()
	default:
		if len(f.rest) == 0 && strings.HasPrefix(word, "-") {
			return nil, fmt.Errorf("unknown test %q, or its value is missing", word)
		}
		return f.valued(word)
	}
}

// valued parses the tests that have a value.
func (f *finder) valued(word string) (test, error) {
	switch word {
	case "-name", "-iname", "-path":
		pattern := f.take()
		if _, err := path.Match(pattern, ""); err != nil || len(pattern) > maxPattern {
			return nil, fmt.Errorf("the pattern %q cannot be used", pattern)
		}
		return func(x found) bool {
			name := path.Base(x.name)
			switch word {
			case "-iname":
				name, pattern = strings.ToLower(name), strings.ToLower(pattern)
			case "-path": // here * matches a slash as well
				return globPath(pattern, x.name)
			}
			ok, _ := path.Match(pattern, name)
			return ok
		}, nil
	case "-type":
		switch kind := f.take(); kind {
		case "f", "d":
			return func(x found) bool { return x.n.isDir() == (kind == "d") }, nil
		default:
			return nil, fmt.Errorf("unknown type %q; there are f and d", kind)
		}
	case "-maxdepth", "-mindepth":
		n, err := strconv.Atoi(f.take())
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s needs a number", word)
		}
		if word == "-maxdepth" {
			f.max = n
		} else {
			f.min = n
		}
		return func(found) bool { return true }, nil
	case "-newer":
		n, err := f.node(f.take())
		if err != nil {
			return nil, err
		}
		return func(x found) bool { return x.n.changed > n.changed }, nil
	}
	return nil, fmt.Errorf("unknown test %q; there are -name, -iname, -path, -type, -empty, -newer, -maxdepth, -mindepth, -print, -print0, -exec and -delete", word)
}

// globPath matches a whole path; a star matches slashes too.
func globPath(pattern, name string) bool {
	hide := strings.NewReplacer("/", "\x01")
	ok, _ := path.Match(hide.Replace(pattern), hide.Replace(name))
	return ok
}

func (f *finder) remove(x found) bool {
	err := errors.New("is the working folder")
	if full := f.abs(x.name); full != f.hc.Dir && len(x.n.entries) == 0 && !strings.HasPrefix(f.run.s.skillDir(""), full) {
		err = f.run.t.remove(full)
	} else if len(x.n.entries) > 0 {
		err = errors.New("is not empty")
	}
	if err != nil && x.name != "." {
		f.status = f.failed(x.name, err)
	}
	return err == nil
}

// execute parses -exec command {} \; or +.
func (f *finder) execute() (test, error) {
	var args []string
	for len(f.rest) > 0 {
		switch a := f.take(); {
		case a == ";":
			if len(args) == 0 {
				return nil, errors.New("-exec needs a command")
			}
			return func(x found) bool {
				ready := make([]string, len(args))
				for i, a := range args {
					ready[i] = strings.ReplaceAll(a, "{}", x.name)
				}
				return f.sub(ready) == 0
			}, nil
		case a == "+" && len(args) > 1 && args[len(args)-1] == "{}":
			b := &batch{args: args[: len(args)-1 : len(args)-1]}
			f.batches = append(f.batches, b)
			return func(x found) bool { b.names = append(b.names, x.name); return true }, nil
		default:
			args = append(args, a)
		}
	}
	return nil, errors.New("-exec does not end with ; or +")
}

// sub runs a command for find and xargs.
func (c *command) sub(args []string) int {
	size := sizeOf(args)
	switch {
	case c.run.m.Err() != nil || c.run.m.charge(size) != nil:
		return 2
	case size > maxArgs:
		return c.errorf("the arguments of %s are longer than %d KiB", args[0], maxArgs>>10)
	case tooDeep():
		_ = c.run.m.stop("commands start each other too deeply")
		return 2
	}
	return c.run.start(c.ctx, c.hc, args, strings.NewReader(""))
}

func xargs(c *command) int {
	own := 0 // options end at the command
	for own < len(c.args) && strings.HasPrefix(c.args[own], "-") {
		if a := c.args[own]; len(a) == 2 && strings.Contains("nIdLP", a[1:]) {
			own++
		}
		own++
	}
	own = min(own, len(c.args))
	args := c.args[own:]
	c.args = c.args[:own]
	if err := c.parse("0rtn:I:d:L:P:"); err != nil {
		return c.usage(err)
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	data, err := c.read("-")
	if err != nil {
		return c.failed("standard input", err)
	}
	items, err := c.items(string(data))
	if err != nil {
		return c.usage(err)
	}
	if len(items) == 0 && (c.has('r') || c.has('I')) {
		return 0
	}
	most := 5000
	for _, letter := range "nL" {
		if v, ok := c.value(byte(letter)); ok {
			if most, err = strconv.Atoi(v); err != nil || most < 1 {
				return c.usage(fmt.Errorf("-%c needs a number from 1 on", letter))
			}
		}
	}
	status := 0
	place, each := c.value('I')
	for first := true; first || len(items) > 0; first = false {
		n := min(most, len(items))
		ready := append(args[:len(args):len(args)], items[:n]...)
		if each {
			n = 1
			ready = nil
			for _, a := range args {
				ready = append(ready, strings.ReplaceAll(a, place, items[0]))
			}
		}
		items = items[n:]
		switch code := c.sub(ready); {
		case c.run.m.why.Load() != nil:
			return 1
		case code >= 126:
			return code
		case code != 0:
			status = 123
		}
	}
	return status
}

// items splits the input of xargs.
func (c *command) items(text string) ([]string, error) {
	sep, isSep := c.value('d')
	switch {
	case c.has('0'):
		sep = "\x00"
	case isSep && sep == `\n` || c.has('I') && !isSep:
		sep = "\n"
	case !isSep:
		return splitQuoted(text)
	}
	if sep == "" {
		return nil, errors.New("the delimiter is empty")
	}
	text = strings.TrimSuffix(text, sep)
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, sep), nil
}

// splitQuoted splits at white space; quotes and backslashes protect it.
func splitQuoted(text string) ([]string, error) {
	var items []string
	var b strings.Builder
	in, quote := false, rune(0)
	for i, r := range text {
		switch {
		case quote == '\\':
			b.WriteRune(r)
			quote = 0
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"' || r == '\\':
			in, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if in {
				items = append(items, b.String())
				b.Reset()
			}
			in = false
		default:
			in = true
			b.WriteString(text[i : i+len(string(r))])
		}
	}
	if quote != 0 && quote != '\\' {
		return nil, errors.New("a quote in the input does not end; -0 or -d reads it as it is")
	}
	if in {
		items = append(items, b.String())
	}
	return items, nil
}
