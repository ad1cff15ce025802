package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestUnavailable lists what the confined executor cannot be made without.
func TestUnavailable(t *testing.T) {
	mainCalled.Store(false)
	_, noMain := New(Options{})
	mainCalled.Store(true)
	_, noLandlock := newConfined(Options{}, 0, true)
	_, noFilter := newConfined(Options{Strict: true}, 99, false)
	for want, err := range map[string]error{"sandbox.Main()": noMain, "--allow-unconfined": noLandlock, "strict": noFilter} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Reason != Unavailable || !strings.Contains(e.Hint, want) {
			t.Errorf("got %v, want a hint with %q", err, want)
		}
	}
	if c, err := newConfined(Options{Strict: true}, 6, true); err != nil || c.unprotected([]int{443}) != nil {
		t.Errorf("with all that is needed: %v, %v", c, err)
	}
}

// TestWithoutFilter runs a command where system calls cannot be filtered.
func TestWithoutFilter(t *testing.T) {
	c := walls(t, 0, Options{})
	c.filter = false
	dir := write(t, map[string]string{"x.sh": "#!/bin/sh\ncat /etc/passwd || grep Seccomp: /proc/self/status\n"})
	res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./x.sh", Allowed: []string{"*"}})
	must.Do(t, err)
	if string(res.Stdout) != "Seccomp:\t0\n" || len(res.Unprotected) != 1 {
		t.Errorf("%+v\n%s", res, res.Stdout)
	}
}

// TestRead runs a program that is not in a folder of the system.
func TestRead(t *testing.T) {
	c := walls(t, 0, Options{})
	opt := write(t, map[string]string{
		"tool/bin/tool": "#!/bin/sh\ncat \"$OPT/tool/lib/data\"\n", "tool/lib/data": "of the tool\n",
		"alone/bin/tool":    "#!/bin/sh\ncat \"$OPT/tool/lib/data\"\n",
		"homes/me/bin/tool": "#!/bin/sh\ncat \"$OPT/homes/me/lib/secret\"\n", "homes/me/lib/secret": "secret\n",
	})
	t.Setenv("HOME", opt+"/homes/me")
	skill := write(t, map[string]string{"x.sh": "#!/bin/sh\nexec tool\n", "y.sh": "#!" + opt + "/odd/sh\necho odd\n", "z.sh": "#!/bin/sh\n" + opt + "/odd/sh -c 'echo odd'\n"})
	run := func(command, path string) Result {
		t.Helper()
		res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: skill, Command: command, Allowed: []string{"*"},
			Env: map[string]string{"PATH": opt + "/" + path + "/bin:/usr/bin:/bin", "OPT": opt}})
		must.Do(t, err)
		return res
	}
	if res := run("./x.sh", "tool"); string(res.Stdout) != "of the tool\n" {
		t.Errorf("a tool on PATH and its library: %+v\n%s", res, res.Stderr)
	}
	for _, path := range []string{"alone", "homes/me"} {
		if res := run("./x.sh", path); len(res.Stdout) > 0 || !strings.Contains(string(res.Stderr), "Permission denied") {
			t.Errorf("a tool in %s/bin alone: %s %s", path, res.Stdout, res.Stderr)
		}
	}
	sh, err := os.ReadFile("/bin/sh")
	must.Do(t, err)
	must.Do(t, os.Mkdir(opt+"/odd", 0o755))
	must.Do(t, os.WriteFile(opt+"/odd/sh", sh, 0o755))
	if res := run("./y.sh", "tool"); string(res.Stdout) != "odd\n" {
		t.Errorf("an interpreter anywhere: %+v\n%s", res, res.Stderr)
	}
	if res := run("./z.sh", "tool"); res.ExitCode != 126 {
		t.Errorf("a program that is not on PATH: %+v", res)
	}
	c.options.Read = []string{filepath.Join(opt, "odd")}
	if res := run("./z.sh", "tool"); string(res.Stdout) != "odd\n" {
		t.Errorf("a program in Options.Read: %+v\n%s", res, res.Stderr)
	}
}

// TestInstallations: beside programs, a command reads their libraries, but not the folder of
// a user or the root because it happens to have folders bin and lib.
func TestInstallations(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	for _, name := range []string{"me/bin", "me/lib", "me/shims", "me/.local/bin", "me/.local/lib", "other/bin", "other/lib", "other/shims", "me/node/bin", "me/node/lib", "me/pyenv/shims", "me/go/bin", "me/tools"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	t.Setenv("HOME", filepath.Join(dir, "me"))
	for programs, want := range map[string]string{
		"me/bin": "me/bin", "me/shims": "me/shims", "me/.local/bin": "me/.local/bin", "other/bin": "other/bin", "other/shims": "other/shims",
		"me/node/bin": "me/node", "me/pyenv/shims": "me/pyenv", "me/go/bin": "me/go/bin", "me/tools": "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := installation(filepath.Join(dir, programs)); got != want {
			t.Errorf("%s: %q, want %q", programs, got, want)
		}
	}
	for _, home := range []string{"", "/", "/nonexistent"} {
		t.Setenv("HOME", home)
		if got := installation("/bin"); got != "/bin" {
			t.Errorf("with the home %q, programs in /bin open %q", home, got)
		}
	}
}

// TestBytes: paths, arguments and variables that are not UTF-8 reach a command as they are. A
// path that became another one would open another folder.
func TestBytes(t *testing.T) {
	c := walls(t, 0, Options{})
	dir := filepath.Join(t.TempDir(), "skill\xff")
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "show.sh"), []byte("#!/bin/sh\nprintf '%s|%s|' \"$1\" \"$X\"; basename \"$PWD\"; cat show.sh >$WORKSPACE/new\n"), 0o700))
	workspace := filepath.Join(t.TempDir(), "w\xfe")
	must.Do(t, os.MkdirAll(workspace, 0o700))
	res, err := c.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: "./show.sh", Args: []string{"a\xff<&>\u2028"}, Env: map[string]string{"X": "\xfd"},
		Allowed: []string{"*"}, Workspace: Workspace{Dir: workspace, Write: true}})
	must.Do(t, err)
	if want := "a\xff<&>\u2028|\xfd|skill\xff\n"; string(res.Stdout) != want || res.ExitCode != 0 {
		t.Errorf("%q %q, want %q", res.Stdout, res.Stderr, want)
	}
	if _, err := os.Stat(filepath.Join(workspace, "new")); err != nil {
		t.Error(err)
	}
}

// TestSkillInWorkspace: a command may change its own skill if the workspace that it may write
// holds the skill. The result says so.
func TestSkillInWorkspace(t *testing.T) {
	c := walls(t, 0, Options{})
	work := write(t, map[string]string{"skills/x/x.sh": "#!/bin/sh\necho more >>x.sh\n"})
	r := Request{Skill: "x", Dir: filepath.Join(work, "skills", "x"), Command: "./x.sh", Allowed: []string{"*"}, Workspace: Workspace{Dir: work}}
	for _, r.Workspace.Write = range []bool{false, true} {
		res, err := c.Execute(t.Context(), r)
		must.Do(t, err)
		told := strings.Contains(strings.Join(res.Unprotected, ";"), "its own skill")
		if (res.ExitCode == 0) != r.Workspace.Write || told != r.Workspace.Write {
			t.Errorf("writable %t: %+v", r.Workspace.Write, res)
		}
	}
}
