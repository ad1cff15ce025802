package proposal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/proposal"
)

// TestLeavesFolder: no diff changes a file outside of the skill, also not through a link, and
// not after a person has edited what is kept.
func TestLeavesFolder(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	out := filepath.Join(filepath.Dir(k.cat), "dog", "SKILL.md")
	was := must.Read(t, out)
	for _, name := range []string{"../dog/SKILL.md", out, "scripts/../../dog/SKILL.md", "a/../../dog/SKILL.md", `..\dog\SKILL.md`, "./../dog/SKILL.md"} {
		for _, diff := range []string{"--- a/%[1]s\n+++ b/%[1]s\n@@\n-Take the leash.\n+Run.\n", "--- %[1]s\n+++ /dev/null\n@@\n-Take the leash.\n", "--- /dev/null\n+++ %[1]s\n@@\n+Run.\n"} {
			c := proposal.Change{Skill: "cat", Diff: fmt.Sprintf(diff, name), Justification: "x"}
			if p, err := k.ProposeUpdate(ctx, bird, c); err == nil {
				t.Errorf("%q is kept as %+v", c.Diff, p)
			}
		}
	}
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	kept := filepath.Join(k.state, "proposals", "open", p.ID)
	put(t, filepath.Join(kept, "change.diff"), "diff --git a/../dog/SKILL.md b/../dog/SKILL.md\n--- /dev/null\n+++ b/../dog/SKILL.md\n@@ -0,0 +1 @@\n+Run.\n", 0o600)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err == nil || !strings.Contains(err.Error(), `".."`) {
		t.Errorf("%v", err)
	}
	put(t, filepath.Join(kept, "proposal.yaml"), "id: ../../x\nkind: update\nskill: cat\n", 0o600)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err == nil {
		t.Error("a proposal with the ID of another one is approved")
	}
	if list, err := k.List(ctx, nil, false); err == nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if must.Read(t, out) != was || must.Read(t, filepath.Join(k.cat, "SKILL.md")) != catText {
		t.Error("a skill changed")
	}
}

// TestNoFileOfTheSkill: nothing is written to what tools keep in the folder of a skill, whether
// it is there or not, nor after a person has edited what is kept.
func TestNoFileOfTheSkill(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	config := filepath.Join(k.cat, ".git", "config")
	put(t, config, "[core]\n\tbare = false\n", 0o600)
	diffs := []string{"--- /dev/null\n+++ b/%s\n@@\n+\tfsmonitor = run\n", "--- a/%[1]s\n+++ b/%[1]s\n@@\n [core]\n+\tfsmonitor = run\n", "--- a/%s\n+++ /dev/null\n"}
	names := []string{".git/config", ".git/hooks/post-checkout", "cat/.git/config", "scripts/.GIT/x", "git~1/config", ".g\u200cit/config", ".hg/hgrc", "node_modules/x", ".staging-1/x"}
	for _, name := range names {
		for _, diff := range diffs {
			c := proposal.Change{Skill: "cat", Diff: fmt.Sprintf(diff, name), Justification: "x"}
			if _, err := k.ProposeUpdate(ctx, bird, c); err == nil || !strings.Contains(err.Error(), "not part of a skill") {
				t.Errorf("%q: %v", c.Diff, err)
			}
		}
	}
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	put(t, filepath.Join(k.state, "proposals", "open", p.ID, "change.diff"), fmt.Sprintf(diffs[0], ".git/config"), 0o600)
	if s, err := k.Show(ctx, nil, p.ID); err != nil || !strings.Contains(s.Conflict, "not part of a skill") {
		t.Errorf("%q, %v", s.Conflict, err)
	}
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{Force: true}); err == nil || !strings.Contains(err.Error(), "not part of a skill") {
		t.Error(err)
	}
	if got := must.Read(t, config); !strings.HasSuffix(got, "false\n") {
		t.Error(got)
	}
	k.alone(t)
}

// TestSecrets: nobody proposes to write a file for passwords and keys, and one that is there can
// go.
func TestSecrets(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	put(t, filepath.Join(k.cat, ".env"), "A=1\n", 0o600)
	k.rescan(t)
	for _, diff := range []string{"--- /dev/null\n+++ b/scripts/.env\n@@\n+A=2\n", "--- a/.env\n+++ b/.env\n@@\n-A=1\n+A=2\n", "--- /dev/null\n+++ b/.aws/config\n@@\n+A=2\n", "--- /dev/null\n+++ b/ID_RSA\n@@\n+A=2\n"} {
		if _, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "cat", Diff: diff, Justification: "x"}); err == nil || !strings.Contains(err.Error(), "passwords and keys") {
			t.Errorf("%q: %v", diff, err)
		}
	}
	c := one("Call the cat.", "Call it.")
	c.Diff += "--- a/.env\n+++ /dev/null\n@@\n-A=1\n"
	p, err := k.ProposeUpdate(ctx, bird, c)
	must.Do(t, err)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(k.cat, ".env")); err == nil || !strings.Contains(must.Read(t, filepath.Join(k.cat, "SKILL.md")), "Call it.") {
		t.Errorf("it is still there: %v", err)
	}
}

