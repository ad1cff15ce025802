package virtual

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// TestFork: a fork begins with the same files and skills, and neither sees what happens in the
// other, not even at the end of a file that both have.
func TestFork(t *testing.T) {
	base := New(Options{Disk: 1 << 20})
	must.Do(t, base.Mount("demo", demo()))
	wants(t, base, sandbox.Request{Command: "mkdir /d; echo base > /d/f; echo more >> /d/f"}, "")
	size := base.Size()
	one, other := base.Fork().(*Sandbox), base.Fork().(*Sandbox)
	if one.Size() != size || size < 100 {
		t.Errorf("a fork of %d bytes has %d", size, one.Size())
	}
	wants(t, one, sandbox.Request{Command: "echo one >> /d/f; rm -r demo; echo new > /d/new"}, "")
	wants(t, base, sandbox.Request{Command: "echo late >> /d/f"}, "")
	wants(t, other, sandbox.Request{Command: "echo other >> /d/f; ls /d; cat /d/f; echo 'echo bad' > demo/scripts/plain.sh"}, "f\nbase\nmore\nother\n")
	wants(t, one, sandbox.Request{Command: "cat /d/f; ls"}, "base\nmore\none\n")
	wants(t, base, sandbox.Request{Command: "cat /d/f; sh scripts/plain.sh", Skill: "demo"}, "base\nmore\nlate\nplain\n")
	wants(t, one, sandbox.Request{Command: "sh scripts/plain.sh", Skill: "demo", Files: demo()}, "plain\n") // mounted again
	wants(t, other, sandbox.Request{Command: "sh scripts/plain.sh", Skill: "demo", Files: demo()}, "bad\n")
	if base.Size() <= size {
		t.Errorf("%d bytes after a file grew, %d before", base.Size(), size)
	}
	r, err := one.Execute(t.Context(), sandbox.Request{Command: "while true; do printf '%04000d' 0 >> /d/big; done"})
	if err != nil || !strings.Contains(r.Stopped, "no space left") {
		t.Errorf("a fork has other limits: %+v %v", r, err)
	}
}

// TestTurns: of a sandbox and its forks one program runs at a time; who waits can give up.
func TestTurns(t *testing.T) {
	one := New(Options{})
	other := one.Fork().(*Sandbox)
	in, out := io.Pipe()
	done := make(chan string)
	go func() { done <- answer(one.Execute(t.Context(), sandbox.Request{Command: "cat", Stdin: in})) }()
	if _, err := out.Write([]byte("a\n")); err != nil { // it has been read, so the program runs
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r, err := other.Run(ctx, "echo b"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second program runs at once: %+v %v", r, err)
	}
	if err := other.MountSkill(t.Context(), sandbox.Request{Skill: "demo", Files: demo()}); err != nil { // which needs no turn
		t.Error(err)
	}
	must.Do(t, out.Close())
	if got := <-done; got != "a\n" {
		t.Error(got)
	}
	wants(t, other, sandbox.Request{Command: "echo b"}, "b\n")
}

// TestMountSkill: a skill is there before a command of it has run, and is not mounted twice.
func TestMountSkill(t *testing.T) {
	s := New(Options{})
	r := sandbox.Request{Skill: "demo", Files: demo()}
	for _, want := range []string{"demo\nplain\n", "demo\nplain\nnew\n"} {
		must.Do(t, s.MountSkill(t.Context(), r))
		wants(t, s, sandbox.Request{Command: "ls; sh " + s.SkillPath("demo") + "/scripts/plain.sh; cat demo/new 2>/dev/null || echo new > demo/new"}, want)
	}
}
