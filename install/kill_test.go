package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/skill"
)

// killed are the calls that TestKilled kills, on a folder in which cat is installed.
var killed = map[string]func(t *testing.T, in *Installer, from string) error{
	"install": func(t *testing.T, in *Installer, from string) error {
		_, err := in.Install(t.Context(), Request{Source: from, All: true}, &caller{action: Replace})
		return err
	},
	"update": func(t *testing.T, in *Installer, _ string) error {
		_, err := in.Update(t.Context(), Order{Force: true}, &caller{})
		return err
	},
	"beside": func(t *testing.T, in *Installer, from string) error {
		r, err := in.Install(t.Context(), Request{Source: skills(t, from+"-more", "cat"), All: true}, &caller{action: Add, name: beside})
		if err == nil {
			_, err = in.Remove(t.Context(), []string{FullName(r.Changes[0].Name)}, &caller{})
		}
		return err
	},
	"remove": func(t *testing.T, in *Installer, _ string) error {
		_, err := in.Remove(t.Context(), []string{"cat"}, &caller{})
		return err
	},
}

// TestKilledProcess is the process that TestKilled starts. It kills itself before a step.
func TestKilledProcess(t *testing.T) {
	call := os.Getenv("TEST_KILLED_CALL")
	if call == "" {
		t.Skip("for TestKilled")
	}
	in, err := Open(os.Getenv("TEST_KILLED_DIR"), nil)
	must.Do(t, err)
	var at, steps int
	fmt.Sscan(os.Getenv("TEST_KILLED_AT"), &at)
	in.step = func(what string) {
		if steps++; steps == at {
			fmt.Fprintln(os.Stderr, "killed before:", what)
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
	}
	must.Do(t, killed[call](t, in, os.Getenv("TEST_KILLED_SOURCE")))
}

// TestKilled: whenever a process is killed, each skill is there as a whole, as it was or as
// it was to be, and the lock knows it; the same call then finishes the work.
func TestKilled(t *testing.T) {
	for call, again := range killed {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				if !killOnce(t, call, at, again) {
					if at < 6 {
						t.Errorf("%d steps only", at-1)
					}
					return
				}
			}
		})
	}
}

// killOnce kills one call before a step. It returns false if the call has fewer steps.
func killOnce(t *testing.T, call string, at int, again func(*testing.T, *Installer, string) error) bool {
	from := skills(t, t.TempDir(), "cat", "dog")
	in := installer(t, nil)
	add(t, in, from, "cat")
	must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), "TEST_KILLED_CALL="+call, "TEST_KILLED_DIR="+in.dir, "TEST_KILLED_SOURCE="+from, fmt.Sprint("TEST_KILLED_AT=", at))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		t.Fatalf("step %d: %s", at, &out)
	}
	verdicts, unknown, vErr := in.Verify(t.Context(), nil)
	if vErr != nil || len(unknown) > 0 {
		t.Errorf("%s: unknown %q, %v", &out, unknown, vErr)
	}
	for _, v := range verdicts {
		if !v.OK {
			t.Errorf("%s: %+v", &out, v)
		}
	}
	if err == nil {
		return false
	}
	if e := again(t, in, from); e != nil && (call != "remove" || !strings.Contains(e.Error(), "installed")) {
		t.Errorf("%s: again: %v", &out, e)
	}
	stages, err := scratch.List(in.dir, skill.StagingPrefix)
	must.Do(t, err)
	for _, dir := range stages {
		then := time.Now().AddDate(0, 0, -1)
		must.Do(t, os.Chtimes(dir, then, then))
	}
	in.sweep()
	clean(t, in, map[string][]string{"install": {"cat", "dog"}, "update": {"cat"}, "beside": {"cat"}}[call]...)
	return true
}
