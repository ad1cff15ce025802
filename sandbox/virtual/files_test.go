package virtual

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mvdan.cc/sh/v3/interp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// wants runs a program and compares its output.
func wants(t *testing.T, s *Sandbox, r sandbox.Request, want string) {
	t.Helper()
	if got := answer(s.Execute(t.Context(), r)); got != want {
		t.Errorf("%s: %q, want %q", r.Command, got, want)
	}
}

func TestMount(t *testing.T) {
	s := New(Options{Root: "/mnt/box"})
	for _, name := range []string{"zeta", "alpha"} {
		must.Do(t, s.Mount(name, demo()))
	}
	if got := s.MountedSkills(); !slices.Equal(got, []string{"alpha", "zeta"}) {
		t.Error(got)
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "a\x00", strings.Repeat("x", 300)} {
		if err := s.Mount(name, demo()); err == nil {
			t.Errorf("%q is mounted", name)
		}
	}
	wants(t, s, sandbox.Request{Command: "pwd; ls; cat zeta/data/pair.txt"}, "/mnt/box/skills\nalpha\nzeta\nleft right\n")
	wants(t, s, sandbox.Request{Command: "echo changed > zeta/data/pair.txt; echo new > zeta/new"}, "")
	wants(t, s, sandbox.Request{Command: "cat new data/pair.txt", Skill: "zeta"}, "new\nchanged\n")
	if err := s.Mount("zeta", demo()); err != nil { // as it was
		t.Fatal(err)
	}
	wants(t, s, sandbox.Request{Command: "ls; cat data/pair.txt", Skill: "zeta"}, "README.md\ndata\nscripts\nleft right\n")

	wants(t, s, sandbox.Request{Command: "rm -r zeta; mv alpha beta; mkdir -p d/$(printf '%050d' 0 | sed 's/0/a\\//g') e/$(printf '%020d' 0 | sed 's/0/a\\//g'); mv d e/a/a/a/a/a/a/a/a/a/a/a/a/a || echo deep"}, "deep\n! mv: d: File name too long\n")
	if got := s.MountedSkills(); len(got) > 0 {
		t.Error(got)
	}
	wants(t, s, sandbox.Request{Command: "cat data/pair.txt", Skill: "zeta", Files: demo()}, "left right\n") // mounted again
	r := sandbox.Request{Command: "echo 12345678901234567890 > f", Skill: "zeta", Limits: sandbox.Limits{Disk: 10}}
	if res, err := s.Execute(t.Context(), r); err != nil || !strings.Contains(res.Stopped, "no space left") {
		t.Errorf("%+v %v", res, err)
	}
	wants(t, s, sandbox.Request{Command: "echo 12345678901234567890 > f", Skill: "zeta"}, "")

	small := New(Options{Disk: 100})
	if err := small.Mount("demo", demo()); err == nil || len(small.MountedSkills()) > 0 || small.tree.size > 0 {
		t.Error("a skill that is too large is mounted:", err, small.MountedSkills(), small.tree.size)
	}
	if err := New(Options{Files: 5}).Mount("demo", demo()); err == nil {
		t.Error("a skill with too many files is mounted")
	}
	if err := New(Options{}).Mount("big", fstest.MapFS{"f": {Data: make([]byte, maxFile+1)}}); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Error(err)
	}
}

// TestMountFolder: a skill on disk is mounted at its first command; links that lead out of
// it are left out, as is what version control keeps in it, and it never changes.
func TestMountFolder(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o644), os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o644),
		os.Mkdir(filepath.Join(dir, ".git"), 0o755), os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("token"), 0o644),
		os.Symlink(outside, filepath.Join(dir, "out")), os.Symlink("file", filepath.Join(dir, "in")), os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")))
	if err != nil {
		t.Skip("no links here: ", err)
	}
	s := New(Options{})
	r := sandbox.Request{Skill: "x", Dir: dir, Command: "ls -A; cat in; echo more >> file; rm in; ls"}
	if s.MountedSkills() != nil {
		t.Error("mounted before it is needed")
	}
	wants(t, s, r, "file\nin\ntext\nfile\n")
	r.Command = "cat file"
	wants(t, s, r, "text\nmore\n")
	if data, err := os.ReadFile(filepath.Join(dir, "file")); string(data) != "text\n" {
		t.Errorf("%q %v", data, err)
	}
	other := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(other, "file"), []byte("other\n"), 0o644))
	wants(t, s, sandbox.Request{Skill: "x", Dir: other, Command: "cat file"}, "other\n") // another skill of this name
	r.Skill, r.Dir = "y", filepath.Join(dir, "none")
	if _, err := s.Execute(t.Context(), r); err == nil || err.(*sandbox.Error).Reason != sandbox.NotFound {
		t.Error(err)
	}
}

