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
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/proposal"
)

// TestLeavesFolder: no diff changes a file outside of the skill, also not through a link, and
// not after a person has edited what is kept.
func TestLeavesFolder(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	out := filepath.Join(filepath.Dir(k.cat), "dog", "SKILL.md")
	was := get(t, out)
	for _, name := range []string{"../dog/SKILL.md", out, "scripts/../../dog/SKILL.md", "a/../../dog/SKILL.md", `..\dog\SKILL.md`, "./../dog/SKILL.md"} {
		for _, diff := range []string{"--- a/%[1]s\n+++ b/%[1]s\n@@\n-Take the leash.\n+Run.\n", "--- %[1]s\n+++ /dev/null\n@@\n-Take the leash.\n", "--- /dev/null\n+++ %[1]s\n@@\n+Run.\n"} {
			c := proposal.Change{Skill: "cat", Diff: fmt.Sprintf(diff, name), Justification: "x"}
			if p, err := k.ProposeUpdate(ctx, bird, c); err == nil {
				t.Errorf("%q is kept as %+v", c.Diff, p)
			}
		}
	}
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	try(t, err)
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
	if get(t, out) != was || get(t, filepath.Join(k.cat, "SKILL.md")) != catText {
		t.Error("a skill changed")
	}
}

// TestOtherOfTheName: who sees a skill sees no proposal for another one of its name.
func TestOtherOfTheName(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	put(t, filepath.Join(filepath.Dir(k.cat), "fish", "SKILL.md"), "---\nname: fish\ndescription: Feeds the fish.\n---\nThe key is under the mat.\n", 0o600)
	k.rescan(t)
	p, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "fish", Diff: "@@\n-The key is under the mat.\n+The key is in the shed.\n", Justification: "It was moved."})
	try(t, err)
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
	try(t, err)
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
	try(t, err)
	try(t, os.Rename(filepath.Join(k.cat, "scripts"), filepath.Join(k.cat, "old")))
	if os.Symlink(outside, filepath.Join(k.cat, "scripts")) != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a folder that is a link: %v", err)
	}
	try(t, os.Remove(filepath.Join(k.cat, "scripts")))
	put(t, filepath.Join(k.cat, "scripts", "feed.sh"), "#!/bin/sh\necho feed\n", 0o755)
	try(t, os.Symlink(filepath.Join(outside, "SKILL.md"), filepath.Join(k.cat, "link.md")))
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a file that is a link: %v", err)
	}
	try(t, os.Remove(filepath.Join(k.cat, "link.md")))
	try(t, os.Symlink("SKILL.md", filepath.Join(k.cat, "link.md")))
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("a link within the skill: %v", err)
	}
	try(t, os.Remove(filepath.Join(k.cat, "link.md")))
	try(t, os.Symlink(filepath.Join(outside, "SKILL.md"), filepath.Join(k.cat, "link.md")))
	if _, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "cat", Diff: "--- a/link.md\n+++ b/link.md\n@@\n-Take the leash.\n+x\n", Justification: "x"}); err == nil {
		t.Error("a change through a link is kept")
	}
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
	kept := 30
	for i := range testsize.Rounds(172, 10_000) {
		k.now = k.now.Add(2 * time.Hour)
		switch _, err := k.ProposeUpdate(ctx, bird, one("Fill the bowl.", fmt.Sprint("Fill ", i))); {
		case err == nil:
			kept++
		case !errors.Is(err, proposal.ErrTooMany):
			t.Fatal(err)
		}
	}
	if n := proposal.Count(filepath.Join(k.state, "proposals")); kept != 200 || n != 200 {
		t.Errorf("%d are kept, %d wait", kept, n)
	}
	// What is there already is returned all the same.
	if _, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call 1")); err != nil {
		t.Error(err)
	}
}
