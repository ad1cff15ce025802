package scripts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/scripts"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
)

// echo is an executor for tests in which nothing runs.
type echo struct{}

func (echo) Execute(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{Stdout: []byte(r.Command)}, nil
}

// open returns a catalog of the skills in a folder.
func open(t *testing.T, dir string) *repertoire.Catalog {
	t.Helper()
	s, err := source.Dir(dir, &source.Options{Label: "team"})
	must.Do(t, err)
	return catalogtest.Open(t, repertoire.Config{Sources: []source.Source{s}})
}

// TestPartial: a skill with more files than are compared cannot be trusted. It could change
// those that are not, and would stay trusted.
func TestPartial(t *testing.T) {
	dir := t.TempDir()
	add := func(name, text string) {
		name = filepath.Join(dir, "pdf", filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o755))
	}
	add("SKILL.md", "---\nname: pdf\ndescription: Convert PDF files to images.\nallowed-tools: scripts/*\n---\nConvert.\n")
	add("scripts/z.sh", "#!/bin/sh\necho fine\n")
	c := open(t, dir)
	trusted := trust.Open(t.TempDir())
	r, err := scripts.New(c, nil, scripts.Executors{Executor: echo{}}, trusted, nil)
	must.Do(t, err)
	for _, test := range []struct {
		more    int // further files
		refused bool
	}{{0, false}, {600, true}} {
		for i := range test.more {
			add(fmt.Sprintf("a/%d.txt", i), "x")
		}
		l, err := c.Listing(t.Context(), "pdf", nil, true)
		must.Do(t, err)
		seen := trust.Seen{Skill: trust.Skill{Digest: l.Digest, Name: "pdf", Folder: l.Folder, Date: time.Unix(0, 0)}}
		if err := trusted.Add(t.Context(), seen); (err != nil) != test.refused || l.Partial != test.refused {
			t.Errorf("%d more files: trusting gives %v, partial %t", test.more, err, l.Partial)
		}
		answer := r.Begin("").Call(t.Context(), "run_skill_script", `{"skill_name":"pdf","command":"scripts/z.sh"}`)
		if (answer.Failed != "") != test.refused || test.refused && !strings.Contains(answer.Text, "too many files") {
			t.Errorf("%d more files: %s", test.more, answer.Text)
		}
	}
}

// slow is an executor for tests: commands run until they are told to end.
type slow struct {
	started, end chan struct{}
	now, peak    atomic.Int32
}

func (s *slow) Execute(ctx context.Context, _ sandbox.Request) (sandbox.Result, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for old := s.peak.Load(); n > old && !s.peak.CompareAndSwap(old, n); old = s.peak.Load() {
	}
	s.started <- struct{}{}
	<-s.end
	return sandbox.Result{}, nil
}

// TestManyRuns: of any number of calls, few run at once, and of one client among others fewer.
// The others wait, as long as their clients do.
func TestManyRuns(t *testing.T) {
	for client, most := range map[string]int32{"": 8, "one": 4} {
		t.Run(client, func(t *testing.T) { manyRuns(t, client, most) })
	}
}

func manyRuns(t *testing.T, client string, most int32) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "pdf"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "pdf", "SKILL.md"), []byte("---\nname: pdf\ndescription: Convert PDF files to images.\nallowed-tools: x\n---\nConvert.\n"), 0o600))
	c := open(t, dir)
	l, err := c.Listing(t.Context(), "pdf", nil, true)
	must.Do(t, err)
	trusted := trust.Open(t.TempDir())
	must.Do(t, trusted.Add(t.Context(), trust.Seen{Skill: trust.Skill{Digest: l.Digest, Name: "pdf", Folder: l.Folder, Date: time.Unix(0, 0)}}))
	x := &slow{started: make(chan struct{}, 40), end: make(chan struct{})}
	r, err := scripts.New(c, nil, scripts.Executors{Executor: x}, trusted, nil)
	must.Do(t, err)
	call := func(ctx context.Context) string {
		answer := r.Begin(client).Call(ctx, "run_skill_script", `{"skill_name":"pdf","command":"x"}`).Text
		return answer
	}
	var calls sync.WaitGroup
	for range 30 {
		calls.Go(func() {
			if got := call(t.Context()); !strings.Contains(got, `exit_code="0"`) {
				t.Errorf("a call is answered with %s", got)
			}
		})
	}
	for range most {
		<-x.started
	}
	if client != "" { // another one need not wait
		calls.Go(func() { r.Begin("other").Call(t.Context(), "run_skill_script", `{"skill_name":"pdf","command":"x"}`) })
		<-x.started
		x.end <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := call(gone); !strings.HasPrefix(got, "not done: ") {
		t.Errorf("a call whose client is gone is answered with %s", got)
	}
	for range 30 {
		x.end <- struct{}{}
	}
	calls.Wait()
	if n := x.peak.Load(); n != most && client == "" || n > most+1 {
		t.Errorf("%d commands ran at once", n)
	}
}
