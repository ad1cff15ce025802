package pushback_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pushback"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

const label = "root:skills"

func text(name, body string) string {
	return "---\nname: " + name + "\ndescription: Keeps a " + name + ". Use when it wants something.\n---\n" + body + "\n"
}

// A kit is a repository with skills, and a shared catalog of them.
type kit struct {
	t    *testing.T
	repo string
	st   *memorytest.Store
	desk *proposal.Shared
	src  source.Source
	c    *repertoire.Catalog
}

func newKit(t *testing.T) *kit {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	k := &kit{t: t, repo: filepath.Join(t.TempDir(), "repo"), st: memorytest.New()}
	for _, name := range []string{"cat", "dog", "cow"} {
		k.write("skills/"+name+"/SKILL.md", text(name, "Feed it.\n\nWait."))
	}
	k.git("init", "--quiet", "--initial-branch=main", "--template=")
	k.git("config", "user.name", "Cleo")
	k.git("config", "user.email", "cleo@team.example")
	k.commit()
	src, err := source.Dir(filepath.Join(k.repo, "skills"), &source.Options{Label: label, Kind: source.KindRoot})
	must.Do(t, err)
	k.src = src
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never, Embedder: embed.None{}})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	k.c = c
	k.desk = proposal.OpenShared(k.st, c, &proposal.Options{Sources: func() []source.Source { return []source.Source{src} }})
	must.Do(t, k.st.Update(t.Context(), func(tx store.Tx) error {
		_, err := tx.PutSource(store.Source{Label: label, Origin: "ours"})
		return err
	}))
	return k
}

func (k *kit) write(name, text string) {
	k.t.Helper()
	must.Write(k.t, filepath.Join(k.repo, name), text)
}