// TestInTheWay: a new file takes the place of nothing that is there when it is approved.
func TestInTheWay(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	p, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "cat", Diff: "--- /dev/null\n+++ b/scripts/new.sh\n@@\n+echo new\n", Justification: "x"})
	must.Do(t, err)
	way := filepath.Join(k.cat, "scripts", "new.sh")
	for name, c := range map[string]struct {
		put  func() error
		says string
	}{
		"a folder":               {func() error { return os.Mkdir(way, 0o700) }, "something is at scripts/new.sh"},
		"a folder with a file":   {func() error { put(t, filepath.Join(way, "x"), "x", 0o600); return nil }, "folder of the other"},
		"another file":           {func() error { put(t, way, "echo mine\n", 0o700); return nil }, "changed since"},
		"a file in another case": {func() error { put(t, filepath.Join(k.cat, "scripts", "NEW.sh"), "x", 0o600); return nil }, "on some systems"},
		"a link":                 {func() error { return os.Symlink("feed.sh", way) }, "changed since"},
		"a link to nothing":      {func() error { return os.Symlink("nowhere", way) }, "link"},
		"a link to a device":     {func() error { return os.Symlink(os.DevNull, way) }, "link"},
	} {
		if err := c.put(); err != nil {
			t.Logf("%s: %v", name, err) // no links here
			continue
		}
		before, err := os.ReadDir(filepath.Dir(way))
		must.Do(t, err)
		if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{Force: true}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadDir(filepath.Dir(way)); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: %v before, %v after, %v", name, before, after, err)
		}
		must.Do(t, errors.Join(os.RemoveAll(way), os.RemoveAll(filepath.Join(k.cat, "scripts", "NEW.sh"))))
	}
	k.alone(t)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err != nil || must.Read(t, way) != "echo new\n" {
		t.Error(err)
	}
}

// TestSpelledAnew: a file can get a name that differs by case only.
func TestSpelledAnew(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	p, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "cat", Diff: "--- a/scripts/feed.sh\n+++ /dev/null\n--- /dev/null\n+++ b/scripts/Feed.sh\n@@\n+echo fed\n", Justification: "x"})
	must.Do(t, err)
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{})
	must.Do(t, err)
	if entries, err := os.ReadDir(filepath.Join(k.cat, "scripts")); err != nil || len(entries) != 1 || entries[0].Name() != "Feed.sh" {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestOtherOfTheName: who sees a skill sees no proposal for another one of its name.
func TestOtherOfTheName(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	put(t, filepath.Join(filepath.Dir(k.cat), "fish", "SKILL.md"), "---\nname: fish\ndescription: Feeds the fish.\n---\nThe key is under the mat.\n", 0o600)
	k.rescan(t)
	p, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "fish", Diff: "@@\n-The key is under the mat.\n+The key is in the shed.\n", Justification: "It was moved."})
	must.Do(t, err)
	guest := &repertoire.Agent{Name: "guest", Include: repertoire.Rules{Sources: []string{"bundled"}}}
	if list, err := k.List(ctx, guest, true); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if s, err := k.Show(ctx, guest, p.ID); !errors.Is(err, proposal.ErrNotFound) {
		t.Errorf("%s, %v", s.Diff, err)
	}
	if _, err := k.Show(ctx, nil, p.ID[:4]); err != nil {
		t.Error(err)
	}
	all := &repertoire.Agent{Name: "all", Include: repertoire.Rules{Sources: []string{"disk"}}}
	if s, err := k.Show(ctx, all, p.ID); err != nil || s.Conflict != "" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := k.Show(ctx, guest, p.ID[:4]); !errors.Is(err, proposal.ErrNotFound) || strings.Contains(err.Error(), "start of") {
		t.Error(err)
	}
}

// TestNameStays: a change gives no skill the name of another one, now or by a merge.
func TestNameStays(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	if _, err := k.ProposeUpdate(ctx, bird, one("name: cat", "name: dog")); err == nil || !strings.Contains(err.Error(), `from "cat" to "dog"`) {
		t.Errorf("%v", err)
	}
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	kept := filepath.Join(k.state, "proposals", "open", p.ID, "change.diff")
	put(t, kept, "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -2,1 +2,1 @@\n-name: cat\n+name: dog\n", 0o600)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err == nil || !strings.Contains(err.Error(), `from "cat" to "dog"`) {
		t.Errorf("%v", err)
	}
}

