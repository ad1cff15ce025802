package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// prepare prepares a command of the skill in dir, which may run everything.
func prepare(t testing.TB, dir, command string) (*Run, error) {
	t.Helper()
	run, err := Prepare(Request{Skill: "x", Dir: dir, Command: command, Allowed: []string{"*"}}, nil)
	if err == nil {
		t.Cleanup(func() { must.Do(t, run.Close()) })
	}
	return run, err
}

// programs makes a folder of programs and makes it PATH.
func programs(t testing.TB, names ...string) string {
	t.Helper()
	files := make(map[string]string)
	for _, name := range names {
		files[name] = "#!/bin/sh\n"
	}
	dir, err := filepath.EvalSymlinks(write(t, files))
	must.Do(t, err)
	if t, ok := t.(*testing.T); ok {
		t.Setenv("PATH", dir)
	}
	return dir
}

func needUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs paths and permissions of Unix")
	}
}

// TestShebang: the first line says what is started, and an error what is wrong with it.
func TestShebang(t *testing.T) {
	needUnix(t)
	bin := programs(t, "sh", "python3", "tool")
	const missing, denied = "BadShebang: ", "NotExecutable: "
	for text, want := range map[string]string{
		"#!/bin/sh\n":                            "/bin/sh x",
		"#! /bin/sh\n":                           "/bin/sh x",
		"#!/bin/sh":                              "/bin/sh x",
		"#!/bin/sh -e\n":                         "/bin/sh -e x",
		"#!/bin/sh -e -u\n":                      "/bin/sh|-e -u|x", // one argument, as in Linux
		"#!/bin/sh\t-e\n":                        "/bin/sh -e x",
		"#!/usr/bin/env python3\n":               "PATH/python3 x",
		"#!/usr/bin/env\tpython3\n":              "PATH/python3 x",
		"#!/usr/bin/env -S python3 -u -B\n":      "PATH/python3 -u -B x",
		"#!/usr/bin/env -Spython3 -u\n":          "PATH/python3 -u x",
		"#!/usr/bin/env python3 -u\n":            "PATH/python3 -u x",
		"#!/usr/bin/env -S /bin/sh -e\n":         "/bin/sh -e x",
		"#!/no/such -x\n":                        missing + "/no/such: No such file",
		"#!/usr/bin/env nope\n":                  missing + "nope: No such file",
		"#!nope\n":                               missing + "nope, which is no absolute path",
		"#!../tool\n":                            missing + "no absolute path",
		"#!\necho x\n":                           missing + "names no interpreter",
		"#!/bin/sh\r\necho x\r\n":                missing + "carriage return",
		"#!/usr/bin/env -i sh\n":                 missing + "options to env",
		"#!/usr/bin/env -S A=b sh\n":             missing + "options to env",
		"#!/usr/bin/env -S\n":                    missing + "options to env",
		"#!/" + strings.Repeat("x", 300) + "\n":  missing + "too long",
		"#!" + filepath.Dir(bin) + "\n":          missing + "No such file", // a folder
		"\x7fELF\x02\x01\x01\x00\x00 and so on":  "x",
		"echo x\n":                               "PATH/sh x",
		"":                                       "PATH/sh x",
		"\xef\xbb\xbf#!/no/such\n":               "PATH/sh x", // a mark of byte order is no shebang
		"// " + strings.Repeat("x", 1000) + "\n": "PATH/sh x",
	} {
		dir := write(t, map[string]string{"x": text})
		must.Do(t, os.Chmod(filepath.Join(dir, "x"), 0o755))
		run, err := prepare(t, dir, "./x")
		got := ""
		if e, ok := errors.AsType[*Error](err); ok {
			got = map[Reason]string{BadShebang: missing, NotExecutable: denied}[e.Reason] + e.Fact
		} else {
			must.Do(t, err)
			sep := " "
			if strings.Contains(want, "|") {
				sep = "|"
			}
			got = strings.ReplaceAll(strings.ReplaceAll(strings.Join(run.Argv, sep), bin, "PATH"), run.Dir+"/", "")
		}
		if prefix, rest, isErr := strings.Cut(want, ": "); got != want && (!isErr || !strings.HasPrefix(got, prefix) || !strings.Contains(got, rest)) {
			t.Errorf("%.40q starts %q, want %q", text, got, want)
		}
	}
}