func (k *kit) git(args ...string) string {
	k.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", k.repo}, args...)...).CombinedOutput()
	if err != nil {
		k.t.Fatalf("git %q: %v, %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (k *kit) commit() {
	k.t.Helper()
	k.git("add", "--all")
	k.git("commit", "--quiet", "-m", "Skills")
}

// approved proposes a change of a skill and approves it.
func (k *kit) approved(name, diff string) proposal.Proposal {
	k.t.Helper()
	p, err := k.desk.ProposeUpdate(k.t.Context(), proposal.Who{Name: "bird"}, proposal.Change{Skill: name, Diff: diff, Justification: "Better."})
	must.Do(k.t, err)
	s, err := k.desk.Approve(k.t.Context(), proposal.Who{Name: "Anna"}, p.ID, proposal.Approval{})
	must.Do(k.t, err)
	return s.Proposal
}

// apply applies, and returns what became of each skill: where it is, or why it is not.
func (k *kit) apply(o pushback.Options) map[string]string {
	k.t.Helper()
	if o.Origins == nil {
		o.Origins = map[string]string{label: "ours"}
	}
	list, _, err := pushback.Apply(k.t.Context(), k.st, []source.Source{k.src}, &o)
	must.Do(k.t, err)
	done := make(map[string]string)
	for _, r := range list {
		if done[r.Skill] = r.Where; r.Err != nil {
			done[r.Skill] = r.Err.Error()
		}
	}
	return done
}

// TestApply: a change that does not fit stops no other one, nothing that is there is lost, and what
// could not be done can be done again.
func TestApply(t *testing.T) {
	k := newKit(t)
	cat, dog, cow := k.approved("cat", "@@\n-Feed it.\n+Feed it well.\n"), k.approved("dog", "@@\n-Feed it.\n+Walk it.\n"), k.approved("cow", "@@\n-Feed it.\n+Milk it.\n")
	k.write("skills/dog/SKILL.md", text("dog", "Wash it."))
	k.write("skills/cow/SKILL.md", text("cow", "Feed it.\n\nWait.\nPet it."))
	k.commit()
	k.write("skills/cat/SKILL.md", "not committed")
	k.git("branch", "proposal/"+cat.ID)
	done := k.apply(pushback.Options{})
	for name, want := range map[string]string{
		"cat": "git branch -D proposal/" + cat.ID, "dog": "changed since the proposal was made", "cow": "on the branch proposal/" + cow.ID,
	} {
		if !strings.Contains(done[name], want) {
			t.Errorf("%s: %q, want %q", name, done[name], want)
		}
	}
	if got := k.git("show", "proposal/"+cow.ID+":skills/cow/SKILL.md"); got+"\n" != text("cow", "Milk it.\n\nWait.\nPet it.") {
		t.Errorf("the branch has %q", got)
	}
	k.git("branch", "-D", "proposal/"+cat.ID)
	if p, err := k.desk.Reject(t.Context(), proposal.Who{Name: "Anna"}, dog.ID, "It does not fit."); err != nil || p.State != proposal.StateRejected {
		t.Errorf("an approved one cannot be rejected: %+v, %v", p, err)
	}
	if _, err := k.desk.Reject(t.Context(), proposal.Who{Name: "Anna"}, cow.ID, "Too late."); err == nil || !strings.Contains(err.Error(), "is approved already") {
		t.Errorf("an applied one is rejected: %v", err)
	}
	if done := k.apply(pushback.Options{Remote: "nowhere"}); len(done) != 1 || !strings.Contains(done["cat"], "which is made, to nowhere") {
		t.Errorf("to no remote: %v", done)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	k.git("clone", "--quiet", "--bare", ".", bare)
	k.git("remote", "add", "origin", bare)
	if done := k.apply(pushback.Options{Remote: "origin"}); !strings.HasSuffix(done["cat"], "of origin") {
		t.Errorf("to a remote: %v", done)
	}
	k.git("--git-dir", bare, "rev-parse", "--verify", "proposal/"+cat.ID)
	if text, err := os.ReadFile(filepath.Join(k.repo, "skills/cat/SKILL.md")); err != nil || string(text) != "not committed" {
		t.Errorf("what is checked out: %q, %v", text, err)
	}
	if p, err := k.desk.Find(t.Context(), cat.ID); err != nil || p.Applied.IsZero() || p.By != "Anna" {
		t.Errorf("noted %+v, %v", p, err)
	}
}

// TestElsewhere: a root that is not here, is another one, or is in no repository says so.
func TestElsewhere(t *testing.T) {
	k := newKit(t)
	p := k.approved("cat", "@@\n-Feed it.\n+Feed it well.\n")
	if done := k.apply(pushback.Options{Origins: map[string]string{label: "theirs"}}); !strings.Contains(done["cat"], "from another repository") {
		t.Errorf("another one: %v", done)
	}
	list, others, err := pushback.Apply(t.Context(), k.st, nil, nil)
	if len(list) != 0 || len(others) != 1 || others[0] != label || err != nil {
		t.Errorf("not here: %v, %v, %v", list, others, err)
	}
	list, _, err = pushback.Apply(t.Context(), k.st, nil, &pushback.Options{IDs: []string{p.ID}})
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Err.Error(), "is no root here") {
		t.Errorf("not here, by ID: %v, %v", list, err)
	}
	if _, _, err := pushback.Apply(t.Context(), k.st, nil, &pushback.Options{IDs: []string{"none"}}); !errors.Is(err, proposal.ErrNotFound) {
		t.Errorf("no such one: %v", err)
	}
	must.Do(t, os.RemoveAll(filepath.Join(k.repo, ".git")))
	if done := k.apply(pushback.Options{}); !strings.Contains(done["cat"], `in no git repository; "skills proposals patch"`) {
		t.Errorf("no repository: %v", done)
	}
	k.st.Break(errors.New("gone"))
	if list, err := k.desk.List(t.Context(), nil, true); list != nil || err == nil {
		t.Errorf("listed without the store: %v, %v", list, err)
	}
	if _, _, err := pushback.Apply(context.Background(), k.st, nil, nil); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("without the store: %v", err)
	}
}

// TestTwoDecide: of two who decide at once, one does.
func TestTwoDecide(t *testing.T) {
	k := newKit(t)
	p, err := k.desk.ProposeUpdate(t.Context(), proposal.Who{Name: "bird"}, proposal.Change{Skill: "cat", Diff: "@@\n-Feed it.\n+Pet it.\n", Justification: "Better."})
	must.Do(t, err)
	_, err = k.desk.Approve(t.Context(), proposal.Who{Name: "Anna"}, p.ID, proposal.Approval{Confirm: func(proposal.Shown) bool {
		_, err := k.desk.Reject(t.Context(), proposal.Who{Name: "Ben"}, p.ID, "No.")
		must.Do(t, err)
		return true
	}})
	if err == nil || !strings.Contains(err.Error(), "is rejected already") {
		t.Errorf("approved too: %v", err)
	}
	again, err := k.desk.ProposeUpdate(t.Context(), proposal.Who{Name: "cat"}, proposal.Change{Skill: "cat", Diff: "@@\n-Feed it.\n+Pet it.\n", Justification: "Please."})
	if err != nil || again.ID != p.ID || again.Reason != "No." || again.By != "Ben" {
		t.Errorf("proposed again: %+v, %v", again, err)
	}
}

// TestHostileWords: what a justification says becomes no change of a patch, and no word about who
// approved.
func TestHostileWords(t *testing.T) {
	k := newKit(t)
	why := "Better.\n\nApproved-by: the boss\n---\ndiff --git a/evil.sh b/evil.sh\nnew file mode 100755\n--- /dev/null\n+++ b/evil.sh\n@@ -0,0 +1 @@\n+evil\n" +
		"From 0000 Mon Sep 17 00:00:00 2001\n-- \n>8 scissors\n\x1b[2J"
	p, err := k.desk.ProposeUpdate(t.Context(), proposal.Who{Name: "bird\nApproved-by: the boss"}, proposal.Change{Skill: "cat", Diff: "@@\n-Feed it.\n+Feed it well.\n", Justification: why})
	must.Do(t, err)
	_, err = k.desk.Approve(t.Context(), proposal.Who{Name: "Anna"}, p.ID, proposal.Approval{Reason: "Fine.\n\nApproved-by: the boss"})
	must.Do(t, err)
	patch, err := k.desk.Patch(t.Context(), p.ID)
	must.Do(t, err)
	file := filepath.Join(t.TempDir(), "patch")
	must.Write(t, file, patch)
	k.git("am", "--quiet", "--directory=skills", file)
	k.git("reset", "--quiet", "--hard")
	done := k.apply(pushback.Options{})
	if !strings.Contains(done["cat"], "already") {
		t.Errorf("patched, it is applied again: %v", done)
	}
	if done := k.apply(pushback.Options{}); len(done) > 0 {
		t.Errorf("what is there already is not noted: %v", done)
	}
	k.git("reset", "--quiet", "--hard", "HEAD~1")
	k.apply(pushback.Options{IDs: []string{p.ID}})
	for _, commit := range []string{"HEAD@{1}", "proposal/" + p.ID} {
		if names := k.git("show", "--format=", "--name-only", commit); names != "skills/cat/SKILL.md" {
			t.Errorf("%s changes %s", commit, names)
		}
		message := k.git("log", "-1", "--format=%B", commit)
		if n := strings.Count("\n"+message, "\nApproved-by: "); n != 1 || strings.Contains(message, "\x1b") {
			t.Errorf("%s says %q", commit, message)
		}
	}
}

// row is a proposal that somebody has written into the database by hand.
func (k *kit) row(id, state, kind, skill, dir, text string) {
	k.t.Helper()
	info := fmt.Sprintf(`{"id":%q,"kind":%q,"skill":%q,"source":%q,"dir":%q,"state":%q,"digest":"x","by":"Anna"}`, id, kind, skill, label, dir, state)
	must.Do(k.t, k.st.AddProposal(k.t.Context(), store.Proposal{ID: id, Info: []byte(info), Text: []byte(text)}))
}

// TestRowsByHand: whoever may write proposals into the database, as a node may, writes nothing with them
// outside of the folders of skills, and stops nobody else.
func TestRowsByHand(t *testing.T) {
	k := newKit(t)
	good := k.approved("cat", "--- /dev/null\n+++ b/more.md\n@@\n+More.\n") // which changes no file that is there
	files := func(name string) string {
		skill := base64.StdEncoding.EncodeToString([]byte(text(name, "x")))
		return `{"files":{"SKILL.md":{"Data":"` + skill + `"},"x.yml":{"Data":"eA=="}}}`
	}
	for i, row := range [][5]string{
		{"approved", "new", ".github/workflows", ".github/workflows", files(".github/workflows")},
		{"approved", "new", "../x", "../x", files("../x")},
		{"approved", "new", "bird", "../bird", files("bird")},
		{"approved", "new", "bird", "cat", files("bird")},
		{"approved", "", "bird", "bird", files("bird")},
		{"approved", "update", "cat", "../..", "{}"},
		{"approved", "update", "cat", "/etc", "{}"},
		{"approved", "update", "cat", "cat", `{"diff":"diff --git a/../x b/../x\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"}`},
		{"approved", "update", "cat", "cat", `{"diff":5}`},
		{"approved", "update", "cat", "cat", `{"files":{"":{}}}`},
		{"merged", "update", "cat", "cat", "{}"},
	} {
		k.row(fmt.Sprintf("0000000-%06d", i), row[0], row[1], row[2], row[3], row[4])
	}
	k.row("x", "approved", "update", "cat", "cat", "{}")
	k.row("0000000-aaaa/..", "approved", "update", "cat", "cat", "{}")
	must.Do(t, k.st.AddProposal(t.Context(), store.Proposal{ID: "0000000-bbbbbb", Info: []byte("{")}))

	list, _, err := pushback.Apply(t.Context(), k.st, []source.Source{k.src}, &pushback.Options{Origins: map[string]string{label: "ours"}})
	if err == nil || !strings.Contains(err.Error(), "0000000-000000") {
		t.Errorf("what is damaged is not said: %v", err)
	}
	for _, r := range list {
		if (r.Err == nil) != (r.ID == good.ID) {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
	if branches := k.git("branch", "--list", "proposal/*", "--format=%(refname:short)"); branches != "proposal/"+good.ID {
		t.Errorf("branches %s", branches)
	}
	if log, err := k.desk.History(t.Context(), nil, "cat"); err != nil || len(log.Versions) == 0 {
		t.Errorf("history %v, %v", log, err)
	}
	k.approved("dog", "@@\n-Feed it.\n+Walk it.\n")
	k.desk.List(t.Context(), nil, true) // which says what is damaged
}

// TestWholeRoot: a change of a skill that is its whole root changes nothing that is not the skill's.
func TestWholeRoot(t *testing.T) {
	for name, ok := range map[string]bool{"more.md": true, ".github/workflows/x.yml": false, "dog/SKILL.md": false} {
		k := newKit(t)
		var err error
		k.src, err = source.Dir(filepath.Join(k.repo, "skills/cat"), &source.Options{Label: label, Kind: source.KindRoot})
		must.Do(t, err)
		diff := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+x\n", name)
		k.row("0000000-000000", "approved", "update", "cat", ".", fmt.Sprintf(`{"diff":%q}`, diff))
		if done := k.apply(pushback.Options{}); strings.Contains(done["cat"], "on the branch") != ok {
			t.Errorf("%s: %v", name, done)
		}
	}
}

// aborting is a repository in which a change is made while somebody rejects it.
type aborting func() error

func (aborting) Read(context.Context, string) (proposal.Files, error) {
	return proposal.Files{"SKILL.md": {Data: []byte(text("cat", "Feed it.\n\nWait."))}}, nil
}
func (a aborting) Commit(context.Context, *proposal.Commit) (string, error) { return "there", a() }

// TestRejectedMeanwhile: what is rejected while it is applied stays rejected, and is said to be made.
func TestRejectedMeanwhile(t *testing.T) {
	k := newKit(t)
	p := k.approved("cat", "@@\n-Feed it.\n+Feed it well.\n")
	_, err := k.desk.Apply(t.Context(), p.ID, aborting(func() error {
		_, err := k.desk.Reject(t.Context(), proposal.Who{Name: "Ben"}, p.ID, "No.")
		return err
	}), false)
	if now, _ := k.desk.Find(t.Context(), p.ID); err == nil || !strings.Contains(err.Error(), "was rejected meanwhile; its change is in there") || !now.Applied.IsZero() {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestRepositories: repositories that are unlike most say what is the matter, or work.
func TestRepositories(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	k := newKit(t)
	remove := func(id string) {
		k.row(id, "approved", "update", "cat", "cat", `{"files":{"old.md":{"Data":"eAo="}},"diff":"diff --git a/old.md b/old.md\ndeleted file mode 100644\n--- a/old.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"}`)
	}
	says := func(want string, o pushback.Options) {
		t.Helper()
		if done := k.apply(o); !strings.Contains(done["cat"], want) {
			t.Errorf("%v, want %q", done, want)
		}
	}
	k.write("skills/cat/old.md", "x\n")
	remove("0000000-000000")
	must.Do(t, os.RemoveAll(filepath.Join(k.repo, ".git")))
	k.git("init", "--quiet", "--initial-branch=main", "--template=", "--object-format=sha256")
	says("has no commit", pushback.Options{})
	k.git("config", "user.name", "Cleo")
	k.git("config", "user.email", "cleo@team.example")
	k.commit()
	k.git("config", "--unset", "user.name")
	k.git("config", "--unset", "user.email")
	k.git("config", "user.useConfigOnly", "true")
	says("say who makes commits", pushback.Options{})
	k.git("config", "user.name", "Cleo")
	k.git("config", "user.email", "cleo@team.example")
	bare := filepath.Join(t.TempDir(), "bare.git")
	k.git("clone", "--quiet", "--bare", ".", bare)
	k.git("--git-dir", bare, "branch", "proposal")
	says("it was refused: refs/heads/proposal/0000000-000000", pushback.Options{Remote: bare})
	says("on the branch", pushback.Options{})
	if files := k.git("ls-tree", "-r", "--name-only", "proposal/0000000-000000", "skills/cat/"); files != "skills/cat/SKILL.md" {
		t.Errorf("files %s", files)
	}
	k.git("rm", "--quiet", "-r", "--cached", "skills/cat")
	k.git("commit", "--quiet", "-m", "Keep it here")
	remove("0000001-000000")
	says("is not committed", pushback.Options{})
}

// TestPatchOfCRLF: a patch keeps the ends of lines.
func TestPatchOfCRLF(t *testing.T) {
	k := newKit(t)
	skill := strings.ReplaceAll(text("bird", "Feed it."), "\n", "\r\n")
	p, err := k.desk.ProposeNew(t.Context(), proposal.Who{Name: "bird"}, proposal.Addition{Name: "bird", Files: proposal.Files{"SKILL.md": {Data: []byte(skill)}}, Justification: "We have one."})
	must.Do(t, err)
	_, err = k.desk.Approve(t.Context(), proposal.Who{Name: "Anna"}, p.ID, proposal.Approval{})
	must.Do(t, err)
	patch, err := k.desk.Patch(t.Context(), p.ID)
	must.Do(t, err)
	file := filepath.Join(t.TempDir(), "patch")
	must.Write(t, file, patch)
	k.git("am", "--quiet", "--keep-cr", "--directory=skills", file)
	if got := must.Read(t, filepath.Join(k.repo, "skills/bird/SKILL.md")); got != skill {
		t.Errorf("patched: %q", got)
	}
}

// TestMoved: a change of a skill that has moved before it was approved goes to where the skill is.
func TestMoved(t *testing.T) {
	k := newKit(t)
	p, err := k.desk.ProposeUpdate(t.Context(), proposal.Who{Name: "bird"}, proposal.Change{Skill: "cat", Diff: "@@\n-Feed it.\n+Pet it.\n", Justification: "Better."})
	must.Do(t, err)
	must.Do(t, os.Mkdir(filepath.Join(k.repo, "skills/pets"), 0o755))
	k.git("mv", "skills/cat", "skills/pets/cat")
	k.commit()
	_, err = k.c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	_, err = k.desk.Approve(t.Context(), proposal.Who{Name: "Anna"}, p.ID, proposal.Approval{})
	must.Do(t, err)
	done := k.apply(pushback.Options{})
	if names := k.git("diff", "--name-only", "main", "proposal/"+p.ID); names != "skills/pets/cat/SKILL.md" {
		t.Errorf("%v changes %s", done, names)
	}
}