func TestWorkspace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(text), 0o644)))
	}
	is := func(name, want string) {
		t.Helper()
		if data, err := os.ReadFile(at(name)); string(data) != want {
			t.Errorf("%s is %q, want %q (%v)", name, data, want, err)
		}
	}
	write("a.txt", "a\n")
	write("sub/b.txt", "b\n")
	write("gone/c.txt", "c\n")
	s := New(Options{})
	r := sandbox.Request{Skill: "demo", Files: demo(), Workspace: sandbox.Workspace{Dir: dir}, Command: `cd "$WORKSPACE"; pwd; cat a.txt sub/b.txt; echo x > a.txt`}
	wants(t, s, r, "/.sandbox/workspace\na\nb\n! open /.sandbox/workspace/a.txt: read-only file system\n[exit 1]\n")
	r.Command = `cd "$WORKSPACE"; rm a.txt || mv a.txt z || mkdir q || sed -i s/a/b/ a.txt || rm -r "$WORKSPACE"`
	if res, err := s.Execute(t.Context(), r); err != nil || res.ExitCode == 0 || strings.Count(string(res.Stderr), "ead-only") < 4 {
		t.Errorf("%v %+v %s", err, res, res.Stderr)
	}
	is("a.txt", "a\n")

	r.Workspace.Write = true
	r.Command = `cd "$WORKSPACE"; echo changed > a.txt; mkdir -p new/deep; echo n > new/deep/n.txt; rm -r gone; false`
	wants(t, s, r, "[exit 1]\n")
	is("a.txt", "a\n") // a run that fails changes nothing
	is("gone/c.txt", "c\n")
	r.Command = strings.TrimSuffix(r.Command, "; false")
	wants(t, s, r, "")
	is("a.txt", "changed\n")
	is("new/deep/n.txt", "n\n")
	if _, err := os.Stat(at("gone")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder that was removed is there")
	}
	r.Workspace = sandbox.Workspace{}
	r.Command = `ls /.sandbox; echo "<$WORKSPACE>"`
	wants(t, s, r, "skills\ntmp\n<>\n")
}

// TestWorkspaceLinks: what a run writes never goes through a link, and what changed on disk
// in the meantime stays.
func TestWorkspaceLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), os.Symlink(filepath.Join(outside, "f"), filepath.Join(dir, "f"))); err != nil {
		t.Skip("no links here: ", err)
	}
	s := New(Options{})
	r := sandbox.Request{Workspace: sandbox.Workspace{Dir: dir, Write: true}, Command: `cd "$WORKSPACE"; ls; mkdir link; echo x > link/x; echo x > f; echo ok > ok`}
	res, err := s.Execute(t.Context(), r)
	if err == nil || res.ExitCode != 0 || len(res.Stdout) > 0 {
		t.Errorf("%v %+v", err, res)
	}
	if entries, err := os.ReadDir(outside); len(entries) > 0 {
		t.Error("written through a link:", entries, err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "ok")); string(data) != "ok\n" {
		t.Errorf("what can be written is not: %q", data)
	}

	name := filepath.Join(dir, "ok")
	changing := &changer{func() {
		if err := os.WriteFile(name, []byte("of the user\n"), 0o644); err != nil {
			t.Error(err)
		}
	}}
	r.Command, r.Stdin = `cat; echo of the run > "$WORKSPACE/ok"`, changing
	if _, err := s.Execute(t.Context(), r); err == nil || !strings.Contains(err.Error(), "ok changed on disk") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(name); string(data) != "of the user\n" {
		t.Errorf("it is %q", data)
	}
}

// A changer is an input that does something when it is read.
type changer struct{ do func() }

func (c *changer) Read([]byte) (int, error) {
	c.do()
	return 0, io.EOF
}

