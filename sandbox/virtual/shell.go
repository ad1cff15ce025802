package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// A run is one call of Execute: a shell and all that it starts.
type run struct {
	s        *Sandbox
	t        *tree
	m        *meter
	out, err *sandbox.Output

	utilities map[string]utility
	guards    []estimate
	functions map[string]bool   // names of all functions that were parsed
	texts     map[string]string // what rewrite made of a text
	pipes     int               // numbers of pipes in the programs
	pipefail  bool
	buffers   []*buffer // what pipes hold, the innermost last
	statuses  []status  // of first sides of pipes, the innermost last
	open      int       // files that "exec" without a command keeps open
	temps     int       // temporary names that were given out

	// inputs are the standard inputs. The interpreter wants an *os.File, and would make a
	// pipe of the system for anything else. So it gets one that is nothing but a key.
	inputs map[*os.File]io.Reader

	// wrap lets a test put itself before the handlers; nil means none does.
	wrap func([]interp.RunnerOption) []interp.RunnerOption
}

type buffer struct {
	id   string
	data []byte
}

type status struct {
	id   string
	code int
}

func newRun(s *Sandbox, ctx context.Context, r sandbox.Request) *run {
	return &run{
		s: s, t: s.tree, m: newMeter(ctx, s.opts.Steps, s.opts.Work),
		out: sandbox.NewOutput(r.Limits.Output), err: sandbox.NewOutput(r.Limits.Output),
		utilities: utilities(), functions: map[string]bool{}, texts: map[string]string{}, inputs: map[*os.File]io.Reader{},
	}
}

// main runs the command of a request and returns its exit status. An error is an
// *sandbox.Error.
func (run *run) main(r sandbox.Request, dir string) (code int, err error) {
	defer func() {
		if v := recover(); v != nil { // the interpreter panics on some programs
			_ = run.m.stop("the shell cannot run this program: %s", tidy.Line(fmt.Sprint(v)))
			code, err = 2, nil
		}
	}()
	file, err := run.parse(r.Command, "sh", r.Args...)
	if err == nil && len(file.Stmts) == 0 {
		return 0, &sandbox.Error{Reason: sandbox.Blank, Fact: "sh: the command is blank", Hint: "name a script or a utility"}
	}
	if err != nil {
		if why := run.m.why.Load(); why != nil {
			return 2, nil
		}
		e := &sandbox.Error{Reason: sandbox.Syntax, Fact: err.Error(), Hint: "check the quotes and keywords of the command", Err: err}
		if known := (*refusal)(nil); errors.As(err, &known) {
			e.Hint = "write it in another way, or use an executor with processes"
		}
		return 0, e
	}
	env := run.environ(r)
	var in *os.File
	if r.Stdin != nil {
		in = run.input(patient{run.m, r.Stdin})
	}
	return run.shell(program{file: file, dir: dir, env: env, in: in, out: run.out, err: run.err, name: "sh"}), nil
}

// appendArgs appends arguments to a program that is one command.
func appendArgs(file *syntax.File, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var c *syntax.CallExpr
	if len(file.Stmts) == 1 {
		c, _ = file.Stmts[0].Cmd.(*syntax.CallExpr)
	}
	if c == nil || len(c.Args) == 0 {
		return errors.New("arguments can be appended to a single command only")
	}
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return errors.New("an argument holds a zero byte")
		}
		c.Args = append(c.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: arg}}})
	}
	return nil
}

// environ returns the environment of a request. Nothing of this process is in it.
func (run *run) environ(r sandbox.Request) map[string]string {
	env := map[string]string{
		"PATH": "/bin", "HOME": run.s.tempDir(), "TMPDIR": run.s.tempDir(), "LANG": "C.UTF-8", "TERM": "dumb",
		"UID": "1000", "EUID": "1000", "GID": "1000",
	}
	if r.Workspace.Dir != "" {
		env[sandbox.WorkspaceVar] = run.s.workspaceDir()
	}
	for name, value := range r.Env {
		if syntax.ValidName(name) && !strings.ContainsRune(value, 0) && len(value) <= maxValue {
			env[name] = value
		}
	}
	return env
}

