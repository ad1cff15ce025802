package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/interp"
)

// A utility is a command beside those of the shell.
type utility struct {
	options string // see command.parse
	do      func(*command) int
}

// parsesItself stands for the options of a utility that does not want them parsed.
const parsesItself = "-"

// utilities are the commands beside those of the shell, by name. Each returns its exit status.
func utilities() map[string]utility {
	return map[string]utility{
		"basename": {"as:", basename},
		"cat":      {"nu", cat},
		"cp":       {"rRapfnv", cp},
		"cut":      {"d:f:c:b:s", cut},
		"dirname":  {"", dirname},
		"find":     {parsesItself, find},
		"grep":     {parsesItself, grep},
		"head":     {parsesItself, head},
		"ls":       {"1aAldFRhpCrtS", ls},
		"mkdir":    {"pvm:", mkdir},
		"mktemp":   {"dqutp:", mktemp},
		"mv":       {"fnv", mv},
		"rm":       {"rRfvd", rm},
		"sed":      {parsesItself, sed},
		"sort":     {"nrufbsco:k:t:", sortLines},
		"tail":     {parsesItself, tail},
		"tee":      {"ai", tee},
		"touch":    {"camt:d:r:", touch},
		"tr":       {"dsccC", tr},
		"uniq":     {"cdui", uniq},
		"wc":       {"lwcm", wc},
		"xargs":    {parsesItself, xargs},
	}
}

// A command is one call of a utility.
type command struct {
	name  string
	args  []string // after parse, the operands
	flags []option

	run      *run
	ctx      context.Context // of the interpreter, for its own commands
	hc       interp.HandlerContext
	in       io.Reader
	out, err io.Writer
}

type option struct {
	letter byte
	value  string
}

// parse takes the options from the arguments. spec has the letters of the options; a colon
// after a letter means that it has a value. Options may come after operands.
func (c *command) parse(spec string) error {
	var operands []string
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a == "--":
			operands = append(operands, c.args[i+1:]...)
			i = len(c.args)
			continue
		case len(a) < 2 || a[0] != '-':
			operands = append(operands, a)
			continue
		case a[1] == '-':
			return fmt.Errorf("unknown option %s; options here are -%s", a, strings.ReplaceAll(spec, ":", ""))
		}
		for j := 1; j < len(a); j++ {
			at := strings.IndexByte(spec, a[j])
			if at < 0 || a[j] == ':' {
				return fmt.Errorf("unknown option -%c; options here are -%s", a[j], strings.ReplaceAll(spec, ":", ""))
			}
			if at+1 == len(spec) || spec[at+1] != ':' {
				c.flags = append(c.flags, option{a[j], ""})
				continue
			}
			value := a[j+1:]
			if value == "" {
				if i++; i >= len(c.args) {
					return fmt.Errorf("option -%c needs a value", a[j])
				}
				value = c.args[i]
			}
			c.flags = append(c.flags, option{a[j], value})
			break
		}
	}
	c.args = operands
	return nil
}

func (c *command) has(letter byte) bool {
	_, ok := c.value(letter)
	return ok
}

// value returns the last value of an option.
func (c *command) value(letter byte) (string, bool) {
	for _, f := range slices.Backward(c.flags) {
		if f.letter == letter {
			return f.value, true
		}
	}
	return "", false
}

// errorf prints an error and returns the status 1.
func (c *command) errorf(format string, args ...any) int {
	fmt.Fprintf(c.err, c.name+": "+format+"\n", args...)
	return 1
}

// usage prints an error in the arguments and returns the status 2.
func (c *command) usage(err error) int {
	c.errorf("%v", err)
	return 2
}

// failed prints why something could not be done to a file.
func (c *command) failed(name string, err error) int {
	return c.errorf("%s: %s", name, reason(err))
}

// reason is the part of an error that names no path.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

func (c *command) abs(name string) string { return absolute(c.hc.Dir, name) }

// node returns a file or folder.
func (c *command) node(name string) (*node, error) {
	if name == "" {
		return nil, pathError("open", name, syscall.ENOENT)
	}
	n, _, err := c.run.t.lookup("open", c.abs(name))
	if err == nil && strings.HasSuffix(name, "/") && !n.isDir() {
		err = pathError("open", name, syscall.ENOTDIR)
	}
	return n, err
}

// read returns the content of a file; "-" is standard input.
func (c *command) read(name string) ([]byte, error) {
	switch {
	case name == "-" || name == "/dev/stdin":
		return io.ReadAll(c.in)
	case name == nullPath:
		return nil, nil
	}
	n, err := c.node(name)
	switch {
	case err != nil:
		return nil, err
	case n.isDir():
		return nil, pathError("read", name, syscall.EISDIR)
	}
	return n.data, c.run.m.charge(len(n.data))
}

// inputs calls f with the content of each operand, or of standard input if there is none. It
// returns 1 if one could not be read.
func (c *command) inputs(f func(name string, data []byte)) int {
	names, status := c.args, 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		data, err := c.read(name)
		if c.run.m.why.Load() != nil {
			return 1
		}
		if err != nil {
			status = c.failed(name, err)
			continue
		}
		f(name, data)
	}
	return status
}

