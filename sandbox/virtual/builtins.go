package virtual

import (
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// sourced begins the name by which the shell opens a file that "source" runs. Because of
// the zero byte, the interpreter's own search on the system fails before it begins.
const sourced = "\x00/"

// isShellWord reports whether the shell itself runs a command.
func isShellWord(name string) bool { return interp.IsBuiltin(name) }

// fail is a command that prints a message and fails.
func fail(code int, format string, args ...any) []string {
	return []string{internal, "fail", strconv.Itoa(code), fmt.Sprintf(format, args...)}
}

// call sees each simple command before the shell runs it, and may replace it.
func (run *run) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	size := sizeOf(args)
	if err := run.m.charge(size + 64); err != nil {
		return nil, err
	}
	if size > maxArgs && args[0] != internal {
		return nil, run.m.stop("the arguments of %s are longer than %d KiB", path.Base(args[0][:min(len(args[0]), 60)]), maxArgs>>10)
	}
	if err := capture(run.m, hc.Stdout, size); err != nil {
		return nil, err
	}
	return run.builtin(hc, args)
}

// sizeOf returns about how many bytes of memory texts take.
func sizeOf(texts []string) int {
	size := 0
	for _, t := range texts {
		size += len(t) + 16
	}
	return size
}

// builtin replaces commands of the shell that ask the system, that read standard input
// without a bound, or that run text that was not prepared.
func (run *run) builtin(hc interp.HandlerContext, args []string) ([]string, error) {
	name := args[0]
	if !isShellWord(name) {
		return args, nil
	}
	switch name {
	case "command", "builtin":
		return run.plain(hc, args)
	case "type":
		return append([]string{internal, "type"}, args[1:]...), nil
	case "shift":
		return shift(args), nil
	case "break", "continue":
		return leave(args), nil
	case "eval":
		return run.eval(strings.Join(args[1:], " "), "eval")
	case "source", ".":
		return run.source(hc, args)
	case "trap":
		return run.trap(args)
	case "set":
		return run.set(args), nil
	case "read":
		return run.read(hc, args[1:])
	case "mapfile", "readarray":
		return run.mapfile(hc, args)
	case "wait", "umask": // jobs have ended already; there are no other users
		return []string{"true"}, nil
	case "pwd":
		return []string{"pwd"}, nil // there are no links: -L and -P are the same
	case "cd":
		return run.cd(hc, args), nil
	case "exec":
		if len(args) == 1 {
			if run.open++; run.open > maxOpen {
				return nil, run.m.stop("more than %d files are open", maxOpen)
			}
		}
	case "unset":
		for _, a := range args[1:] {
			if a == "" || len(a) > maxName {
				return fail(2, "unset: this is not a name: %.60q", a), nil
			}
		}
	case "test", "[":
		return testArgs(args), nil
	case "printf":
		return append([]string{internal, "printf"}, args[1:]...), nil
	case "shopt":
		for _, a := range args[1:] {
			if a == "expand_aliases" || a == "extglob" {
				return fail(1, "shopt: %s is not available", a), nil
			}
		}
	case "pushd":
		return args, run.m.charge(maxPath) // the stack of folders grows
	case ":", "true", "false", "exit", "echo", "hash", "return", "getopts", "popd", "dirs", "local", "export", "readonly", "declare", "typeset", "let":
	default: // alias, kill, ulimit and others
		return fail(2, "%s: not available: there are no processes, users and terminals", name), nil
	}
	return args, nil
}

// plain runs "command name" and "builtin name", which must not get around builtin.
func (run *run) plain(hc interp.HandlerContext, args []string) ([]string, error) {
	for len(args) > 1 && (args[0] == "command" || args[0] == "builtin") {
		switch args[1] {
		case "-v", "-V":
			return append([]string{internal, "which"}, args[2:]...), nil
		case "-p", "--":
			args = append([]string{args[0]}, args[2:]...)
			continue
		}
		args = args[1:]
	}
	switch {
	case args[0] == "command" || args[0] == "builtin":
		return []string{"true"}, nil
	case isShellWord(args[0]):
		return run.builtin(hc, args)
	}
	return append([]string{internal, "run"}, args...), nil // a function of this name is not meant
}

func (run *run) eval(text, what string) ([]string, error) {
	ready, err := run.rewrite(text, what)
	if err != nil {
		return run.failed(err)
	}
	return []string{"eval", ready}, nil
}

// failed reports a program that cannot run.
func (run *run) failed(err error) ([]string, error) {
	if why := run.m.why.Load(); why != nil {
		return nil, why
	}
	return fail(2, "%v", err), nil
}