// An environ is the environment that a shell begins with.
type environ map[string]string

func (e environ) Get(name string) expand.Variable {
	if user, ok := strings.CutPrefix(name, "HOME "); ok { // ~user stays as it is; else the interpreter asks the system
		return expand.Variable{Set: true, Kind: expand.String, Str: "~" + user}
	}
	value, ok := e[name]
	if !ok {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
}

func (e environ) Each(f func(name string, v expand.Variable) bool) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if !f(name, e.Get(name)) {
			return
		}
	}
}

// A program is what one shell runs.
type program struct {
	file     *syntax.File
	name     string
	dir      string
	env      map[string]string
	params   []string
	flags    []string // as of "set"
	in       *os.File // a key of run.inputs, or a pipe of the interpreter; nil means none
	out, err io.Writer
}

// noTemp is a TMPDIR that no path of a script can be in: the interpreter opens paths below it
// on the system if they look like its named pipes. With a zero byte, the system is not
// even asked.
const noTemp = "/\x00"

// shell runs a program in a new shell and returns its exit status.
func (run *run) shell(p program) int {
	p.file.Name = p.name
	flags := []string{"-e"}
	if run.s.opts.KeepGoing {
		flags = nil
	}
	var in io.Reader
	if p.in != nil {
		in = p.in
	}
	first := environ(maps.Clone(p.env))
	first["TMPDIR"] = noTemp
	options := []interp.RunnerOption{
		interp.Env(first),
		func(r *interp.Runner) error { r.Dir = p.dir; return nil }, // interp.Dir asks the system
		interp.Params(append(append(flags, p.flags...), "--")...),
		func(r *interp.Runner) error { r.Params = p.params; return nil },
		interp.StdIO(in, p.out, p.err),
	}
	r, err := interp.New(append(options, run.handlers()...)...)
	if err != nil {
		fmt.Fprintln(p.err, "sh:", err)
		return 2
	}
	r.Reset() // takes TMPDIR
	if err := interp.Env(environ(p.env))(r); err != nil {
		fmt.Fprintln(p.err, "sh:", err)
		return 2
	}
	r.Reset()
	err = r.Run(run.m, p.file)
	var code interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	if run.m.why.Load() == nil && run.m.Context.Err() == nil {
		fmt.Fprintln(p.err, "sh:", err)
	}
	return 2
}

// handlers are all that the interpreter lets others do for it.
func (run *run) handlers() []interp.RunnerOption {
	handlers := []interp.RunnerOption{
		interp.CallHandler(run.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return run.exec }),
		interp.OpenHandler(run.openFile),
		interp.ReadDirHandler2(run.readDir),
		interp.StatHandler(run.stat),
		interp.AccessHandler(run.access),
	}
	if run.wrap != nil {
		return run.wrap(handlers)
	}
	return handlers
}

// input makes a reader a standard input.
func (run *run) input(r io.Reader) *os.File {
	f := new(os.File)
	run.inputs[f] = r
	return f
}

// stdin returns the reader behind a standard input.
func (run *run) stdin(in io.Reader) io.Reader {
	f, ok := in.(*os.File)
	switch {
	case !ok || f == nil:
		return strings.NewReader("")
	case run.inputs[f] != nil:
		return counted{run.m, run.inputs[f]}
	}
	return counted{run.m, f} // a here-document
}

// counted counts what is read.
type counted struct {
	m *meter
	r io.Reader
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if stop := c.m.charge(n); stop != nil {
		return 0, stop
	}
	return n, err
}

// patient reads from a reader that may block, until the run ends.
type patient struct {
	m *meter
	r io.Reader
}

func (r patient) Read(p []byte) (int, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		own := make([]byte, len(p))
		n, err := r.r.Read(own)
		done <- answer{own[:max(n, 0)], err}
	}()
	select {
	case a := <-done:
		return copy(p, a.data), a.err
	case <-r.m.Done():
		return 0, r.m.Context.Err()
	}
}

