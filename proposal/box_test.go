package proposal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

const catText = "---\nname: cat\ndescription: Feeds the cat. Use when it is hungry.\n---\n# Cat\n\nOpen the tin.\nFill the bowl.\nCall the cat.\n"

// kit is a box over a real catalog of two skills on disk and a compiled-in one.
type kit struct {
	*proposal.Box
	catalog *repertoire.Catalog
	state   string // folder of the box and the history
	cat     string // folder of the skill cat
	user    string // folder of new skills
	agent   *repertoire.Agent
	now     time.Time
}

func newKit(t *testing.T) *kit {
	t.Helper()
	t.Parallel() // most of the time goes to waiting for the disk
	top, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	k := &kit{state: filepath.Join(top, "state"), cat: filepath.Join(top, "skills", "cat"), user: filepath.Join(top, "user"), now: time.Unix(1_800_000_000, 0)}
	put(t, filepath.Join(k.cat, "SKILL.md"), catText, 0o640)
	put(t, filepath.Join(k.cat, "scripts", "feed.sh"), "#!/bin/sh\necho feed\n", 0o750)
	put(t, filepath.Join(top, "skills", "dog", "SKILL.md"), "---\nname: dog\ndescription: Walks the dog. Use when it barks.\n---\nTake the leash.\n", 0o600)
	disk, err := source.Dir(filepath.Join(top, "skills"), &source.Options{Label: "disk", Priority: 1, Kind: source.KindUser, Own: true})
	must.Do(t, err)
	bundled, err := source.Files(map[string]string{"fish/SKILL.md": "---\nname: fish\ndescription: Feeds the fish.\n---\nOpen the lid.\n"}, &source.Options{Label: "bundled", Kind: source.KindBundled})
	must.Do(t, err)
	k.agent = &repertoire.Agent{Name: "keeper", Include: repertoire.Rules{Names: []string{"cat", "cats-*"}}}
	k.catalog, err = repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{disk, bundled}, DB: filepath.Join(top, "catalog.db"),
		Schedule: repertoire.Never, Embedder: embed.None{}, Agents: []*repertoire.Agent{k.agent}})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, k.catalog.Close()) })
	k.rescan(t)
	k.open(t, nil)
	return k
}

// open opens the box anew.
func (k *kit) open(t *testing.T, change func(*proposal.Options)) {
	t.Helper()
	o := &proposal.Options{Sources: func() []source.Source { return k.catalog.Config().Sources }, UserDir: k.user, Now: func() time.Time { return k.now }}
	if change != nil {
		change(o)
	}
	var err error
	k.Box, err = proposal.Open(filepath.Join(k.state, "proposals"), k.catalog, o)
	must.Do(t, err)
}

func (k *kit) rescan(t *testing.T) {
	t.Helper()
	_, err := k.catalog.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
}

func put(t testing.TB, name, text string, mode fs.FileMode) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), mode))
	must.Do(t, os.Chmod(name, mode))
}

// one returns a change of one line of the skill cat.
func one(from, to string) proposal.Change {
	return proposal.Change{Skill: "cat", Diff: "@@\n-" + from + "\n+" + to + "\n", Justification: "It went hungry.\nTwice.", Evidence: "A log."}
}

var (
	bird   = proposal.Who{Name: "bird"}
	person = proposal.Who{Name: "a person"}
)

