package proposal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// one finds the only skill.
type one struct{ folder string }

func (o one) Lookup(context.Context, string, *search.Agent) (search.Entry, error) {
	return search.Entry{Meta: skill.Meta{ID: "cat", Name: "cat", Path: "cat/SKILL.md", Location: filepath.Join(o.folder, "SKILL.md")}}, nil
}

const oldCat, newCat = "---\nname: cat\ndescription: Feeds.\n---\nOld.\n", "---\nname: cat\ndescription: Feeds.\n---\nNew.\n"

// waits returns a box in which a proposal for the skill cat waits, in a folder.
func waits(t *testing.T) (top string, c one, b *Box, p Proposal) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	c = one{filepath.Join(top, "skills", "cat")}
	must.Do(t, writeFiles(c.folder, Files{"SKILL.md": {[]byte(oldCat), 0o644}, "run.sh": {[]byte("x\n"), 0o755}}, nil))
	b, err = Open(filepath.Join(top, "proposals"), c, nil)
	must.Do(t, err)
	p, err = b.ProposeUpdate(t.Context(), Who{Name: "bird"}, Change{Skill: "cat", Diff: "@@\n-Old.\n+New.\n", Justification: "New is better."})
	must.Do(t, err)
	return top, c, b, p
}

// planOf returns what approving a proposal would do.
func planOf(t *testing.T, b *Box, p Proposal) *plan {
	t.Helper()
	r, err := b.read(t.Context(), p.ID)
	must.Do(t, err)
	plan, err := b.plan(t.Context(), nil, &r, "")
	must.Do(t, err)
	return plan
}

// TestRecover: whenever a process is killed while it makes a change, the next one finds the
// skill as it was with a proposal that waits, or as it is to be with one that is approved.
func TestRecover(t *testing.T) {
	for _, x := range []struct {
		name string
		done bool // the change is made
		kill func(b *Box, act *action, before, after Files) error
	}{
		{"before the copy", false, func(b *Box, act *action, _, _ Files) error { return os.MkdirAll(act.copied(), 0o700) }},
		{"after the copy", false, func(b *Box, act *action, before, after Files) error { return act.prepare(t.Context(), before, after) }},
		{"between two renames", false, func(b *Box, act *action, before, after Files) error {
			if err := act.prepare(t.Context(), before, after); err != nil {
				return err
			}
			return os.Rename(act.Folder, act.old())
		}},
		{"after the swap", true, func(b *Box, act *action, before, after Files) error {
			if err := act.prepare(t.Context(), before, after); err != nil {
				return err
			}
			return act.finish(t.Context())
		}},
		{"while it is written down", true, func(b *Box, act *action, before, after Files) error {
			if err := act.prepare(t.Context(), before, after); err != nil {
				return err
			}
			if err := act.finish(t.Context()); err != nil {
				return err
			}
			data, err := os.ReadFile(filepath.Join(b.dir, swapFile))
			if err == nil {
				err = b.complete(t.Context(), act)
			}
			if err == nil { // as if the last step were missing
				err = os.WriteFile(filepath.Join(b.dir, swapFile), data, 0o600)
			}
			return err
		}},
	} {
		top, c, b, p := waits(t)
		plan := planOf(t, b, p)
		act := &plan.action
		act.Why = "New is better."
		will := *act
		must.Do(t, will.prepare(t.Context(), plan.trial.Before, plan.trial.After))
		act.Will = will.Will
		must.Do(t, os.RemoveAll(act.stage()))
		must.Do(t, writeYAML(filepath.Join(b.dir, swapFile), act))
		must.Do(t, x.kill(b, act, plan.trial.Before, plan.trial.After))

		b, err := Open(b.dir, c, nil)
		must.Do(t, err)
		list, err := b.List(t.Context(), nil, true)
		must.Do(t, err)
		want, state := oldCat, StateOpen
		if x.done {
			want, state = newCat, StateApproved
		}
		data, err := os.ReadFile(filepath.Join(c.folder, "SKILL.md"))
		if err != nil || string(data) != want || len(list) != 1 || list[0].State != state {
			t.Errorf("%s: %v, %q, %+v", x.name, err, data, list)
		}
		if entries, err := os.ReadDir(filepath.Join(top, "skills")); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v is left, %v", x.name, entries, err)
		}
		if !x.done {
			if _, err := b.Approve(t.Context(), Who{}, p.ID, Approval{}); err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		}
		if log, err := b.History(t.Context(), nil, "cat"); err != nil || log.Versions[len(log.Versions)-1].Why != "New is better." {
			t.Errorf("%s: %+v, %v", x.name, log, err)
		}
	}
}

// TestEditedMeanwhile: an edit that comes just before the folders are swapped is not lost.
func TestEditedMeanwhile(t *testing.T) {
	_, c, b, p := waits(t)
	plan := planOf(t, b, p)
	must.Do(t, plan.prepare(t.Context(), plan.trial.Before, plan.trial.After))
	must.Do(t, os.WriteFile(filepath.Join(c.folder, "run.sh"), []byte("edited\n"), 0o755))
	if err := plan.finish(t.Context()); err == nil {
		t.Error("the folders are swapped")
	}
	if data, err := os.ReadFile(filepath.Join(c.folder, "run.sh")); err != nil || string(data) != "edited\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// revertsIn is the environment variable with the folder in which this program reverts a skill
// over and over, until it is killed.
const revertsIn = "PROPOSAL_TEST_REVERTS_IN"

func TestMain(m *testing.M) {
	if top := os.Getenv(revertsIn); top != "" {
		reverts(top)
		return
	}
	testsize.Main(m)
}

func reverts(top string) {
	b, err := Open(filepath.Join(top, "proposals"), one{filepath.Join(top, "skills", "cat")}, nil)
	for n := 0; err == nil; n++ {
		log, _ := b.History(context.Background(), nil, "cat")
		_, err = b.Revert(context.Background(), Who{}, "cat", fmt.Sprint(log.Versions[len(log.Versions)-2].Number))
		fmt.Println(n)
	}
	fmt.Println("error:", err)
}

// TestKilled: a process that is killed at any time leaves the skill in one of its two states,
// and the next one goes on.
func TestKilled(t *testing.T) {
	top, c, b, p := waits(t)
	_, err := b.Approve(t.Context(), Who{}, p.ID, Approval{})
	must.Do(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	for range testsize.Rounds(3, 200) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), revertsIn+"="+top)
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for range 1 + rng.IntN(4) {
			if !lines.Scan() || strings.HasPrefix(lines.Text(), "error") {
				t.Fatal(lines.Text())
			}
		}
		must.Do(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		if b, err = Open(b.dir, c, nil); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(c.folder, "SKILL.md"))
		if s := string(data); err != nil || s != oldCat && s != newCat {
			t.Fatalf("%q, %v", s, err)
		}
		if info, err := os.Stat(filepath.Join(c.folder, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
			t.Fatalf("%v, %v", info, err)
		}
	}
	if _, err := b.Record(t.Context(), Who{}, "cat"); err != nil { // which puts in order what is left
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Join(top, "skills")); err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
}