func (run *run) source(hc interp.HandlerContext, args []string) ([]string, error) {
	if len(args) < 2 {
		return fail(2, "%s: a file is missing", args[0]), nil
	}
	name := absolute(hc.Dir, args[1])
	n, _, err := run.t.lookup("open", name)
	if err != nil || n.isDir() {
		return fail(1, "%s: %s: No such file", args[0], args[1]), nil
	}
	text, err := run.rewrite(string(n.data), args[1])
	if err != nil {
		return run.failed(err)
	}
	run.texts[name[1:]] = text
	return append([]string{"source", sourced + name[1:]}, args[2:]...), nil
}

// shift fails where there are fewer arguments, as in bash: the interpreter panics or takes
// all. The sign marks what has been checked.
func shift(args []string) []string {
	if len(args) == 1 {
		args = []string{"shift", "1"}
	}
	if len(args) > 2 || strings.HasPrefix(args[1], "+") {
		return args
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 {
		return fail(1, "shift: %.60s: no number of arguments", args[1])
	}
	return []string{"eval", fmt.Sprintf("test %d -le $# && shift +%d", n, n)}
}

// leave leaves all loops if break or continue gets no number of loops, as in bash: the
// interpreter stays in the loop, which may never end.
func leave(args []string) []string {
	if len(args) == 1 {
		return args
	}
	if n, err := strconv.Atoi(args[1]); err == nil && n > 0 && len(args) == 2 {
		return args
	}
	return []string{"eval", fmt.Sprintf("%s fail 1 %s || break %d", internal, quote(args[0]+": no number of loops: "+strings.Join(args[1:], " ")), math.MaxInt32)}
}

// trap keeps EXIT and ERR; there are no signals.
func (run *run) trap(args []string) ([]string, error) {
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return []string{"true"}, nil
	}
	text := rest[0]
	if text != "-" {
		ready, err := run.rewrite(text, "trap")
		if err != nil {
			return run.failed(err)
		}
		text = ready
	}
	out := []string{"trap", "--", text}
	for _, signal := range rest[1:] {
		switch signal {
		case "0", "EXIT", "ERR":
			out = append(out, strings.Replace(signal, "0", "EXIT", 1))
		}
	}
	if len(out) == 3 {
		return []string{"true"}, nil
	}
	return out, nil
}

// set takes out what prints each command, and notes pipefail.
func (run *run) set(args []string) []string {
	out := []string{"set"}
	for i := 1; i < len(args); i++ {
		a := args[i]
		if len(a) < 2 || a == "--" || a[0] != '-' && a[0] != '+' {
			return append(out, args[i:]...)
		}
		on := a[0] == '-'
		kept := strings.Map(func(r rune) rune {
			if strings.ContainsRune("xvbhm", r) {
				return -1
			}
			return r
		}, a)
		if strings.HasSuffix(a, "o") && i+1 < len(args) {
			i++
			switch args[i] {
			case "pipefail":
				run.pipefail = on
			case "xtrace", "verbose", "posix", "monitor":
				kept = strings.TrimSuffix(kept, "o")
			}
			if strings.HasSuffix(kept, "o") {
				out = append(out, kept, args[i])
				continue
			}
		}
		if len(kept) > 1 {
			out = append(out, kept)
		}
	}
	if len(out) == 1 {
		return []string{"true"}
	}
	return out
}

func (run *run) cd(hc interp.HandlerContext, args []string) []string {
	rest := args[1:]
	for len(rest) > 0 && (rest[0] == "-P" || rest[0] == "-L" || rest[0] == "--") {
		rest = rest[1:]
	}
	if len(rest) > 0 && len(rest[0]) > maxPath {
		return fail(1, "cd: the name is too long")
	}
	return append([]string{"cd"}, rest...)
}

// testArgs refuses tests of users and terminals, for which the interpreter asks the system,
// and brackets so deep that its parser would fill the stack.
func testArgs(args []string) []string {
	if len(args) > 500 {
		return fail(2, "%s: too many arguments", args[0])
	}
	for i, a := range args[1:] {
		switch a {
		case "-t":
			if i+2 < len(args) && (len(args) == 3 || len(args) == 4 && args[3] == "]") {
				return []string{"false"} // nothing is a terminal
			}
			return fail(2, "%s: -t stands alone: nothing is a terminal", args[0])
		case "-O", "-G", "-R":
			return fail(2, "%s: %s is not available: files have no owner", args[0], a)
		case "-v":
			if i+2 < len(args) && args[i+2] == "" {
				return fail(2, "%s: -v needs a name", args[0])
			}
		}
	}
	return args
}