// TestApprove: a proposal is kept as files, shown, and made; the history has both versions, and
// modes stay.
func TestApprove(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	c := one("Fill the bowl.", "Fill the big bowl.")
	c.Diff += "--- a/scripts/feed.sh\n+++ b/scripts/feed.sh\n@@\n-echo feed\n+echo fed\n--- /dev/null\n+++ b/notes/new.md\n@@\n+New.\n"
	p, err := k.ProposeUpdate(ctx, bird, c)
	must.Do(t, err)
	if again, err := k.ProposeUpdate(ctx, person, c); err != nil || again.ID != p.ID || again.Agent != "bird" {
		t.Errorf("the same proposal again: %+v, %v", again, err)
	}
	if n := proposal.Count(filepath.Join(k.state, "proposals")); n != 1 || must.Read(t, filepath.Join(k.cat, "SKILL.md")) != catText {
		t.Errorf("%d wait, or the skill changed", n)
	}
	folder := filepath.Join(k.state, "proposals", "open", p.ID)
	for name, want := range map[string]string{"proposal.yaml": "agent: bird", "change.diff": "+Fill the big bowl.", "justification.md": "Twice.",
		"evidence.md": "A log.", "base/SKILL.md": "Fill the bowl."} {
		if text := must.Read(t, filepath.Join(folder, name)); !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
	s, err := k.Show(ctx, nil, p.ID[:9])
	if err != nil || s.Conflict != "" || s.Moved || !s.Check.OK || !strings.Contains(s.Diff, "@@ -5,5 +5,5 @@") {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = k.Approve(ctx, person, p.ID, proposal.Approval{Reason: "Right."})
	if err != nil || s.State != proposal.StateApproved || s.By != "a person" || s.Reason != "Right." {
		t.Fatalf("%+v, %v", s, err)
	}
	if text := must.Read(t, filepath.Join(k.cat, "SKILL.md")); !strings.Contains(text, "big bowl") || must.Read(t, filepath.Join(k.cat, "notes", "new.md")) != "New.\n" {
		t.Errorf("%s", text)
	}
	for name, mode := range map[string]fs.FileMode{"SKILL.md": 0o640, "scripts/feed.sh": 0o750} {
		if info, err := os.Stat(filepath.Join(k.cat, name)); runtime.GOOS != "windows" && (err != nil || info.Mode() != mode) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	k.alone(t)
	log, err := k.History(ctx, nil, "cat")
	if err != nil || len(log.Versions) != 2 || log.Versions[1].Why != "It went hungry." || log.Versions[1].Who != "a person" || log.Versions[1].Proposal != p.ID {
		t.Errorf("%+v, %v", log, err)
	}
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err == nil || !strings.Contains(err.Error(), "approved already") {
		t.Errorf("approved twice: %v", err)
	}
	if list, err := k.List(ctx, nil, true); err != nil || len(list) != 1 || proposal.Count(filepath.Join(k.state, "proposals")) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// alone checks that nothing is left beside the skills.
func (k *kit) alone(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(k.cat))
	must.Do(t, err)
	if len(entries) != 2 {
		t.Errorf("%v lie beside the skill", entries)
	}
}

// TestMoved: a skill that was changed elsewhere takes the proposal all the same; one that was
// changed at the same line is a conflict that names it.
func TestMoved(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call the cat twice."))
	must.Do(t, err)
	q, err := k.ProposeUpdate(ctx, bird, one("Open the tin.", "Open two tins."))
	must.Do(t, err)
	put(t, filepath.Join(k.cat, "SKILL.md"), strings.Replace(catText, "Open the tin.", "Warm it.\nOpen the box.", 1), 0o640)
	k.rescan(t)
	s, err := k.Approve(ctx, person, p.ID, proposal.Approval{})
	if text := must.Read(t, filepath.Join(k.cat, "SKILL.md")); err != nil || !s.Moved || !strings.Contains(text, "Open the box.\nFill the bowl.\nCall the cat twice.\n") {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(k.cat, "SKILL.md")); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o640) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	_, err = k.Approve(ctx, person, q.ID, proposal.Approval{})
	conflict, ok := errors.AsType[*proposal.ConflictError](err)
	if !ok || conflict.Path != "SKILL.md" || conflict.Line != 7 || conflict.Last != 8 {
		t.Errorf("%v", err)
	}
	if s, err := k.Show(ctx, nil, q.ID); err != nil || !strings.Contains(s.Conflict, "SKILL.md, lines 7 to 8") {
		t.Errorf("%+v, %v", s, err)
	}
	if log, err := k.History(ctx, nil, "cat"); err != nil || len(log.Versions) != 2 {
		t.Errorf("%+v, %v", log, err)
	}
}

// TestConfirm: nothing is made that was not confirmed, nor what is not as it was confirmed.
func TestConfirm(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{Confirm: func(s proposal.Shown) bool { return s.Diff == "" }})
	if !errors.Is(err, proposal.ErrDeclined) {
		t.Errorf("%v", err)
	}
	edited := strings.Replace(catText, "Open the tin.", "Open it.", 1)
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{Confirm: func(proposal.Shown) bool {
		put(t, filepath.Join(k.cat, "SKILL.md"), edited, 0o640)
		return true
	}})
	if err == nil || must.Read(t, filepath.Join(k.cat, "SKILL.md")) != edited {
		t.Errorf("changed after it was confirmed: %v", err)
	}
}