func FuzzShebang(f *testing.F) {
	for _, s := range []string{"/bin/sh -e\n", "/usr/bin/env -S sh -u\n", " \t/bin/sh\r\n", "/usr/bin/env\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		v := resolver{foreign: true}
		start, err := v.shebang("x", []byte(line))
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Reason != BadShebang || e.Hint == "") || err == nil && (len(start) == 0 || start[0] == "") {
			t.Fatalf("%q gives %q and %v", line, start, err)
		}
	})
}

// TestArgv: what a command starts, as an attacker would spell it.
func TestArgv(t *testing.T) {
	needUnix(t)
	bin := programs(t, "git", "sh", "python3")
	outside := write(t, map[string]string{"evil.sh": "#!/bin/sh\n"})
	dir := write(t, map[string]string{"scripts/x.sh": "#!/bin/sh\n", "scripts/data": "text", "script.py": "print()\n", "git": "#!/bin/sh\n", "-c": "#!/bin/sh\n",
		"sub/git/x": "", "nox.py": "", "a\nb.sh": "#!/bin/sh\n"})
	must.Do(t, os.Chmod(filepath.Join(dir, "script.py"), 0o755))
	for link, to := range map[string]string{"inner.sh": "scripts/x.sh", "out.sh": filepath.Join(outside, "evil.sh"), "rel.sh": "../" + filepath.Base(outside), "outdir": outside, "loop": "loop"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	real, err := filepath.EvalSymlinks(dir)
	must.Do(t, err)
	for _, c := range []struct{ allowed, command, want string }{
		{"git", "git status", "PATH/git status"},
		{"git", "./git", "Refused"},
		{"git", bin + "/git", "Outside"},
		{"git", "GIT", "Refused"},
		{"git", "sub/git/x", "Refused"},
		{"*", "nope", "NotFound"},
		{"*", "scripts", "NotFound"}, // a folder is no command
		{"*", "script.py", "NotFound"},
		{"*", ".", "NotFound"},
		{"*", "..", "NotFound"},
		{"*", "./sub", "NotExecutable"},
		{"*", "./script.py", "NotExecutable"}, // no interpreter is named
		{"*", "./nox.py", "NotExecutable"},
		{"*", "./-c", "/bin/sh DIR/-c"},
		{"sh", "sh -c id", "PATH/sh -c id"},
		{"scripts/*", "sh -c id", "Refused"},
		{"scripts/*", "sh -x scripts/x.sh", "Refused"},
		{"scripts/*", "sh scripts/x.sh a", "PATH/sh DIR/scripts/x.sh a"},
		{"scripts/*", "python3 scripts/x.sh a", "PATH/python3 DIR/scripts/x.sh a"},
		{"scripts/*", "git scripts/x.sh", "Refused"},
		{"scripts/*", "sh -- scripts/x.sh", "Refused"},
		{"scripts/*", "sh", "Refused"},
		{"scripts/*", "sh scripts/none", "NotFound"},
		{"scripts/*", "sh scripts", "NotExecutable"},
		{"scripts/*", "sh script.py", "Refused"},
		{"scripts/*", "scripts/x.sh", "/bin/sh DIR/scripts/x.sh"},
		{"scripts/*", "./scripts//./x.sh", "/bin/sh DIR/scripts/x.sh"},
		{"scripts/*", real + "/scripts/x.sh", "/bin/sh DIR/scripts/x.sh"},
		{"scripts/*", "sh " + dir + "/scripts/x.sh", "PATH/sh DIR/scripts/x.sh"},
		{"scripts/*", "scripts/../script.py", "Refused"},
		{"scripts/*", "scripts/../../x", "Outside"},
		{"scripts/*", "/etc/passwd", "Outside"},
		{"scripts/*", "sh /etc/profile", "Outside"},
		{"sh", "sh /etc/profile", "PATH/sh /etc/profile"}, // the rule for sh allows it
		{"sh", "sh out.sh", "PATH/sh out.sh"},
		{"sh", "sh none.sh", "NotFound"},
		{"Bash(sh scripts/*)", "sh scripts/x.sh", "PATH/sh DIR/scripts/x.sh"},
		{"Bash(sh scripts/*)", "sh scripts/../../x", "Outside"},
		{"Bash(sh *.sh)", "sh out.sh", "Outside"},
		{"Bash(sh outdir/*)", "sh outdir/evil.sh", "Outside"},
		{"*", "./inner.sh", "/bin/sh DIR/inner.sh"},
		{"scripts/*", "./inner.sh", "Refused"}, // the rule names another path
		{"*", "./out.sh", "Outside"},
		{"out.sh", "sh out.sh", "Outside"},
		{"*", "outdir/evil.sh", "Outside"},
		{"*", "./rel.sh", "Outside"},
		{"*", "./loop", "NotFound"},
		{"*", "sub/git/x/y", "NotFound"},
		{"*", "'./a\nb.sh'", "/bin/sh DIR/a\nb.sh"},
		{"", "git", "Refused"},
		{"Read", "git", "Refused"},
	} {
		run, err := Prepare(Request{Skill: "x", Dir: dir, Command: c.command, Allowed: []string{c.allowed}}, nil)
		got := ""
		if e, ok := errors.AsType[*Error](err); ok {
			got = map[Reason]string{Refused: "Refused", NotFound: "NotFound", Outside: "Outside", NotExecutable: "NotExecutable"}[e.Reason]
			if e.Hint == "" || strings.Contains(e.Fact, "\n") {
				t.Errorf("%q: fact %q, hint %q", c.command, e.Fact, e.Hint)
			}
		} else {
			must.Do(t, err)
			must.Do(t, run.Close())
			got = strings.NewReplacer(bin, "PATH", run.Dir, "DIR").Replace(strings.Join(run.Argv, " "))
		}
		if got != c.want {
			t.Errorf("%q with %q allowed gives %q (%v), want %q", c.command, c.allowed, got, err, c.want)
		}
	}
}

// TestPath: programs are looked up in absolute folders only, and in none that the skill or
// the workspace holds.
func TestPath(t *testing.T) {
	needUnix(t)
	dir := write(t, map[string]string{"bin/tool": "#!/bin/sh\n"})
	work := write(t, map[string]string{"bin/tool": "#!/bin/sh\n"})
	good := write(t, map[string]string{"tool": "#!/bin/sh\n"})
	t.Chdir(dir)
	sep := string(filepath.ListSeparator)
	bad := strings.Join([]string{"", ".", "bin", dir + "/bin", dir, work + "/bin"}, sep)
	r := Request{Skill: "x", Dir: dir, Command: "tool", Allowed: []string{"tool"}, Workspace: Workspace{Dir: work}}
	t.Setenv("PATH", bad)
	if run, err := Prepare(r, nil); err == nil {
		t.Errorf("%q is found", run.Argv)
	}
	t.Setenv("PATH", bad+sep+good)
	run, err := Prepare(r, nil)
	must.Do(t, err)
	defer run.Close()
	if run.Argv[0] != filepath.Join(good, "tool") || !slices.Contains(run.Env, "PATH="+good) {
		t.Errorf("found %q with the environment %q", run.Argv, run.Env)
	}
}

// TestEnv: nothing comes from this process but a few names.
func TestEnv(t *testing.T) {
	needUnix(t)
	programs(t, "tool")
	for name, value := range map[string]string{"LD_PRELOAD": "x.so", "BASH_ENV": "x", "PYTHONPATH": "x", "API_KEY": "x", "LC_ALL": "C", "TZ": "UTC", "WORKSPACE": "/other"} {
		t.Setenv(name, value)
	}
	r := Request{Skill: "x", Dir: t.TempDir(), Command: "tool", Allowed: []string{"*"}, Env: map[string]string{"GIVEN": "a=b\n", "TZ": "CET", "_x1": ""}}
	run, err := Prepare(r, nil)
	must.Do(t, err)
	var names []string
	for _, e := range run.Env {
		name, value, _ := strings.Cut(e, "=")
		names = append(names, name)
		if (name == "HOME" || name == "TMPDIR") && value != run.Private {
			t.Errorf("%s is not the private folder", e)
		}
	}
	if want := []string{"GIVEN", "HOME", "LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE", "TERM", "TMPDIR", "TZ", "_x1"}; !slices.Equal(names, want) || !slices.Contains(run.Env, "TZ=CET") {
		t.Errorf("the environment is %q, want the names %q", run.Env, want)
	}
	info, err := os.Stat(run.Private)
	must.Do(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the private folder has mode %v", info.Mode())
	}
	must.Do(t, os.MkdirAll(filepath.Join(run.Private, "closed", "in"), 0o700))
	must.Do(t, os.Chmod(filepath.Join(run.Private, "closed"), 0))
	must.Do(t, run.Close())
	if _, err := os.Stat(filepath.Dir(run.Private)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the private folder is still there: %v", err)
	}
	for _, name := range []string{"", "1A", "A B", "A=B", "A-B", "Ä"} {
		r.Env = map[string]string{name: "x"}
		if _, err := Prepare(r, nil); err == nil {
			t.Errorf("the variable %q is accepted", name)
		}
	}
}

// TestRequests: what is wrong with a request is an *Error, and leaves no folder behind.
func TestRequests(t *testing.T) {
	needUnix(t)
	programs(t, "tool")
	temp := t.TempDir()
	dir := write(t, map[string]string{"file": ""})
	large := fstest.MapFS{"x": &fstest.MapFile{Data: make([]byte, maxCopied+1)}}
	good := Request{Skill: "x", Dir: dir, Command: "tool", Allowed: []string{"*"}}
	for what, change := range map[string]func(*Request){
		"cannot be used: it is not a folder":        func(r *Request) { r.Workspace.Dir = filepath.Join(dir, "file") },
		"none cannot be used":                       func(r *Request) { r.Workspace.Dir = filepath.Join(dir, "none") },
		"workspace . cannot be used: its path":      func(r *Request) { r.Workspace.Dir = "." },
		"are not there: its path is not absolute":   func(r *Request) { r.Dir = "." },
		"no such file":                              func(r *Request) { r.Dir = filepath.Join(dir, "none") },
		"neither a folder nor files":                func(r *Request) { r.Dir = "" },
		"it is larger than 64 MiB":                  func(r *Request) { r.Dir, r.Files = "", large },
		"an argument holds a zero byte":             func(r *Request) { r.Args = []string{"a\x00b"} },
		"the environment variable `A B` cannot be ": func(r *Request) { r.Env = map[string]string{"A B": ""} },
	} {
		r := good
		change(&r)
		_, err := Prepare(r, &Setup{Temp: temp})
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Fact, what) || e.Hint == "" {
			t.Errorf("the error is %v, want %q", err, what)
		}
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestForeign: a system that is not this one gets names as they are, and its own paths.
func TestForeign(t *testing.T) {
	needUnix(t)
	dir := write(t, map[string]string{"x.sh": "#!/usr/bin/env -S bash -u\n", "plain": "echo\n"})
	must.Do(t, os.Chmod(filepath.Join(dir, "plain"), 0o755))
	s := &Setup{Path: "/there", Mount: "/skill", Home: "/home", Workspace: "/work", Foreign: true}
	for command, want := range map[string]string{
		"tool a":         "tool a",
		"./x.sh a":       "bash -u /skill/x.sh a",
		"/skill/x.sh a":  "bash -u /skill/x.sh a",
		"sh x.sh a":      "sh /skill/x.sh a",
		"./plain":        "sh /skill/plain",
		dir + "/x.sh":    "bash -u /skill/x.sh",
		"sh /skill/x.sh": "sh /skill/x.sh",
	} {
		run, err := Prepare(Request{Skill: "x", Dir: dir, Command: command, Allowed: []string{"*"}, Workspace: Workspace{Dir: t.TempDir()}}, s)
		must.Do(t, err)
		if got := strings.Join(run.Argv, " "); got != want {
			t.Errorf("%q starts %q, want %q", command, got, want)
		}
		for _, want := range []string{"PATH=/there", "HOME=/home", "TMPDIR=/home", "WORKSPACE=/work"} {
			if !slices.Contains(run.Env, want) {
				t.Errorf("the environment %q lacks %s", run.Env, want)
			}
		}
		must.Do(t, run.Close())
	}
}

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		limit      int64
		text, want string
	}{
		{3, "abc", "abc"},
		{3, "abcd", "abc\n[output cut: 1 more bytes]\n"},
		{1, "äb", "\n[output cut: 3 more bytes]\n"},
		{3, "äöü", "ä\n[output cut: 4 more bytes]\n"},
		{4, "äöü", "äö\n[output cut: 2 more bytes]\n"},
		{2, "\xff\xff\xff", "\xff\xff\n[output cut: 1 more bytes]\n"},
		{5, "a€€", "a€\n[output cut: 3 more bytes]\n"},
	} {
		for _, step := range []int{1, len(c.text)} {
			o := NewOutput(c.limit)
			for rest := c.text; rest != ""; rest = rest[min(step, len(rest)):] {
				n, err := o.Write([]byte(rest[:min(step, len(rest))]))
				if err != nil || n == 0 {
					t.Fatalf("writing: %d, %v", n, err)
				}
			}
			if got, cut := o.Bytes(); string(got) != c.want || cut != (c.want != c.text) {
				t.Errorf("%d bytes of %q are %q, cut %v; want %q", c.limit, c.text, got, cut, c.want)
			}
		}
	}
}

