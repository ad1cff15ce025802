//go:build unix

package source_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Reading what is not a regular file may block for ever or have effects.
func TestSpecialFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // short, as the name of a socket must be
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Write(t, filepath.Join(dir, "a", "SKILL.md"), doc("a"))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "a", "pipe"), 0o600))
	link(t, "pipe", filepath.Join(dir, "a", "to-pipe"))
	l, err := net.Listen("unix", filepath.Join(dir, "a", "sock"))
	must.Do(t, err)
	defer l.Close()

	s := open(t, dir, nil)
	for name, kind := range map[string]string{"pipe": "named pipe", "to-pipe": "named pipe", "sock": "socket"} {
		if f, err := source.ReadFile(t.Context(), s, "a", name); !errors.Is(err, source.ErrRefused) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	sk := load(t, s, "a/SKILL.md")
	want := []string{"a/pipe not-a-regular-file", "a/sock not-a-regular-file", "a/to-pipe not-a-regular-file"}
	if diff := cmp.Diff(want, problems(sk)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(sk.Files) != 1 {
		t.Errorf("files %v", sk.Files)
	}
}

func TestInstructionsArePipe(t *testing.T) {
	dir := folder(t, map[string]string{"a/x": ""})
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "a", "SKILL.md"), 0o600))
	_, _, refs := walk(t, open(t, dir, nil))
	if refs["a/SKILL.md"] == nil {
		t.Fatal("not found")
	}
	_, err := refs["a/SKILL.md"].Load()
	var bad *skill.ParseError
	if !errors.As(err, &bad) || bad.Problem.Rule != "not-a-file" {
		t.Errorf("got %v", err)
	}
}

// What is no file at the top of a folder of skills hides none of them.
func TestTopIsPipe(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a")})
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "SKILL.md"), 0o600))
	paths, errs, _ := walk(t, open(t, dir, nil))
	if !cmp.Equal(paths, []string{"SKILL.md", "a/SKILL.md"}) || !cmp.Equal(errs, []string{"SKILL.md skill-at-top"}) {
		t.Errorf("walk = %q, %q", paths, errs)
	}
}

// A folder that is replaced by a pipe after the walk must not block a read.
func TestFolderBecomesPipe(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a")})
	s := open(t, dir, nil)
	_, _, refs := walk(t, s)
	must.Do(t, os.RemoveAll(filepath.Join(dir, "a")))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "a"), 0o600))
	if f, err := source.ReadFile(t.Context(), s, "a", "SKILL.md"); err == nil {
		t.Errorf("read %v", f)
	}
	if sk, err := refs["a/SKILL.md"].Load(); err == nil {
		t.Errorf("loaded %v", sk)
	}
}
