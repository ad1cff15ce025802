package install

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFolder: skills of a folder are installed, updated, verified and removed.
func TestFolder(t *testing.T) {
	from := skills(t, t.TempDir(), "cat", "dog")
	in := installer(t, nil)
	r := add(t, in, from)
	if got := summary(r); got != "cat add, dog add" || !r.Approved {
		t.Errorf("installed %q, approved %t", got, r.Approved)
	}
	clean(t, in, "cat", "dog")
	if got := summary(add(t, in, from)); got != "cat unchanged, dog unchanged" {
		t.Errorf("a second time: %s", got)
	}
	must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	r, err := in.Update(t.Context(), Order{}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "cat update, dog unchanged" {
		t.Errorf("updated: %s", got)
	}
	clean(t, in, "cat", "dog")
	must.Do(t, os.Chmod(filepath.Join(from, "cat", "scripts", "run.sh"), 0o644))
	r, err = in.Update(t.Context(), Order{}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "cat update, dog unchanged" || r.Changes[0].Diff != "cat/scripts/run.sh: executable: false, was true\n" {
		t.Errorf("no longer executable: %s\n%s", got, r.Changes[0].Diff)
	}
	r, err = in.Remove(t.Context(), []string{"dog"}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "dog remove" {
		t.Errorf("removed: %s", got)
	}
	clean(t, in, "cat")
}

// TestFolderOfOne: a folder with a SKILL.md is installed as one skill, with all that lies below.
func TestFolderOfOne(t *testing.T) {
	from := skills(t, filepath.Join(t.TempDir(), "cat"), "kitten", "assets/tiger")
	must.Write(t, filepath.Join(from, "SKILL.md"), doc("cat", "Feeds the cat."))
	in := installer(t, nil)
	if got := summary(add(t, in, from)); got != "cat add" {
		t.Errorf("installed %q", got)
	}
	clean(t, in, "cat")
	for _, name := range []string{"kitten/SKILL.md", "kitten/scripts/run.sh", "assets/tiger/SKILL.md"} {
		if !exists(filepath.Join(in.dir, "cat", filepath.FromSlash(name))) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestGit: skills of a repository are installed at a branch, a tag and a commit.
func TestGit(t *testing.T) {
	repo := repository(t, "cat", "dog")
	gitIn(t, repo, "tag", "v1")
	url := "file://" + repo
	in := installer(t, nil)
	r := add(t, in, url)
	head := gitIn(t, repo, "rev-parse", "HEAD")
	if r.Commit != head {
		t.Errorf("commit %s, want %s", r.Commit, head)
	}
	clean(t, in, "cat", "dog")
	if info, err := os.Stat(filepath.Join(in.dir, "cat", "scripts", "run.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the script cannot be run: %v, %v", info, err)
	}
}

// TestPage: a page of a folder whose branch or tag has slashes is parted as the repository has
// it; the lock keeps ref and folder, so that updates follow the branch.
func TestPage(t *testing.T) {
	repo := repository(t, "cat")
	gitIn(t, repo, "checkout", "--quiet", "-b", "feature/AB-1")
	skills(t, filepath.Join(repo, "libs", "skills"), "dog", "owl")
	record(t, repo, "second")
	gitIn(t, repo, "tag", "kit/v1.2")
	url := served(t, repo, 0) + "/.git"
	for _, c := range []struct{ page, ref, skill, want string }{
		{"/tree/feature/AB-1/libs/skills", "", "dog", "feature/AB-1 libs/skills/dog"},
		{"/tree/feature%2FAB-1/libs/skills", "", "dog", "feature/AB-1 libs/skills/dog"},
		{"/-/tree/feature/AB-1/libs/skills?ref_type=heads", "", "dog", "feature/AB-1 libs/skills/dog"},
		{"/tree/feature/AB-1/libs/skills", "feature/AB-1", "dog", "feature/AB-1 libs/skills/dog"},
		{"/tree/kit/v1.2/libs", "", "owl", "kit/v1.2 libs/skills/owl"},
		{"/raw/feature/AB-1/libs/skills/dog/SKILL.md", "", "", "feature/AB-1 libs/skills/dog"},
		{"/blob/main/skills/cat/SKILL.md#L3", "", "", "main skills/cat"},
		{"/tree/HEAD/libs", "", "*", " libs/skills/dog"},
		{"#kit/v1.2@owl", "", "", "kit/v1.2 libs/skills/owl"},
	} {
		in := installer(t, nil)
		var names []string
		if c.skill != "" {
			names = []string{c.skill}
		}
		r, err := in.Install(t.Context(), Request{Source: url + c.page, Ref: c.ref, Skills: names}, &caller{})
		if err != nil {
			t.Errorf("%s: %v", c.page, err)
			continue
		}
		to := r.Changes[0].To
		if got := to.Ref + " " + to.Path; got != c.want || to.Source != url || r.Ref != to.Ref || len(r.Changes) != 1 && c.skill != "*" {
			t.Errorf("%s: got %s of %s, %d changes, want %s", c.page, got, to.Source, len(r.Changes), c.want)
		}
		r, err = in.Update(t.Context(), Order{}, &caller{})
		if err != nil || r.Changes[0].Action != Unchanged {
			t.Errorf("%s: %v, %s", c.page, err, summary(r))
		}
	}
	_, err := installer(t, nil).Install(t.Context(), Request{Source: url + "/tree/feature/AB-2/libs"}, &caller{})
	says(t, err, "no branch or tag \"feature/AB-2/libs\", nor one with which this begins; there are: feature/AB-1, kit/v1.2, main")
	gitIn(t, repo, "symbolic-ref", "HEAD", "refs/heads/gone")
	_, err = installer(t, nil).Install(t.Context(), Request{Source: url, Skills: []string{"owl"}}, &caller{})
	says(t, err, "there are: feature/AB-1, kit/v1.2, main; choose one with --ref, such as --ref feature/AB-1")
	_, err = installer(t, nil).Install(t.Context(), Request{Source: url + "#main@v1"}, &caller{})
	says(t, err, "it has no skill \"v1\"; there are: cat (a branch or tag is named with #, not with @)")
}

// TestRefs: a branch is followed, a tag and a commit stay; a folder of a repository is
// fetched without the rest of it.
func TestRefs(t *testing.T) {
	repo := repository(t, "cat", "dog", "owl")
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	gitIn(t, repo, "tag", "-a", "-m", "one", "v1")
	first := gitIn(t, repo, "rev-parse", "HEAD")
	gitIn(t, repo, "branch", "next")
	in := installer(t, nil)
	url := "file://" + repo
	for ref, name := range map[string]string{"next": "cat", "v1": "dog", first: "owl"} {
		r, err := in.Install(t.Context(), Request{Source: url, Ref: ref, Skills: []string{name}}, &caller{})
		must.Do(t, err)
		if r.Commit != first {
			t.Errorf("%s: commit %s, want %s", ref, r.Commit, first)
		}
	}
	must.Write(t, filepath.Join(repo, "skills", "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	gitIn(t, repo, "rm", "-r", "--quiet", "skills/owl")
	must.Write(t, filepath.Join(repo, "skills", "ewe", "SKILL.md"), doc("ewe", "Feeds the ewe."))
	record(t, repo, "second")
	gitIn(t, repo, "branch", "--force", "next")
	looked := false
	in.step = func(what string) {
		stages, err := scratch.List(in.dir, skill.StagingPrefix)
		if what == "ask" && err == nil && len(stages) == 1 {
			looked = exists(filepath.Join(stages[0], "fetched0", "skills", "cat")) && !exists(filepath.Join(stages[0], "fetched0", "skills", "dog"))
		}
	}
	r, err := in.Update(t.Context(), Order{}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "cat update, dog unchanged, owl unchanged" {
		t.Error(got)
	}
	if diff := cmp.Diff([]Added{{url, []string{"skills/ewe"}}}, r.Added); diff != "" {
		t.Errorf("new in the source (-want +got):\n%s", diff)
	}
	if !looked {
		t.Error("more was checked out than one folder")
	}
	l, err := ReadLock(in.dir)
	must.Do(t, err)
	if got := l.Skills["cat"]; got.Commit != gitIn(t, repo, "rev-parse", "next") || got.Ref != "next" || got.Path != "skills/cat" {
		t.Errorf("%+v", got)
	}
	clean(t, in, "cat", "dog", "owl")

	// Another ref is followed from then on, also if it has the same files now.
	r, err = in.Update(t.Context(), Order{Names: []string{"dog"}, Ref: "next"}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "dog update" {
		t.Error(got)
	}
	must.Write(t, filepath.Join(repo, "skills", "dog", "SKILL.md"), doc("dog", "Walks the dog twice."))
	record(t, repo, "third")
	gitIn(t, repo, "branch", "--force", "next")
	r, err = in.Update(t.Context(), Order{Names: []string{"dog"}}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "dog update" || len(r.Added) > 0 {
		t.Errorf("after next has moved: %s, new %v", got, r.Added)
	}
	r, err = in.Update(t.Context(), Order{Names: []string{"dog"}, Ref: "v1"}, &caller{}) // back
	must.Do(t, err)
	if l, err = ReadLock(in.dir); err != nil || l.Skills["dog"].Ref != "v1" || l.Skills["dog"].Commit != first || summary(r) != "dog update" {
		t.Errorf("%s, %+v, %v", summary(r), l.Skills["dog"], err)
	}
	r, err = in.Update(t.Context(), Order{Names: []string{"dog"}, Ref: "no-such-ref"}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "dog refuse" {
		t.Error(got)
	}
	if _, err := in.Update(t.Context(), Order{Names: []string{"dog"}, Ref: "--upload-pack=x"}, &caller{}); err == nil {
		t.Error("an option is taken for a ref")
	}
	if l, err = ReadLock(in.dir); err != nil || l.Skills["dog"].Ref != "v1" {
		t.Errorf("refused: %+v, %v", l.Skills["dog"], err)
	}
}

// TestGone: a skill stays when its source no longer has it, and the result says so. A source
// that cannot be reached does not stop the others.
func TestGone(t *testing.T) {
	one, two := skills(t, t.TempDir(), "cat", "dog"), skills(t, t.TempDir(), "owl")
	in := installer(t, nil)
	add(t, in, one)
	add(t, in, two)
	must.Do(t, os.RemoveAll(filepath.Join(one, "cat")))
	must.Write(t, filepath.Join(one, "dog", "SKILL.md"), doc("dog", "Walks the dog."))
	must.Do(t, os.RemoveAll(two))
	r, err := in.Update(t.Context(), Order{}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "cat refuse, dog update, owl refuse" {
		t.Fatal(got)
	}
	says(t, errors.New(r.Changes[0].Reason), `the source has no skill at cat any more; what is installed stays ("skills remove cat" removes it)`)
	says(t, errors.New(r.Changes[2].Reason), "there is no such folder")
	clean(t, in, "cat", "dog", "owl")
}

// TestRestore: a folder that is gone comes back by an update, also if its source has nothing new.
func TestRestore(t *testing.T) {
	repo := repository(t, "cat", "dog")
	for _, source := range []string{"file://" + repo, filepath.Join(repo, "skills")} {
		in := installer(t, nil)
		add(t, in, source)
		must.Do(t, os.RemoveAll(in.folder("cat")))
		r, err := in.Update(t.Context(), Order{}, &caller{no: true})
		if err != nil || summary(r) != "cat update, dog unchanged" || exists(in.folder("cat")) {
			t.Errorf("%s, not approved: %s, %v", source, summary(r), err)
		}
		r, err = in.Update(t.Context(), Order{}, &caller{})
		if err != nil || summary(r) != "cat update, dog unchanged" || r.Changes[0].Reason != "its folder was gone" || !r.Changes[0].Edits.Same() || r.Changes[0].Kept != "" {
			t.Errorf("%s: %+v, %v", source, r.Changes[0], err)
		}
		clean(t, in, "cat", "dog")
	}
}

// TestMoved: a skill that has moved in its source is followed if it is the only one of its name, whether a
// repository, a folder or an archive; an edited one is not replaced.
func TestMoved(t *testing.T) {
	repo := repository(t, "cat", "dog", "owl")
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	archive := filepath.Join(t.TempDir(), "x.zip")
	pack := func() {
		files := make(map[string]string)
		all, err := filepath.Glob(filepath.Join(repo, "*", "*", "SKILL.md"))
		must.Do(t, err)
		for _, name := range all {
			rel, err := filepath.Rel(repo, name)
			must.Do(t, err)
			files[filepath.ToSlash(rel)] = must.Read(t, name)
		}
		must.Do(t, os.WriteFile(archive, zipped(t, files), 0o600))
	}
	move := func(from, to string) {
		must.Do(t, os.MkdirAll(filepath.Join(repo, filepath.Dir(to)), 0o755))
		must.Do(t, os.Rename(filepath.Join(repo, from), filepath.Join(repo, to)))
	}
	pack()
	sources := []string{"file://" + repo, repo, archive}
	var ins []*Installer
	for _, source := range sources {
		in := installer(t, nil)
		add(t, in, source)
		must.Write(t, filepath.Join(in.folder("dog"), "mine.txt"), "mine")
		ins = append(ins, in)
	}
	move("skills/cat", "pets/felis")
	move("skills/dog", "pets/dog")
	must.Write(t, filepath.Join(repo, "pets/dog/SKILL.md"), doc("dog", "Walks the dog."))
	must.Write(t, filepath.Join(repo, "pets/ewe/SKILL.md"), doc("ewe", "Feeds the ewe."))
	record(t, repo, "moved")
	pack()
	const moved = "in its source it has moved from skills/cat to pets/felis"
	for i, in := range ins {
		r, err := in.Update(t.Context(), Order{}, &caller{})
		must.Do(t, err)
		l, err := ReadLock(in.dir)
		must.Do(t, err)
		if summary(r) != "cat update, dog refuse, owl unchanged" || r.Changes[0].Reason != moved || l.Skills["cat"].Path != "pets/felis" || l.Skills["dog"].Path != "skills/dog" {
			t.Fatalf("%s: %s, %q, %+v", sources[i], summary(r), r.Changes[0].Reason, r.Changes[1])
		}
		if want := []Added{{sources[i], []string{"pets/ewe"}}}; i == 0 && !reflect.DeepEqual(r.Added, want) {
			t.Errorf("new in the source: %v", r.Added)
		}
		says(t, errors.New(r.Changes[1].Reason), "it has a new version, but was edited here")
		if r, err = in.Update(t.Context(), Order{Names: []string{"cat"}}, &caller{}); err != nil || summary(r) != "cat unchanged" {
			t.Errorf("%s, once it is followed: %s, %v", sources[i], summary(r), err)
		}
		must.Do(t, os.RemoveAll(in.folder("cat")))
		must.Do(t, os.RemoveAll(in.folder("dog")))
	}
	// A folder that is gone is followed too. Of several with one name none is taken.
	skills(t, filepath.Join(repo, "one"), "cat")
	skills(t, filepath.Join(repo, "two"), "cat")
	must.Do(t, os.RemoveAll(filepath.Join(repo, "pets/felis")))
	record(t, repo, "two cats")
	pack()
	for i, in := range ins {
		r, err := in.Update(t.Context(), Order{}, &caller{})
		if err != nil || summary(r) != "cat refuse, dog update, owl unchanged" || r.Changes[1].Reason != "its folder was gone; in its source it has moved from skills/dog to pets/dog" {
			t.Fatalf("%s: %s, %+v, %v", sources[i], summary(r), r.Changes[1], err)
		}
		says(t, errors.New(r.Changes[0].Reason), "the source has no skill at pets/felis any more, and several of its name: one/cat, two/cat;")
	}
}

// TestLinkedSkills: links that stay in a source are resolved, also if only a part of the source is fetched,
// and what they lead to counts when the skill is updated.
func TestLinkedSkills(t *testing.T) {
	repo := repository(t, "cat", "dog")
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	must.Write(t, filepath.Join(repo, "shared", "deep", "lib.py"), "x=1")
	must.Write(t, filepath.Join(repo, "shared", "other.md"), "other")
	must.Write(t, filepath.Join(repo, "src", "owl", "SKILL.md"), doc("owl", "Hoots."))
	must.Write(t, filepath.Join(repo, "src", "ewe.md"), doc("ewe", "Bleats."))
	must.Write(t, filepath.Join(repo, "large", "file"), "never fetched")
	must.Do(t, os.Mkdir(filepath.Join(repo, "skills", "ewe"), 0o755))
	for link, to := range map[string]string{
		"skills/cat/lib": "../../vendor/deep", "vendor": "shared", "skills/dog/scripts/lib.py": "../../cat/lib/lib.py", "skills/owl": "../src/owl", "skills/ewe/SKILL.md": "../../src/ewe.md", "agents": "skills",
	} {
		must.Do(t, os.Symlink(to, filepath.Join(repo, filepath.FromSlash(link))))
	}
	record(t, repo, "links")
	url := "file://" + repo
	for _, c := range []struct {
		r     Request
		names []string
	}{
		{Request{Source: url, All: true}, []string{"cat", "dog", "ewe", "owl"}},
		{Request{Source: repo, All: true}, []string{"cat", "dog", "ewe", "owl"}},
		{Request{Source: url, Skills: []string{"dog"}}, []string{"dog"}},
		{Request{Source: url, Skills: []string{"ewe", "cat"}}, []string{"cat", "ewe"}},
		{Request{Source: url, Skills: []string{"owl"}}, []string{"owl"}},
	} {
		in := installer(t, nil)
		fetched := false
		in.step = func(what string) {
			left, err := filepath.Glob(filepath.Join(in.dir, skill.StagingPrefix+"*", "fetched", "large"))
			fetched = fetched || what == "check" && (err != nil || len(left) > 0)
		}
		r, err := in.Install(t.Context(), c.r, &caller{})
		must.Do(t, err)
		clean(t, in, c.names...)
		for file, want := range map[string]string{"cat/lib/lib.py": "x=1", "dog/scripts/lib.py": "x=1"} {
			if name, _, _ := strings.Cut(file, "/"); exists(in.folder(name)) && must.Read(t, filepath.Join(in.dir, file)) != want {
				t.Errorf("%v: %s", c.r, file)
			}
		}
		if c.r.Source == url && fetched != c.r.All {
			t.Errorf("%v: all was fetched: %t; %s", c.r, fetched, summary(r))
		}
	}
	in := installer(t, nil)
	_, err := in.Install(t.Context(), Request{Source: url, Skills: []string{"dog", "owl"}}, &caller{})
	must.Do(t, err)
	must.Write(t, filepath.Join(repo, "shared", "other.md"), "changed")
	record(t, repo, "not in a skill")
	if r, err := in.Update(t.Context(), Order{}, &caller{}); err != nil || summary(r) != "dog unchanged, owl unchanged" {
		t.Errorf("%s, %v", summary(r), err)
	}
	must.Write(t, filepath.Join(repo, "shared", "deep", "lib.py"), "x=2")
	record(t, repo, "what dog has a link to")
	if r, err := in.Update(t.Context(), Order{}, &caller{}); err != nil || summary(r) != "dog update, owl unchanged" || !strings.Contains(r.Changes[0].Diff, "+x=2") {
		t.Errorf("%s, %v", summary(r), err)
	}
	clean(t, in, "dog", "owl")
	s, err := ParseSource(url)
	must.Do(t, err)
	for sub, want := range map[string]string{"agents": "cat, dog, ewe, owl", "skills/owl": "owl", "agents/dog": "dog"} {
		st, err := in.newStage()
		must.Do(t, err)
		s.Sub = sub
		f, err := in.fetch(t.Context(), st, &s, wish{request: Request{All: true}})
		must.Do(t, err)
		all, err := f.find(t.Context(), f.subs)
		slices.SortFunc(all, compareFound)
		if got := strings.Join(namesOf(all), ", "); err != nil || got != want {
			t.Errorf("%s: %s, %v", sub, got, err)
		}
		must.Do(t, st.close())
	}
}

// TestTaken: what is done about a taken name is up to the caller.
func TestTaken(t *testing.T) {
	one, two := skills(t, t.TempDir(), "cat"), skills(t, t.TempDir(), "cat")
	must.Write(t, filepath.Join(two, "cat", "SKILL.md"), doc("cat", "Is another cat."))
	for name, c := range map[string]struct {
		caller
		want string
		now  []string
	}{
		"skip":    {caller{action: Skip}, "cat skip", []string{"cat"}},
		"rename":  {caller{action: Add, name: "tom"}, "tom add", []string{"cat", "tom"}},
		"replace": {caller{action: Replace}, "cat replace", []string{"cat"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := installer(t, nil)
			add(t, in, one)
			r, err := in.Install(t.Context(), Request{Source: two}, &c.caller)
			must.Do(t, err)
			if got := summary(r); got != c.want {
				t.Error(got)
			}
			clean(t, in, c.now...)
			if name == "rename" {
				l, err := ReadLock(in.dir)
				if err != nil || l.Skills["tom"].Name != "cat" {
					t.Errorf("%+v, %v", l.Skills["tom"], err)
				}
				must.Write(t, filepath.Join(two, "cat", "new.txt"), "new")
				if r, err := in.Update(t.Context(), Order{}, &caller{}); err != nil || summary(r) != "cat unchanged, tom update" {
					t.Errorf("%s, %v", summary(r), err)
				}
				must.Do(t, os.Remove(filepath.Join(two, "cat", "new.txt")))
			}
		})
	}
}

// TestForeign: a folder that the lock does not know is neither replaced nor removed.
func TestForeign(t *testing.T) {
	in := installer(t, nil)
	skills(t, in.dir, "cat")
	before := must.Read(t, filepath.Join(in.dir, "cat", "SKILL.md"))
	from := skills(t, t.TempDir(), "cat")
	must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Is another cat."))
	_, err := in.Install(t.Context(), Request{Source: from}, &caller{action: Replace})
	says(t, err, "was not installed by this program; move it away, or choose another name")
	_, err = in.Remove(t.Context(), []string{"cat"}, &caller{})
	says(t, err, `no such skill is installed: "cat"`)
	if got := must.Read(t, filepath.Join(in.dir, "cat", "SKILL.md")); got != before {
		t.Error("it was changed")
	}
}

// TestMeanwhile: what somebody changes while the caller thinks is not overwritten.
func TestMeanwhile(t *testing.T) {
	from := skills(t, t.TempDir(), "cat")
	in := installer(t, nil)
	add(t, in, from)
	must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	edited := filepath.Join(in.dir, "cat", "SKILL.md")
	_, err := in.Update(t.Context(), Order{}, &caller{before: func() { must.Write(t, edited, "mine") }})
	says(t, err, "was changed meanwhile by somebody else; nothing was done, try again")
	if got := must.Read(t, edited); got != "mine" {
		t.Errorf("it is %q now", got)
	}
	// The same for a second installer that is quicker.
	other := installer(t, nil)
	_, err = other.Install(t.Context(), Request{Source: from}, &caller{before: func() { add(t, other, from) }})
	says(t, err, "was changed meanwhile by somebody else")
	clean(t, other, "cat")
}

// TestTogether: installers that work at the same time do not lose each other's skills.
func TestTogether(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	from := skills(t, t.TempDir(), names...)
	in := installer(t, nil)
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			other, err := Open(in.dir, nil)
			if err == nil {
				_, err = other.Install(t.Context(), Request{Source: from, Skills: []string{name}}, &caller{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	clean(t, in, names...)
}

// TestEdits: an edited skill is not updated; with force a copy of it is kept.
func TestEdits(t *testing.T) {
	from := skills(t, t.TempDir(), "cat")
	in := installer(t, nil)
	add(t, in, from)
	must.Write(t, filepath.Join(in.dir, "cat", "mine.txt"), "mine")
	must.Do(t, os.Remove(filepath.Join(in.dir, "cat", "scripts", "run.sh")))
	verdicts, _, err := in.Verify(t.Context(), nil)
	if want := []Verdict{{Name: "cat", Edits: Files{Missing: []string{"scripts/run.sh"}, Extra: []string{"mine.txt"}}}}; err != nil || !reflect.DeepEqual(verdicts, want) {
		t.Errorf("%+v, %v", verdicts, err)
	}
	must.Write(t, filepath.Join(from, "cat", "SKILL.md"), doc("cat", "Feeds the cat."))
	must.Write(t, filepath.Join(from, "cat", "logo.png"), "\x89PNG\x00")
	r, err := in.Update(t.Context(), Order{}, &caller{})
	if err != nil || summary(r) != "cat refuse" || !strings.Contains(r.Changes[0].Reason, "--force") {
		t.Errorf("%s, %v", summary(r), err)
	}
	r, err = in.Update(t.Context(), Order{Force: true}, &caller{})
	must.Do(t, err)
	c := r.Changes[0]
	if c.Action != Update || !strings.Contains(c.Diff, "\n+Feeds the cat.\n") || !strings.Contains(c.Diff, "--- a/cat/mine.txt\n+++ /dev/null\n") || !reflect.DeepEqual(c.Binary, []string{"logo.png"}) {
		t.Errorf("%s, binary %q:\n%s", c.Action, c.Binary, c.Diff)
	}
	if got := must.Read(t, filepath.Join(c.Kept, "mine.txt")); got != "mine" || !strings.HasPrefix(filepath.Base(c.Kept), "cat.orig-2026") || strings.HasPrefix(c.Kept, in.dir+"/") {
		t.Errorf("%q in %s", got, c.Kept)
	}
	clean(t, in, "cat")
	// A folder that is gone comes back with force.
	must.Do(t, os.RemoveAll(filepath.Join(in.dir, "cat")))
	r, err = in.Update(t.Context(), Order{Force: true}, &caller{})
	if err != nil || summary(r) != "cat update" || r.Changes[0].Kept != "" {
		t.Errorf("%+v, %v", r.Changes[0], err)
	}
	clean(t, in, "cat")
}

// TestStage: no source sees what is staged, and what killed processes have left is removed
// after a while, unless its process lives.
func TestStage(t *testing.T) {
	in := installer(t, nil)
	var alive, left *stage
	var err error
	if alive, err = in.newStage(); err == nil {
		left, err = in.newStage()
	}
	must.Do(t, err)
	skills(t, alive.file("new"), "cat")
	src, err := source.Dir(in.dir, nil)
	must.Do(t, err)
	for ref, err := range src.Skills(t.Context(), nil) {
		t.Errorf("a source finds %v, %v", ref, err)
	}
	must.Do(t, left.folder.Release())
	for _, days := range []int{0, 2} {
		then := time.Now().AddDate(0, 0, -days)
		must.Do(t, errors.Join(os.Chtimes(left.dir, then, then), os.Chtimes(alive.dir, then, then)))
		in.sweep()
		if exists(left.dir) != (days == 0) || !exists(alive.dir) {
			t.Errorf("after %d days: left %t, alive %t", days, exists(left.dir), exists(alive.dir))
		}
	}
	must.Do(t, alive.close())
	clean(t, in)
}

// TestOlderLock: what an older version installed and wrote down with files that are no part of a skill
// any more is still as it was installed, and what systems leave there is no edit.
func TestOlderLock(t *testing.T) {
	in := installer(t, nil)
	dir := t.TempDir()
	skills(t, dir, "cat")
	add(t, in, dir, "cat")
	l, err := ReadLock(in.dir)
	must.Do(t, err)
	now := l.Skills["cat"].Digest
	l.Skills["cat"].Digest = "sha256:" + strings.Repeat("0", 64)
	l.Skills["cat"].Files[".DS_Store"] = File{SHA256: strings.Repeat("1", 64)}
	must.Do(t, l.write(in.dir))
	must.Files(t, in.folder("cat"), map[string]string{"__pycache__/x.pyc": "left", ".DS_Store": "left"})
	locked, err := Locked(in.dir)
	if err != nil || !locked("cat", now) || locked("cat", "sha256:other") {
		t.Errorf("accepts its digest: %t, another one: %t, %v", locked("cat", now), locked("cat", "sha256:other"), err)
	}
	if v, _, err := in.Verify(t.Context(), []string{"cat"}); err != nil || !v[0].OK {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestArchivesAndSites: skills of an archive and of a site are installed, and their digests
// hold.
func TestArchivesAndSites(t *testing.T) {
	archive := zipped(t, map[string]string{"pack/owl/SKILL.md": doc("owl", "Hoots."), "pack/cat/SKILL.md": doc("cat", "Purrs."), "README.md": "x"})
	text := doc("dog", "Barks.")
	digest := func(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }
	files := http.NewServeMux()
	files.HandleFunc("/x.zip", func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	files.HandleFunc("/dog.md", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	files.HandleFunc("/fox.md", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	files.HandleFunc(index, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"skills": [{"name": "dog", "type": "skill-md", "url": "/dog.md", "digest": %q}, {"name": "fox", "type": "skill-md", "url": "/fox.md", "digest": %q}]}`, digest(text), digest("other"))
	})
	s := httptest.NewServer(files)
	defer s.Close()
	in := installer(t, nil)
	add(t, in, s.URL+"/x.zip", "owl")
	r, err := in.Install(t.Context(), Request{Source: s.URL, All: true}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "dog add, fox refuse" || !strings.Contains(r.Changes[1].Reason, "the index says sha256:") {
		t.Errorf("%s: %s", got, r.Changes[1].Reason)
	}
	clean(t, in, "dog", "owl")
	text = doc("dog", "Barks twice.")
	r, err = in.Update(t.Context(), Order{Names: []string{"dog"}}, &caller{})
	if err != nil || summary(r) != "dog update" {
		t.Errorf("%s, %v", summary(r), err)
	}
	locked, err := Locked(in.dir)
	l, _ := ReadLock(in.dir)
	if err != nil || !locked("dog", l.Skills["dog"].Digest) || locked("dog", "sha256:other") || locked("dog", "") || locked("fox", "") {
		t.Errorf("locked %v, %v", l.Skills["dog"], err)
	}
}

// TestRefusedInArchive: a skill that is refused does not stop the others of its archive.
func TestRefusedInArchive(t *testing.T) {
	in := installer(t, nil)
	file := filepath.Join(t.TempDir(), "x.zip")
	bad := map[string]string{"cat/SKILL.md": doc("cat", "Purrs."), "cat/aux.txt": "x"}
	must.Do(t, os.WriteFile(file, zipped(t, bad), 0o600))
	_, err := in.Install(t.Context(), Request{Source: file}, &caller{})
	says(t, err, `"aux.txt" is the name of a device on Windows`)
	bad["owl/SKILL.md"] = doc("owl", "Hoots.")
	must.Do(t, os.WriteFile(file, zipped(t, bad), 0o600))
	r, err := in.Install(t.Context(), Request{Source: file, All: true}, &caller{})
	must.Do(t, err)
	if got := summary(r); got != "owl add, cat/aux.txt refuse" {
		t.Errorf("%s", got)
	}
	clean(t, in, "owl")
}