// TestHandlers: every construct that names a file asks the handlers of the run, and nothing
// else. TestNoHost shows that nothing else is asked, where the system can tell.
func TestHandlers(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must.Do(t, os.WriteFile(secret, []byte("#!/bin/sh\necho secret\n"), 0o755))
	var asked []string
	for _, command := range []string{
		"cat < @F", "echo x > @F", "echo x >> @F", "test -f @F", "[ -x @F ]", "[[ -e @F ]]", "[[ @F -nt @F ]]", ". @F", "source @F", "@F", "sh @F", "exec @F",
		"cd @F", "pushd @F", "echo @F*", "echo $(<@F)", "cat @F", "command -v @F", "type @F", "command @F", "eval 'cat @F'", "trap 'cat @F' EXIT", "read l < @F", "mapfile l < @F",
		"find @F", "cp @F y", "TMPDIR=D; cat D/sh-interp-1",
	} {
		s := New(Options{KeepGoing: true})
		run := newRun(s, t.Context(), sandbox.Request{})
		run.wrap = func(handlers []interp.RunnerOption) []interp.RunnerOption { // the last one holds, but of exec the first
			return append(append([]interp.RunnerOption{interp.ExecHandlers(func(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
				return func(ctx context.Context, args []string) error {
					asked = append(asked, "exec "+strings.Join(args, " "))
					return next(ctx, args)
				}
			})}, handlers...),
				interp.OpenHandler(func(ctx context.Context, name string, flag int, mode os.FileMode) (io.ReadWriteCloser, error) {
					asked = append(asked, "open "+name)
					return run.openFile(ctx, name, flag, mode)
				}),
				interp.StatHandler(func(ctx context.Context, name string, follow bool) (os.FileInfo, error) {
					asked = append(asked, "stat "+name)
					return run.stat(ctx, name, follow)
				}),
				interp.AccessHandler(func(ctx context.Context, name string, mode interp.AccessMode) error {
					asked = append(asked, "access "+name)
					return run.access(ctx, name, mode)
				}),
				interp.ReadDirHandler2(func(ctx context.Context, name string) ([]os.DirEntry, error) {
					asked = append(asked, "list "+name)
					return run.readDir(ctx, name)
				}),
				interp.CallHandler(func(ctx context.Context, args []string) ([]string, error) {
					out, err := run.call(ctx, args)
					asked = append(asked, "call "+strings.Join(out, " "))
					return out, err
				}))
		}
		asked = nil
		command = strings.NewReplacer("@F", secret, "D/", filepath.Dir(secret)+"/", "=D", "="+filepath.Dir(secret)).Replace(command)
		if _, err := run.main(sandbox.Request{Command: command}, "/"); err != nil {
			t.Fatal(err)
		}
		out, _ := run.out.Bytes()
		if bytes.Contains(out, []byte("secret\n")) && !strings.HasPrefix(command, "echo") || strings.Contains(string(out), "#!") {
			t.Errorf("%s: reads the file: %q", command, out)
		}
		if !slices.ContainsFunc(asked, func(a string) bool { return strings.Contains(a, filepath.Dir(secret)) }) {
			t.Errorf("%s: no handler was asked for the file: %q", command, asked)
		}
	}
}

// TestSame: the same input gives the same bytes.
func TestSame(t *testing.T) {
	program := `for i in 1 2 3; do mktemp; done; ls -l /.sandbox/tmp data; echo $$ $-; declare -A m; m[b]=1; m[a]=2; echo "${m[@]}"; { echo err >&2 & echo out; } 2>&1 | cat; find .; sort data/*; exit 3`
	var first string
	for range 3 {
		got := answer(New(Options{}).Execute(t.Context(), sandbox.Request{Skill: "demo", Files: demo(), Command: program}))
		if first == "" {
			first = got
		}
		if got != first || !strings.Contains(got, "[exit 3]") {
			t.Errorf("%q differs from %q", got, first)
		}
	}
}

// TestBlockedInput: an input that never answers does not hold a run beyond its time.
func TestBlockedInput(t *testing.T) {
	in, hold, err := os.Pipe()
	must.Do(t, err)
	defer in.Close()
	defer hold.Close()
	for _, command := range []string{"cat", "read x", "sh", "while read x; do :; done"} {
		r, err := New(Options{}).Execute(t.Context(), sandbox.Request{Command: command, Stdin: in, Limits: sandbox.Limits{Timeout: 10 * time.Millisecond}})
		if err != nil || !strings.Contains(r.Stopped, "longer than 10ms") {
			t.Errorf("%s: %+v %v", command, r, err)
		}
	}
	busy := New(Options{})
	busy.busy <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := busy.Run(ctx, "true"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