// openFile opens a file for the shell.
func (run *run) openFile(ctx context.Context, name string, flag int, mode fs.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	if err := run.m.charge(64); err != nil {
		return nil, err
	}
	if text, ok := strings.CutPrefix(name, sourced); ok {
		return reader{strings.NewReader(run.texts[text])}, nil
	}
	full := absolute(hc.Dir, name)
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	if id, ok := strings.CutPrefix(full, pipePath); ok {
		return run.openPipe(id, writes), nil
	}
	switch full {
	case nullPath:
		if writes {
			return writer{io.Discard}, nil
		}
		return run.input(strings.NewReader("")), nil
	case "/dev/stdin":
		return run.input(run.stdin(hc.Stdin)), nil
	case "/dev/stdout":
		return writer{sink{run.m, hc.Stdout}}, nil
	case "/dev/stderr":
		return writer{sink{run.m, hc.Stderr}}, nil
	}
	if writes {
		n, err := run.t.create(full, mode, flag&os.O_TRUNC != 0)
		if err != nil {
			return nil, err
		}
		return writer{sink{run.m, &appender{run.t, full, n}}}, nil
	}
	n, _, err := run.t.lookup("open", full)
	switch {
	case err != nil:
		return nil, err
	case n.isDir():
		return nil, pathError("read", full, syscall.EISDIR)
	}
	return run.input(bytes.NewReader(n.data)), nil
}

// openPipe opens one side of a pipe. The first side is written to its end before the second
// is opened.
func (run *run) openPipe(id string, writes bool) io.ReadWriteCloser {
	if writes {
		b := &buffer{id: id}
		run.buffers = append(run.buffers, b)
		return writer{sink{run.m, b}}
	}
	for i := len(run.buffers) - 1; i >= 0; i-- {
		if b := run.buffers[i]; b.id == id {
			run.buffers = run.buffers[:i] // those after it were left by sides that returned
			return run.input(bytes.NewReader(b.data))
		}
	}
	return run.input(strings.NewReader(""))
}

func (b *buffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxPipe {
		return 0, errPipe
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

// maxPipe is what one pipe holds.
const maxPipe = 32 << 20

var errPipe = errors.New("a pipe holds more than 32 MiB")

// reader and writer are the two kinds of open files.
type reader struct{ io.Reader }

func (reader) Write([]byte) (int, error) { return 0, syscall.EBADF }
func (reader) Close() error              { return nil }

type writer struct{ io.Writer }

func (writer) Read([]byte) (int, error) { return 0, io.EOF }
func (writer) Close() error             { return nil }

// readDir lists a folder for patterns. Many folders times many names can be asked for.
func (run *run) readDir(_ context.Context, name string) ([]fs.DirEntry, error) {
	n, _, err := run.t.lookup("open", path.Clean(name))
	if err != nil {
		_ = run.m.charge(len(name) + 64) // the next step ends the run
		return nil, err
	}
	if !n.isDir() {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	entries := make([]fs.DirEntry, 0, len(n.entries))
	for _, i := range n.list() {
		if err := run.m.charge(16 * (len(name) + len(i.name) + 64)); err != nil {
			return nil, err
		}
		entries = append(entries, i)
	}
	return entries, nil
}

func (run *run) stat(_ context.Context, name string, _ bool) (fs.FileInfo, error) {
	if device(path.Clean(name)) {
		return info{path.Base(name), &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}}, nil
	}
	n, _, err := run.t.lookup("stat", path.Clean(name))
	if err != nil {
		return nil, err
	}
	return info{path.Base(name), n}, nil
}

func device(name string) bool {
	switch name {
	case nullPath, "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

func (run *run) access(_ context.Context, name string, mode interp.AccessMode) error {
	if device(path.Clean(name)) {
		return nil
	}
	n, readOnly, err := run.t.lookup("access", path.Clean(name))
	switch {
	case err != nil:
		return err
	case mode&interp.AccessWrite != 0 && readOnly:
		return pathError("access", name, syscall.EROFS)
	case mode&interp.AccessExec != 0 && n.mode.Perm()&0o111 == 0:
		return pathError("access", name, syscall.EACCES)
	}
	return nil
}