// TestReject: the reason is kept, and shown to whoever proposes the same again.
func TestReject(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	if _, err := k.Reject(ctx, person, p.ID, " "); err == nil {
		t.Error("rejected without a reason")
	}
	if _, err := k.Reject(ctx, person, p.ID, "Unclear."); err != nil {
		t.Error(err)
	}
	again, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	if err != nil || again.State != proposal.StateRejected || again.Reason != "Unclear." {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestNew: a new skill goes to the user's folder, with scripts that can be run.
func TestNew(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	n := proposal.Addition{Name: "cats-eye", Justification: "Asked for.", Files: proposal.Files{
		"SKILL.md": {Data: []byte("---\nname: cats-eye\ndescription: Looks. Use when it is dark.\n---\nLook.\n")}, "./run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o700}}}
	p, err := k.ProposeNew(ctx, bird, n)
	must.Do(t, err)
	if s, err := k.Show(ctx, k.agent, p.ID); err != nil || !strings.Contains(s.Diff, "+++ b/run.sh") {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(k.user, "cats-eye", "run.sh"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(k.user); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	for name, change := range map[string]func(*proposal.Addition){
		"no SKILL.md":      func(n *proposal.Addition) { n.Files = proposal.Files{"a.md": {}} },
		"the name":         func(n *proposal.Addition) { n.Name = "cats-ear" },
		"is no name":       func(n *proposal.Addition) { n.Name = "../up" },
		"there is a skill": func(n *proposal.Addition) { n.Name = "dog" },
		"justification":    func(n *proposal.Addition) { n.Justification = "\n" },
		"on some systems":  func(n *proposal.Addition) { n.Files["RUN.sh"] = proposal.File{} },
		"the folder of":    func(n *proposal.Addition) { n.Files["run.sh/x"] = proposal.File{} },
		"not part of":      func(n *proposal.Addition) { n.Files[".git/hooks/post-checkout"] = proposal.File{} },
		"passwords":        func(n *proposal.Addition) { n.Files["a/.env"] = proposal.File{} },
		"hidden":           func(n *proposal.Addition) { n.Files["run\u200b.sh"] = proposal.File{} },
		"is there twice":   func(n *proposal.Addition) { n.Files["./run.sh"] = proposal.File{} },
		"255 bytes":        func(n *proposal.Addition) { n.Files[strings.Repeat("a", 300)] = proposal.File{} },
		`".."`:             func(n *proposal.Addition) { n.Files["../x"] = proposal.File{} },
		"the files have":   func(n *proposal.Addition) { n.Files["x"] = proposal.File{Data: make([]byte, 2<<20)} },
		"a new skill may": func(n *proposal.Addition) {
			for i := range 70 {
				n.Files[fmt.Sprint(i)] = proposal.File{}
			}
		},
	} {
		bad := n
		bad.Files = proposal.Files{"SKILL.md": n.Files["SKILL.md"], "run.sh": n.Files["./run.sh"]}
		change(&bad)
		if _, err := k.ProposeNew(ctx, bird, bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestAtTop: a skill whose folder has other skills is not changed: they would be replaced too.
func TestAtTop(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	put(t, filepath.Join(filepath.Dir(k.cat), "SKILL.md"), "---\nname: top\ndescription: Lies at the top.\n---\nA line.\n", 0o600)
	k.rescan(t)
	for _, diff := range []string{"@@\n-A line.\n+Another.\n", "--- a/cat/SKILL.md\n+++ b/cat/SKILL.md\n@@\n-Call the cat.\n+Call it.\n"} {
		_, err := k.ProposeUpdate(ctx, bird, proposal.Change{Skill: "top", Diff: diff, Justification: "It is short."})
		if !errors.Is(err, proposal.ErrLocked) || !strings.Contains(err.Error(), "a folder of its own") {
			t.Errorf("%v", err)
		}
	}
	if _, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it.")); err != nil {
		t.Error(err)
	}
}

// TestLocked: what is compiled in or fetched stays, and a changed copy of it can be made.
func TestLocked(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	c := proposal.Change{Skill: "fish", Diff: "@@\n-Open the lid.\n+Lift the lid.\n", Justification: "It broke."}
	p, err := k.ProposeUpdate(ctx, bird, c)
	must.Do(t, err)
	if _, err := k.Approve(ctx, person, p.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) {
		t.Errorf("%v", err)
	}
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{To: k.user})
	if text := must.Read(t, filepath.Join(k.user, "fish", "SKILL.md")); err != nil || !strings.Contains(text, "Lift the lid.") {
		t.Errorf("%s, %v", text, err)
	}
	k.open(t, func(o *proposal.Options) { o.Fetched = []string{filepath.Dir(k.cat)} })
	q, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	if _, err = k.Approve(ctx, person, q.ID, proposal.Approval{}); !errors.Is(err, proposal.ErrLocked) || !strings.Contains(err.Error(), "--to") {
		t.Errorf("%v", err)
	}
	k.open(t, func(o *proposal.Options) { o.Installed = filepath.Dir(k.cat) })
	put(t, filepath.Join(filepath.Dir(k.cat), "skills.lock"), "", 0o600)
	if s, err := k.Show(ctx, nil, q.ID); err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "skills update --verify") {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestScope: for an agent, a skill outside of its scope and the proposals for it do not exist,
// and nobody decides on what he proposed himself.
func TestScope(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	keeper := proposal.Who{Agent: k.agent, Name: "keeper"}
	c := proposal.Change{Skill: "dog", Diff: "@@\n-Take the leash.\n+Take it.\n", Justification: "Shorter."}
	if _, err := k.ProposeUpdate(ctx, keeper, c); !errors.Is(err, skill.ErrNotFound) || strings.Contains(err.Error(), "disk") {
		t.Errorf("%v", err)
	}
	p, err := k.ProposeUpdate(ctx, bird, c)
	must.Do(t, err)
	mine, err := k.ProposeUpdate(ctx, keeper, one("Call the cat.", "Call it."))
	must.Do(t, err)
	other, err := k.ProposeNew(ctx, bird, proposal.Addition{Name: "mouse", Justification: "New.", Files: proposal.Files{
		"SKILL.md": {Data: []byte("---\nname: mouse\ndescription: Runs. Use when a cat comes.\n---\nRun.\n")}}})
	must.Do(t, err)
	if list, err := k.List(ctx, k.agent, true); err != nil || len(list) != 1 || list[0].ID != mine.ID {
		t.Errorf("%+v, %v", list, err)
	}
	for _, id := range []string{p.ID, other.ID, "0000000-000000", "", "../closed"} {
		if _, err := k.Show(ctx, k.agent, id); !errors.Is(err, proposal.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := k.Reject(ctx, keeper, id, "No."); !errors.Is(err, proposal.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := k.Approve(ctx, keeper, mine.ID, proposal.Approval{}); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("%v", err)
	}
	if _, err := k.History(ctx, k.agent, "dog"); !errors.Is(err, skill.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestCheckDecides: a change that the check is against is made only by force, and what the
// check sees is what is made.
func TestCheckDecides(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	var seen proposal.Trial
	k.open(t, func(o *proposal.Options) {
		o.Check = func(_ context.Context, trial proposal.Trial) (proposal.Checked, error) {
			seen = trial
			return proposal.Checked{Findings: []skill.Problem{{Rule: "bad", Severity: skill.Error, Message: "Bad."}}}, nil
		}
	})
	p, err := k.ProposeUpdate(ctx, bird, one("Call the cat.", "Call it."))
	must.Do(t, err)
	s, err := k.Approve(ctx, person, p.ID, proposal.Approval{})
	if !errors.Is(err, proposal.ErrFails) || len(s.Check.Findings) != 1 || must.Read(t, filepath.Join(k.cat, "SKILL.md")) != catText {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = k.Approve(ctx, person, p.ID, proposal.Approval{Force: true})
	if text := must.Read(t, filepath.Join(k.cat, "SKILL.md")); err != nil || text != string(seen.After["SKILL.md"].Data) || seen.Name != "cat" || seen.Source != "disk" || seen.Dir != "cat" {
		t.Errorf("%s, %v, %+v", text, err, seen)
	}
}

// TestAtOnce: of the same proposal, made many times at once, one is kept, and only one of many
// decisions holds.
func TestAtOnce(t *testing.T) {
	k, ctx := newKit(t), t.Context()
	ids, errs := make(chan string, 8), make(chan error, 8)
	for i := range 8 {
		go func() {
			p, err := k.ProposeUpdate(ctx, proposal.Who{Name: fmt.Sprint(i)}, one("Call the cat.", "Call it."))
			ids <- p.ID
			errs <- err
		}()
	}
	id := <-ids
	for range 7 {
		if other := <-ids; other != id {
			t.Errorf("%s and %s", id, other)
		}
	}
	for range 8 {
		must.Do(t, <-errs)
	}
	for range 4 {
		go func() {
			_, err := k.Approve(ctx, person, id, proposal.Approval{})
			errs <- err
		}()
		go func() {
			_, err := k.Reject(ctx, person, id, "No.")
			errs <- err
		}()
	}
	done := 0
	for range 8 {
		if <-errs == nil {
			done++
		}
	}
	if log, err := k.History(ctx, nil, "cat"); done != 1 || err != nil || len(log.Versions) > 2 {
		t.Errorf("%d decisions hold, %+v, %v", done, log, err)
	}
}