// each calls f with each operand. It prints why f failed and, with -v, what f did. It returns 1
// if f failed for one.
func (c *command) each(f func(name string) (done string, err error)) int {
	status := 0
	for _, name := range c.args {
		done, err := f(name)
		if err != nil {
			status = c.failed(name, err)
		} else if c.has('v') && done != "" {
			fmt.Fprintln(c.out, done)
		}
	}
	return status
}

// lines splits a text into lines without their ends.
func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// exec runs a command that is not the shell's own.
func (run *run) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	code := 0
	if args[0] == internal {
		code = run.internal(ctx, hc, args[1:])
	} else {
		code = run.start(ctx, hc, args, run.stdin(hc.Stdin))
	}
	if why := run.m.why.Load(); why != nil {
		return why
	}
	if code != 0 {
		return interp.ExitStatus(code)
	}
	return nil
}

// start runs a utility, a script or, for exec, xargs and find, a command of the shell.
func (run *run) start(ctx context.Context, hc interp.HandlerContext, args []string, in io.Reader) int {
	name := args[0]
	c := &command{name: path.Base(name), args: args[1:], run: run, ctx: ctx, hc: hc, in: in, out: sink{run.m, hc.Stdout}, err: sink{run.m, hc.Stderr}}
	if dir, base := path.Split(name); dir == "/bin/" || dir == "/usr/bin/" {
		name = base
	}
	u, known := run.utilities[name]
	switch {
	case run.m.Err() != nil:
		return 1
	case known:
		if u.options != parsesItself {
			if err := c.parse(u.options); err != nil {
				return c.usage(err)
			}
		}
		return u.do(c)
	case isSh(name):
		return run.sh(c)
	case strings.Contains(name, "/"):
		return run.script(c, name, nil, false)
	}
	args = append([]string{name}, args[1:]...)
	switch name {
	case "echo", "printf", "test", "[", "true", "false", ":":
		ready, err := run.call(ctx, args)
		if err != nil {
			return 1
		}
		if ready[0] == internal {
			return run.internal(ctx, hc, ready[1:])
		}
		var code interp.ExitStatus
		if err := hc.Builtin(ctx, ready); err != nil && !errors.As(err, &code) {
			return 1
		}
		return int(code)
	}
	fmt.Fprintf(c.err, "sh: %s: command not found; the virtual executor has %s, sh and bash\n", name, strings.Join(slices.Sorted(maps.Keys(run.utilities)), " "))
	return 127
}

// internal runs what stands where a program was rewritten.
func (run *run) internal(ctx context.Context, hc interp.HandlerContext, args []string) int {
	switch {
	case len(args) > 0 && args[0] == "printf":
		return printf(&command{name: "printf", args: args[1:], run: run, out: sink{run.m, hc.Stdout}, err: sink{run.m, hc.Stderr}})
	case len(args) < 2:
		return 2
	}
	switch args[0] {
	case "guard":
		i, err := strconv.Atoi(args[1])
		if err != nil || i < 0 || i >= len(run.guards) || run.check(run.guards[i], hc.Env, args[2:]) != nil {
			return 2
		}
		return hc.LastExitStatus
	case "piped":
		run.statuses = append(run.statuses, status{args[1], hc.LastExitStatus})
	case "joined":
		return run.joined(args[1], hc.LastExitStatus)
	case "fail":
		code, _ := strconv.Atoi(args[1])
		fmt.Fprintln(sink{run.m, hc.Stderr}, strings.Join(args[2:], " "))
		return code
	case "run":
		return run.start(ctx, hc, args[1:], run.stdin(hc.Stdin))
	case "which", "type":
		return run.which(hc, args[0] == "type", args[1:])
	}
	return 0
}

// joined returns the status of a pipe whose second side ended with last.
func (run *run) joined(id string, last int) int {
	for i := len(run.statuses) - 1; i >= 0; i-- {
		s := run.statuses[i]
		run.statuses = run.statuses[:i] // those after it were left by sides that returned
		if s.id == id {
			if last == 0 && run.pipefail {
				return s.code
			}
			break
		}
	}
	return last
}

// which says what the names stand for, as "command -v" and "type".
func (run *run) which(hc interp.HandlerContext, long bool, names []string) int {
	out, status := sink{run.m, hc.Stdout}, 0
	short := long && len(names) > 0 && names[0] == "-t"
	if short {
		names = names[1:]
	}
	for _, name := range names {
		kind := ""
		switch n, _, err := run.t.lookup("open", absolute(hc.Dir, name)); {
		case run.functions[name]:
			kind = "a function"
		case isShellWord(name):
			kind = "a shell builtin"
		case run.utilities[name].do != nil || isSh(name):
			kind = "a utility"
		case strings.Contains(name, "/") && err == nil && !n.isDir() && n.mode&0o111 != 0:
			kind = "a script"
		}
		switch {
		case kind == "":
			status = 1
			if long && !short {
				fmt.Fprintf(sink{run.m, hc.Stderr}, "type: %s: not found\n", name)
			}
		case short: // function, builtin or file
			last := kind[strings.LastIndexByte(kind, ' ')+1:]
			fmt.Fprintln(out, strings.NewReplacer("utility", "file", "script", "file").Replace(last))
		case long:
			fmt.Fprintf(out, "%s is %s\n", name, kind)
		default:
			fmt.Fprintln(out, name)
		}
	}
	return status
}