// TestLinks: a skill with links stays as it is, also if they come after the proposal.
func TestLinks(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	outside := filepath.Join(filepath.Dir(k.cat), "dog")
	c := proposal.Change{Skill: "cat", Diff: "--- a/scripts/feed.sh\n+++ b/scripts/feed.sh\n@@\n-echo feed\n+echo fed\n--- /dev/null\n+++ b/scripts/new.sh\n@@\n+x\n", Justification: "x"}
	p, err := k.ProposeUpdate(ctx, bird, c)
	must.Do(t, err)
	must.Do(t, os.Rename(filepath.Join(k.cat, "scripts"), filepath.Join(k.cat, "old")))
	if os.Symlink(outside, filepath.Join(k.cat, "scripts")) != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a folder that is a link: %v", err)
	}
	must.Do(t, os.Remove(filepath.Join(k.cat, "scripts")))
	put(t, filepath.Join(k.cat, "scripts", "feed.sh"), "#!/bin/sh\necho feed\n", 0o755)
	must.Do(t, os.Symlink(filepath.Join(outside, "SKILL.md"), filepath.Join(k.cat, "link.md")))
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a file that is a link: %v", err)
	}
	must.Do(t, os.Remove(filepath.Join(k.cat, "link.md")))
	must.Do(t, os.Symlink("SKILL.md", filepath.Join(k.cat, "link.md")))
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a link within the skill: %v", err)
	}
	must.Do(t, os.Remove(filepath.Join(k.cat, "link.md")))
	must.Do(t, os.Symlink(filepath.Join(outside, "SKILL.md"), filepath.Join(k.cat, "link.md")))
	if _, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "cat", Diff: "--- a/link.md\n+++ b/link.md\n@@\n-Take the leash.\n+x\n", Justification: "x"}); err == nil {
		t.Error("a change through a link is kept")
	}
	must.Do(t, os.Remove(filepath.Join(k.cat, "link.md")))
	file, store := filepath.Join(k.cat, "SKILL.md"), filepath.Join(filepath.Dir(filepath.Dir(k.cat)), "store.md")
	must.Do(t, os.Rename(file, store))
	must.Do(t, os.Symlink(store, file))
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{})
	if _, asked := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it.")); err == nil || asked == nil {
		t.Errorf("instructions that are a link: %v, %v", err, asked)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link is gone: %v", err)
	}
	must.Do(t, os.Remove(file))
	must.Do(t, os.Rename(store, file))
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	k.alone(t)
}

// TestBounds: what is too large or too much is refused, and costs nothing.
func TestBounds(t *testing.T) {
	testsize.Long(t)
	k, ctx := newKit(t), t.Context()
	for name, change := range map[string]func(*proposal.Change){
		"the diff has more":          func(c *proposal.Change) { c.Diff = "@@\n+" + strings.Repeat("x", 300<<10) },
		"the justification has more": func(c *proposal.Change) { c.Justification = strings.Repeat("x", 20<<10) },
		"the evidence has more":      func(c *proposal.Change) { c.Evidence = strings.Repeat("x", 70<<10) },
		"changes nothing":            func(c *proposal.Change) { c.Diff = "@@\n-Call the cat.\n+Call the cat.\n" },
		"no skill":                   func(c *proposal.Change) { c.Diff = "--- a/SKILL.md\n+++ /dev/null\n" },
		"not text":                   func(c *proposal.Change) { c.Diff = "@@\n-Call the cat.\n+Call \x00.\n" },
		"bytes that are no text":     func(c *proposal.Change) { c.Diff, c.Text = "", catText+strings.Repeat("x", 9<<10)+"\x00" },
		"SKILL.md has bytes":         func(c *proposal.Change) { c.Diff, c.Text = "", catText+"\xff" },
	} {
		c := one("Call the cat.", "Call it.")
		change(&c)
		if _, err := k.ProposeUpdate(ctx, bird, c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range 31 {
		_, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", fmt.Sprint("Call ", i)))
		if (err != nil) != (i == 30) || err != nil && !errors.Is(err, proposal.ErrTooMany) {
			t.Errorf("proposal %d of one hour: %v", i, err)
		}
	}
	kept := map[bool]int{true: 30} // by the bird, and by others
	for i := range testsize.Rounds(175, 10_000) {
		k.now = k.now.Add(2 * time.Hour)
		who := bird
		if i > 20 {
			who.Name = fmt.Sprint("bird ", i%4)
		}
		switch _, err := k.ProposeUpdate(ctx, who, one("Fill the bowl.", fmt.Sprint("Fill ", i))); {
		case err == nil:
			kept[who == bird]++
		case !errors.Is(err, proposal.ErrTooMany):
			t.Fatal(err)
		}
	}
	if n := proposal.Count(filepath.Join(k.state, "proposals")); kept[true] != 50 || kept[false] != 150 || n != 200 {
		t.Errorf("%v are kept, %d wait", kept, n)
	}
	// What is there already is returned all the same.
	if _, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call 1")); err != nil {
		t.Error(err)
	}
}
