package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// recorder is an executor of a program: it notes what reaches it, and runs nothing.
type recorder struct{ got []string }

func (x *recorder) Execute(_ context.Context, r Request) (Result, error) {
	x.got = append(x.got, r.Command)
	return Result{}, nil
}

// shell is a recorder that says that it runs programs of a shell.
type shell struct{ recorder }

func (x *shell) Run(ctx context.Context, program string) (Result, error) {
	return x.Execute(ctx, Request{Command: program})
}

// harmless is a shell that says that it can harm nothing.
type harmless struct{ shell }

func (*harmless) Harmless() {}

// checked is the skill of these tests, on disk and not.
var checked = map[string]string{"SKILL.md": "# Checked\n", "scripts/x.sh": "#!/bin/sh\n", "scripts/x.py": "print(1)\n"}

func requests(t *testing.T) map[string]Request {
	t.Helper()
	dir, files := t.TempDir(), fstest.MapFS{}
	for name, text := range checked {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o755}
		name = filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o755)))
	}
	return map[string]Request{"folder": {Skill: "checked", Dir: dir}, "files": {Skill: "checked", Files: files}}
}

// TestCheck: an executor of a program gets only what the skill allows, on disk and not.
func TestCheck(t *testing.T) {
	for kind, r := range requests(t) {
		for _, c := range []struct {
			allowed, command string
			want             Reason // "" means that it may run
		}{
			{"", "rm -rf /", Refused},
			{"", "scripts/x.sh", Refused},
			{"", "./scripts/x.sh", Refused},
			{"", "sh scripts/x.sh", Refused},
			{"", "scripts/none.sh", NotFound},
			{"", "", Blank},
			{"*", "rm -rf / && ls", Syntax},
			{"*", "echo $(rm -rf /)", Syntax},
			{"*", "rm -rf /", ""},
			{"*", "../x.sh", Outside},
			{"*", "/bin/sh -c x", Outside},
			{"scripts/*", "scripts/x.sh a 'b c'", ""},
			{"scripts/*", "sh scripts/x.sh", ""},
			{"scripts/*", "python scripts/x.py 15*23", ""},
			{"scripts/*", "sh -c scripts/x.sh", Refused},
			{"scripts/*", "ls; scripts/x.sh", Syntax},
			{"git", "git status", ""},
			{"git", "./git", NotFound},
			{"git status", "git push", Refused},
			{"python3", "python3 ../x.py", ""}, // what it reads is the interpreter's matter
			{"scripts/*", "python3 ../x.py", Outside},
		} {
			r.Allowed, r.Command = []string{c.allowed}, c.command
			if c.allowed == "git status" {
				r.Allowed = []string{"Bash(git status)"}
			}
			err := Check(new(recorder), r)
			if got := reasonOf(err); got != c.want {
				t.Errorf("%s: %q with %q allowed: %q (%v), want %q", kind, c.command, c.allowed, got, err, c.want)
			}
		}
		r.Command, r.Args, r.Allowed = "scripts/x.sh", []string{"a\x00"}, []string{"*"}
		if err := Check(new(recorder), r); reasonOf(err) != Syntax {
			t.Errorf("an argument with a zero byte: %v", err)
		}
	}
	if err := Check(new(recorder), Request{Skill: "x", Dir: filepath.Join(t.TempDir(), "none"), Command: "ls", Allowed: []string{"*"}}); reasonOf(err) != NotFound {
		t.Errorf("a skill without its folder: %v", err)
	}
}

// TestAllowedWay: a script that another interpreter may run is refused with its name.
func TestAllowedWay(t *testing.T) {
	r := requests(t)["files"]
	r.Allowed = []string{"Bash(python3:*)"}
	for command, want := range map[string]string{
		"python scripts/x.py 15*23": "run it as `python3 scripts/x.py`, which it allows; or, to allow it, add `scripts/x.py` to allowed-tools",
		"scripts/x.py":              "run it as `python3 scripts/x.py`, which it allows; or, to allow it, add `scripts/x.py` to allowed-tools",
		"sh scripts/x.sh":           "`; to allow it, add `scripts/x.sh` to allowed-tools",
		"python -c 1":               "`; to allow it, add `python` to allowed-tools",
	} {
		if r.Command = command; !strings.Contains(Check(new(recorder), r).Error(), want) {
			t.Errorf("%q: %v, want %q", command, Check(new(recorder), r), want)
		}
	}
}

func reasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	if err != nil {
		return Reason(err.Error())
	}
	return ""
}