// readLine reads up to and with a delimiter, byte by byte, so that nothing else is taken.
func (run *run) readLine(in io.Reader, delim byte, most int) (line []byte, ended bool, err error) {
	var b [1]byte
	for {
		n, err := in.Read(b[:])
		if n == 1 {
			line = append(line, b[0])
			if b[0] == delim {
				return line, true, nil
			}
			if len(line) > most {
				return nil, false, run.m.stop("a line is longer than %d KiB", most>>10)
			}
		}
		if err != nil {
			return line, false, run.m.Context.Err()
		}
	}
}

// read is the command read: it becomes assignments.
func (run *run) read(hc interp.HandlerContext, args []string) ([]string, error) {
	c := &command{name: "read", args: args}
	if err := c.parse("rsep:a:d:n:t:u:i:"); err != nil || c.has('n') || c.has('t') || c.has('u') {
		return fail(2, "read: only -r, -s, -p, -a and -d are available"), nil
	}
	delim := byte('\n')
	if d, ok := c.value('d'); ok {
		delim = append([]byte(d), 0)[0]
	}
	raw := c.has('r')
	in := run.stdin(hc.Stdin)
	line, ended, err := run.readLine(in, delim, maxArgs)
	for err == nil && ended && !raw && delim == '\n' && oddBackslashes(line[:len(line)-1]) {
		var more []byte
		more, ended, err = run.readLine(in, delim, maxArgs)
		line = append(line[:len(line)-2], more...)
	}
	if err != nil {
		return nil, err
	}
	if ended {
		line = line[:len(line)-1]
	}
	text := strings.ReplaceAll(string(line), "\x00", "")
	var b strings.Builder
	cfg := &expand.Config{Env: hc.Env}
	array, isArray := c.value('a')
	switch names := c.args; {
	case isArray:
		if !syntax.ValidName(array) {
			return fail(2, "read: this is not a name: %.60q", array), nil
		}
		assignArray(&b, array, expand.ReadFields(cfg, text, -1, raw))
	case len(names) == 0:
		if !raw {
			text = strings.Join(expand.ReadFields(&expand.Config{Env: expand.ListEnviron("IFS=")}, text, 1, false), "")
		}
		assign(&b, "REPLY", text)
	default:
		values := expand.ReadFields(cfg, text, len(names), raw)
		for i, name := range names {
			if !syntax.ValidName(name) {
				return fail(2, "read: this is not a name: %.60q", name), nil
			}
			assign(&b, name, append(values, make([]string, len(names))...)[i])
		}
	}
	if !ended {
		b.WriteString("false\n")
	}
	return []string{"eval", b.String()}, run.m.charge(8 * b.Len())
}

func oddBackslashes(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func assign(b *strings.Builder, name, value string) {
	fmt.Fprintf(b, "%s=%s\n", name, quote(value))
}

func assignArray(b *strings.Builder, name string, values []string) {
	b.WriteString(name + "=(")
	for _, v := range values {
		b.WriteString(quote(v) + " ")
	}
	b.WriteString(")\n")
}

// mapfile is the command mapfile: it becomes an assignment.
func (run *run) mapfile(hc interp.HandlerContext, args []string) ([]string, error) {
	c := &command{name: args[0], args: args[1:]}
	if err := c.parse("td:"); err != nil || len(c.args) > 1 {
		return fail(2, "%s: only -t, -d and one name are available", args[0]), nil
	}
	name := "MAPFILE"
	if len(c.args) == 1 {
		name = c.args[0]
	}
	if !syntax.ValidName(name) {
		return fail(2, "%s: this is not a name: %.60q", args[0], name), nil
	}
	delim := "\n"
	if d, ok := c.value('d'); ok {
		delim = (d + "\x00")[:1]
	}
	data, err := io.ReadAll(io.LimitReader(run.stdin(hc.Stdin), maxValue+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxValue {
		return nil, run.m.stop("%s reads more than 1 MiB", args[0])
	}
	lines := parts(data, delim)
	for i := range lines {
		if c.has('t') {
			lines[i] = strings.TrimSuffix(lines[i], delim)
		}
		lines[i] = strings.ReplaceAll(lines[i], "\x00", "")
	}
	var b strings.Builder
	assignArray(&b, name, lines)
	return []string{"eval", b.String()}, run.m.charge(8*b.Len() + 256*len(lines))
}