// FuzzArgv: whatever the command line, a skill that allows its scripts starts one of them.
func FuzzArgv(f *testing.F) {
	if runtime.GOOS == "windows" {
		f.Skip("needs paths and permissions of Unix")
	}
	outside := write(f, map[string]string{"evil.sh": "#!/bin/sh\n", "scripts/x.sh": "#!/bin/sh\n"})
	dir := write(f, map[string]string{"scripts/x.sh": "#!/bin/sh\n", "scripts/sh": "#!/bin/sh\n", "evil.sh": "#!/bin/sh\n", "sh": "#!/bin/sh\n", "-c": ""})
	for _, link := range []string{"out", "scripts/out"} {
		must.Do(f, os.Symlink(outside, filepath.Join(dir, link)))
	}
	dir, err := filepath.EvalSymlinks(dir)
	must.Do(f, err)
	for _, s := range []string{"scripts/x.sh", "sh scripts/x.sh", "sh -c scripts/x.sh", "./evil.sh", "scripts/../evil.sh", "scripts/out/evil.sh", "out/scripts/x.sh",
		dir + "/scripts/x.sh", outside + "/scripts/x.sh", "python3 scripts/../scripts/sh", "env scripts/x.sh", "'scripts/x.sh' -c", "sh ./-c"} {
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, command, arg string) {
		line, err := split(command, "", nil)
		if err != nil {
			return
		}
		v := resolver{skill: "x", dir: dir, roots: []string{dir}, mount: dir, allowed: []string{"scripts/*"}, path: []string{"/usr/bin", "/bin"}}
		argv, _, err := v.argv(append(line, arg))
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Fact == "" || e.Hint == "" {
				t.Fatalf("%q gives the error %#v", line, err)
			}
			return
		}
		if len(argv) < 2 || !interprets(filepath.Base(argv[0])) || argv[1] != dir+"/scripts/x.sh" && argv[1] != dir+"/scripts/sh" {
			t.Fatalf("%q starts %q", line, argv)
		}
	})
}