// TestCheckLikePrepare: what Prepare refuses for its words or for its rules, Check refuses for
// the same reason.
func TestCheckLikePrepare(t *testing.T) {
	r := requests(t)["folder"]
	for _, allowed := range []string{"", "*", "scripts/*", "Bash(ls:*, cat scripts/*)", "sh", "python3"} {
		for _, command := range []string{"ls", "ls -l", "cat scripts/x.sh", "cat /etc/passwd", "scripts/x.sh", "scripts/x.sh;", "sh scripts/x.sh", "sh -c true",
			"sh ../x.sh", "python3 scripts/x.py", "./none", "./scripts", "scripts/../scripts/x.sh", r.Dir + "/scripts/x.sh", "'" + r.Dir + "'/x", "cat scripts/*", "cat none*"} {
			r.Allowed, r.Command = []string{allowed}, command
			run, err := Prepare(r, nil)
			if err == nil {
				err = run.Close()
			}
			want := reasonOf(err)
			if want == NotFound && strings.Contains(err.Error(), "command not found") {
				want = "" // on this system
			}
			if got := Check(new(recorder), r); reasonOf(got) != want {
				t.Errorf("%q with %q allowed: Check says %v, Prepare %v", command, allowed, got, err)
			}
		}
	}
}

// TestCheckShell: each command of a program of a shell is checked, unless it can harm nothing.
func TestCheckShell(t *testing.T) {
	r := requests(t)["files"]
	for _, c := range []struct {
		allowed, program string
		want             Reason
	}{
		{"scripts/*", "scripts/x.sh | sh scripts/x.sh && echo done; { ./scripts/x.sh a || true; }", ""},
		{"scripts/*", "! (scripts/x.sh)", ""},
		{"scripts/*", "scripts/x.sh &", ""},
		{"scripts/*", "scripts/x.sh; rm -rf /", Refused},
		{"scripts/*", "true | (echo a && curl x)", Refused},
		{"scripts/*", "scripts/x.sh > /etc/passwd", Syntax},
		{"scripts/*", "{ scripts/x.sh; } > f", Syntax},
		{"scripts/*", "PATH=. scripts/x.sh", Syntax},
		{"scripts/*", "PATH=.", Syntax},
		{"scripts/*", "scripts/x.sh $(rm -rf /)", Syntax},
		{"scripts/*", "scripts/x.sh <(rm -rf /)", Syntax},
		{"scripts/*", "$x", Syntax},
		{"scripts/*", "for i in a; do rm -rf /; done", Syntax},
		{"scripts/*", "ls() { scripts/x.sh; }", Syntax},
		{"scripts/*", "eval 'rm -rf /'", Refused},
		{"scripts/*", "cd /; exec rm -rf .", Refused},
		{"scripts/*", "printf -v PATH /tmp", Refused},
		{"scripts/*", "[ -v 'a[$(rm -rf /)]' ]", Refused},
		{"scripts/*", "coproc scripts/x.sh", Syntax},
		{"scripts/*", "echo 'a", Syntax},
		{"scripts/*", "", Blank},
		{"*", "for i in *; do rm -rf \"$i\"; done", ""},
	} {
		r.Allowed, r.Command = []string{c.allowed}, c.program
		if err := Check(new(shell), r); reasonOf(err) != c.want {
			t.Errorf("%q with %q allowed: %v, want %q", c.program, c.allowed, err, c.want)
		}
		if err := Check(new(harmless), r); err != nil {
			t.Errorf("a harmless executor may not run %q: %v", c.program, err)
		}
	}
	if err := Check(new(shell), Request{Command: "echo a; ls"}); reasonOf(err) != Refused || !strings.Contains(err.Error(), "`ls` may run for a skill only") {
		t.Errorf("a command of no skill: %v", err)
	}
	if err := Check(new(shell), Request{Command: "echo a | true"}); err != nil {
		t.Errorf("commands that only print: %v", err)
	}
}

// FuzzCheck: when a shell runs a program that Check let pass, it calls nothing but what is
// allowed and what only prints, and opens no file.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"a; b", "a | (a && echo b)", "a `b`", "{ a; }", "! a", "a <<x\nb\nx\n", "if a; then b; fi", "a &", "coproc a", "(a) & b", "a $ 0", "a b* ~ {c,d}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, program string) {
		r := Request{Skill: "x", Files: fstest.MapFS{}, Command: program, Allowed: []string{"a"}}
		_ = Check(new(recorder), r)
		if Check(new(shell), r) != nil {
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(program), "")
		if err != nil {
			t.Fatalf("%q passes: %v", program, err)
		}
		sh, err := interp.New(interp.Env(expand.ListEnviron()), interp.CallHandler(func(_ context.Context, args []string) ([]string, error) {
			if args[0] != "a" && !slices.Contains(printers[:], args[0]) {
				t.Errorf("%q passes, and calls %q", program, args)
			}
			return []string{"true"}, nil
		}), interp.OpenHandler(func(_ context.Context, name string, _ int, _ os.FileMode) (io.ReadWriteCloser, error) {
			t.Errorf("%q passes, and opens %q", program, name)
			return nil, os.ErrPermission
		}))
		must.Do(t, err)
		_ = sh.Run(t.Context(), file) // it may fail
	})
}
