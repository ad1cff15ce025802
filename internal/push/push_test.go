package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

func doc(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nBody of " + name + ".\n"
}

// folder makes a folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	must.Write(t, name, text)
}

// at opens a folder as the source with a label.
func at(t *testing.T, dir, label string, priority int) source.Source {
	t.Helper()
	s, err := source.Dir(dir, &source.Options{Label: label, Priority: priority, Kind: source.KindRoot})
	must.Do(t, err)
	return s
}

// does pushes sources and returns what that did, without times.
func does(t *testing.T, st push.Store, o *push.Options, sources ...source.Source) *push.Result {
	t.Helper()
	r, err := push.Push(t.Context(), st, sources, o)
	must.Do(t, err)
	return r
}

// brief returns the differences of a result as text, a source a line.
func brief(r *push.Result) string {
	var b strings.Builder
	names := func(sign string, list []push.Skill) {
		for _, s := range list {
			b.WriteString(" " + sign + s.Path)
		}
	}
	for _, s := range r.Sources {
		fmt.Fprintf(&b, "%s:", s.Source)
		names("+", s.Added)
		names("~", s.Changed)
		names("-", s.Removed)
		fmt.Fprintf(&b, " %d files", s.Files)
		if s.Kept != "" {
			b.WriteString(" kept: " + s.Kept)
		}
		if s.Pruned {
			b.WriteString(" pruned")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func want(t *testing.T, what string, r *push.Result, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(lines, "\n")+"\n", brief(r)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// files are two skills and a file that is no skill.
func files() map[string]string {
	return map[string]string{
		"pdf/SKILL.md":          doc("pdf"),
		"pdf/scripts/fill.py":   "print()\n",
		"pdf/assets/logo.png":   "\x89PNG\x00\xff",
		"git/ocr/SKILL.md":      doc("ocr"),
		"git/ocr/reference.txt": "print()\n", // the same bytes
		"git/broken/SKILL.md":   "no frontmatter",
		"readme.md":             "no skill",
	}
}

func TestPush(t *testing.T) {
	dir, st := folder(t, files()), memorytest.New()
	src := at(t, dir, "root:team", 7)
	o := &push.Options{Embedder: new(embedtest.Fake), Inline: true}
	first := does(t, st, o, src)
	want(t, "first push", first, "root:team: +git/broken/SKILL.md +git/ocr/SKILL.md +pdf/SKILL.md 4 files")
	if first.Before.Number != 0 || first.After.Number != 1 {
		t.Errorf("generations %v and %v", first.Before, first.After)
	}

	again := does(t, st, o, src)
	want(t, "second push", again, "root:team: 0 files")
	if again.After != first.After || again.Sources[0].Unchanged != 2 {
		t.Errorf("generation %v after %v; %+v", again.After, first.After, again.Sources[0].Report)
	}

	write(t, dir, "pdf/SKILL.md", doc("pdf")+"More.\n")
	write(t, dir, "new/SKILL.md", doc("new"))
	must.Do(t, os.RemoveAll(filepath.Join(dir, "git", "ocr")))
	dry := *o
	dry.DryRun = true
	lines := "root:team: +new/SKILL.md ~pdf/SKILL.md -git/ocr/SKILL.md 2 files"
	trial := does(t, st, &dry, src)
	want(t, "dry run", trial, lines)
	if trial.After != first.After {
		t.Errorf("a dry run made generation %v of %v", trial.After, first.After)
	}
	changed := does(t, st, o, src)
	want(t, "third push", changed, lines)
	if changed.After.Number != 2 {
		t.Errorf("generation %v", changed.After)
	}
	served(t, st, dir, "root:team", "new", "pdf")
	texts, embedded, err := st.Coverage(t.Context(), store.Space{Model: o.Embedder.Model()}, nil)
	if err != nil || texts != 4 || embedded != texts {
		t.Errorf("%d of %d texts have vectors, %v", embedded, texts, err)
	}
	if _, err := st.SkillFiles(t.Context(), "root:team", "git/ocr"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files of a removed skill: %v", err)
	}
}

// served checks that nodes read these skills as they are in the folder.
func served(t *testing.T, st *memorytest.Store, dir, label string, skills ...string) {
	t.Helper()
	node, err := shared.New(st, source.Info{Label: label}, nil)
	must.Do(t, err)
	local := at(t, dir, label, 0)
	for _, d := range skills {
		want, err := source.ReadManifest(t.Context(), local, d)
		must.Do(t, err)
		got, err := source.ReadManifest(t.Context(), node, d)
		must.Do(t, err)
		if got.Digest != want.Digest || string(got.Text) != string(want.Text) {
			t.Errorf("skill %s differs: %+v, want %+v", d, got, want)
		}
		if k := known(t, st, d+"/SKILL.md"); k.Digest != want.Digest {
			t.Errorf("the catalog has %s with another digest: %+v", d, k)
		}
		for _, f := range want.Files {
			a, err := source.ReadFile(t.Context(), local, d, f.Path)
			must.Do(t, err)
			b, err := source.ReadFile(t.Context(), node, d, f.Path)
			must.Do(t, err)
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("%s of %s (-local +shared):\n%s", f.Path, d, diff)
			}
		}
	}
}

// TestSources: sources that are not pushed stay unless they are pruned, and the order of the
// pushed ones is kept, whatever else the machine has.
func TestSources(t *testing.T) {
	st := memorytest.New()
	a, b := folder(t, map[string]string{"pdf/SKILL.md": doc("pdf")}), folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "ocr/SKILL.md": doc("ocr")})
	does(t, st, nil, at(t, b, "b", 12), at(t, a, "a", 40))
	sources, err := st.Sources(t.Context())
	must.Do(t, err)
	var got []string
	for _, s := range sources {
		got = append(got, fmt.Sprintf("%s %d %q %q", s.Label, s.Priority, s.Root, s.Identity))
	}
	if diff := cmp.Diff([]string{`a 2 "" ""`, `b 1 "" ""`}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}

	before := does(t, st, nil, at(t, a, "a", 2)) // the priority changes
	want(t, "push of one", before, "a: 0 files")
	left := does(t, st, &push.Options{Prune: true}, at(t, a, "a", 2))
	want(t, "pruning by who knows", left, "a: 0 files")
	if diff := cmp.Diff([]push.Left{{Source: "b", Skills: 2, Why: "from a repository that is not known"}}, left.Left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	trial := does(t, st, &push.Options{Remove: []string{"b"}, DryRun: true}, at(t, a, "a", 2))
	want(t, "dry run", trial, "a: 0 files", "b: -ocr/SKILL.md -pdf/SKILL.md 0 files pruned")
	if list, _ := st.Sources(t.Context()); len(list) != 2 || trial.After != before.After {
		t.Errorf("a dry run left %v", list)
	}
	want(t, "removing", does(t, st, &push.Options{Remove: []string{"b"}}, at(t, a, "a", 2)), "a: 0 files", "b: -ocr/SKILL.md -pdf/SKILL.md 0 files pruned")
	if list, _ := st.Sources(t.Context()); len(list) != 1 || list[0].Label != "a" {
		t.Errorf("after pruning: %v", list)
	}
	if _, err := push.Push(t.Context(), st, []source.Source{at(t, a, "a", 1), at(t, b, "a", 2)}, nil); err == nil {
		t.Error("two sources with one label were pushed")
	}
}

// TestKept: a folder that is missing or empty takes nothing from the catalog, not even with
// pruning.
func TestKept(t *testing.T) {
	for name, lose := range map[string]func(dir string) error{
		"it cannot be read here": os.RemoveAll,
		"no skill was found here, but the catalog has 2 skills of it": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "pdf")), os.RemoveAll(filepath.Join(dir, "ocr")))
		},
	} {
		st := memorytest.New()
		dir := folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "ocr/SKILL.md": doc("ocr")})
		src := at(t, dir, "a", 1)
		first := does(t, st, nil, src)
		must.Do(t, lose(dir))
		lost := does(t, st, &push.Options{Prune: true}, src)
		want(t, name, lost, "a: 0 files kept: "+name)
		entries, err := st.Entries(t.Context(), nil)
		if err != nil || len(entries) != 2 || lost.After != first.After {
			t.Errorf("%s: %d entries are left, %v", name, len(entries), err)
		}
	}
	st := memorytest.New()
	want(t, "an empty folder", does(t, st, nil, at(t, t.TempDir(), "a", 1)), "a: 0 files")
}

// TestPlaces: nothing in the catalog says where a source lies on this machine.
func TestPlaces(t *testing.T) {
	dir := folder(t, files())
	if runtime.GOOS != "windows" {
		must.Do(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "pdf", "dangling")))
		must.Do(t, os.Symlink(t.TempDir(), filepath.Join(dir, "pdf", "elsewhere")))
		must.Do(t, os.Symlink("/etc/passwd", filepath.Join(dir, "git", "ocr", "outside")))
	}
	write(t, dir, "where/SKILL.md", "---\nname: where\ndescription: x\n---\nSee [it](../../x.md) and scripts/none.py.\n")
	st := memorytest.New()
	does(t, st, &push.Options{Embedder: new(embedtest.Fake)}, at(t, dir, "root:team", 1))
	entries, err := st.Entries(t.Context(), nil)
	must.Do(t, err)
	all := []any{entries}
	for _, e := range entries {
		if !e.Refused && e.Location != "root:team:"+e.Path {
			t.Errorf("location %q", e.Location)
		}
		s, _, err := st.Skill(t.Context(), e.Row)
		must.Do(t, err)
		all = append(all, s)
	}
	sources, err := st.Sources(t.Context())
	must.Do(t, err)
	text, err := json.Marshal(append(all, sources))
	must.Do(t, err)
	real, err := filepath.EvalSymlinks(dir)
	must.Do(t, err)
	for _, place := range []string{dir, real} {
		if place, _ := json.Marshal(place); strings.Contains(string(text), strings.Trim(string(place), `"`)) {
			t.Errorf("the catalog names %s: %s", place, text)
		}
	}
}

// TestUnserved: files that nobody can ask for by name are not pushed, and the digest is of
// those that are.
func TestUnserved(t *testing.T) {
	st := memorytest.New()
	src := renamed{at(t, folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "pdf/a.txt": "a"}), "a", 1)}
	want(t, "first push", does(t, st, nil, src), "a: +pdf/SKILL.md 2 files")
	want(t, "second push", does(t, st, nil, src), "a: 0 files")
	list, err := st.SkillFiles(t.Context(), "a", "pdf")
	if err != nil || len(list) != 2 || list[1].Path != "a.txt" {
		t.Errorf("files %v, %v", list, err)
	}
	node, err := shared.New(st, source.Info{Label: "a"}, nil)
	must.Do(t, err)
	m, err := source.ReadManifest(t.Context(), node, "pdf")
	must.Do(t, err)
	if k := known(t, st, "pdf/SKILL.md"); k.Digest != m.Digest {
		t.Errorf("the catalog has the digest of %+v, and its files %s", k, m.Digest)
	}
}

// TestSecrets: files in which programs keep secrets are not pushed, and each push says so.
func TestSecrets(t *testing.T) {
	st := memorytest.New()
	tree := map[string]string{"pdf/SKILL.md": doc("pdf"), "pdf/.env": "PASSWORD=a", "pdf/.git/config": "url = https://a:b@c", "pdf/node_modules/x": "e", "pdf/x/.ssh/config": "b", "pdf/id_ed25519": "c", "pdf/.env.example": "PASSWORD=", "pdf/id_rsa.md": "d"}
	src := at(t, folder(t, tree), "a", 1)
	secrets := []string{"pdf/.env", "pdf/id_ed25519", "pdf/x/.ssh/config"}
	for _, line := range []string{"a: +pdf/SKILL.md 3 files", "a: 0 files"} {
		r := does(t, st, nil, src)
		want(t, "push", r, line)
		if got := r.Sources[0].Secrets; !slices.Equal(got, secrets) {
			t.Errorf("secrets %q", got)
		}
	}
	list, err := st.SkillFiles(t.Context(), "a", "pdf")
	if err != nil || len(list) != 3 || list[0].Path != ".env.example" || list[2].Path != "id_rsa.md" {
		t.Errorf("files %v, %v", list, err)
	}
}

// TestChanging: a skill whose files change while it is pushed stays as it was; all others are
// pushed.
func TestChanging(t *testing.T) {
	st := memorytest.New()
	dir := folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "log/SKILL.md": doc("log"), "log/run.log": "1"})
	does(t, st, nil, at(t, dir, "a", 1))
	write(t, dir, "log/run.log", "22")
	write(t, dir, "pdf/new.txt", "new")
	r := does(t, st, nil, growing{at(t, dir, "a", 1), "run.log"})
	want(t, "push", r, "a: ~pdf/SKILL.md 1 files")
	if got := r.Sources[0]; got.Unreadable != 1 {
		t.Errorf("report %+v", got.Report)
	}
	if _, err := push.Push(t.Context(), st, []source.Source{growing{at(t, folder(t, files()), "b", 1), "SKILL.md"}}, nil); err != nil {
		t.Error(err)
	}
	want(t, "when it is quiet again", does(t, st, nil, at(t, dir, "a", 1)), "a: ~log/SKILL.md 1 files")
}

// TestAtOnce: pushes at the same time come one after the other.
func TestAtOnce(t *testing.T) {
	st := memorytest.New()
	var wg sync.WaitGroup
	for i := range 4 {
		src := at(t, folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), fmt.Sprintf("s%d/SKILL.md", i): doc(fmt.Sprint("s", i))}), "a", 1)
		wg.Go(func() {
			if _, err := push.Push(context.Background(), st, []source.Source{src}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries, err := st.Entries(t.Context(), nil)
	state, _ := st.State(t.Context())
	if err != nil || len(entries) != 2 || state.Generation.Number != 4 {
		t.Errorf("%d entries in generation %v, %v", len(entries), state.Generation, err)
	}
}

// TestForeign: skills of one repository are not replaced by those of another, unless somebody
// wants that; nothing else is pushed or pruned then either.
func TestForeign(t *testing.T) {
	st := memorytest.New()
	ours, theirs := at(t, folder(t, files()), "root:skills", 1), at(t, folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "x/SKILL.md": doc("x")}), "root:skills", 1)
	by := func(origin string) *push.Options {
		own := push.Origin{ID: origin, Repository: origin}
		return &push.Options{Origins: map[string]push.Origin{"root:skills": own, "mine": own}}
	}
	does(t, st, nil, ours)
	if _, err := push.Push(t.Context(), st, []source.Source{at(t, folder(t, map[string]string{"x/SKILL.md": doc("x")}), "root:skills", 1)}, by("two")); err == nil || !strings.Contains(err.Error(), "(origin unknown, this is two), with 3 skills") {
		t.Errorf("what has none of the skills takes their place: %v", err)
	}
	before := does(t, st, by("one"), ours) // the first that comes
	want(t, "with an origin", before, "root:skills: 0 files")
	if again := does(t, st, by("one"), ours); again.After != before.After {
		t.Errorf("generation %v after %v", again.After, before.After)
	}
	more := at(t, folder(t, map[string]string{"x/SKILL.md": doc("x")}), "mine", 2)
	for _, o := range []push.Options{{}, {DryRun: true}, {Prune: true}, {Full: true}, {Replace: []string{"mine"}}} {
		for _, origin := range []string{"two", ""} {
			o.Origins = by(origin).Origins
			_, err := push.Push(t.Context(), st, []source.Source{theirs, more}, &o)
			foreign, ok := errors.AsType[*push.OriginError](err)
			if !ok || *foreign != (push.OriginError{Label: "root:skills", Has: "one", Own: origin, Skills: 3}) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	if state, err := st.State(t.Context()); err != nil || state.Generation != before.After {
		t.Errorf("generation %v after %v, %v", state.Generation, before.After, err)
	}
	want(t, "beside it", does(t, st, by("two"), more), "mine: +x/SKILL.md 1 files")
	o := by("two")
	o.Replace = []string{"root:skills"}
	want(t, "replaced", does(t, st, o, theirs), "root:skills: +x/SKILL.md ~pdf/SKILL.md -git/broken/SKILL.md -git/ocr/SKILL.md 0 files")
	if _, err := push.Push(t.Context(), st, []source.Source{ours}, by("one")); err == nil {
		t.Error("the first one is not told that it was replaced")
	}
	want(t, "unchanged", does(t, st, by("two"), theirs), "root:skills: 0 files")
}

// unmade is the store of a catalog that the first push makes.
type unmade struct{ *memorytest.Store }

func (unmade) State(context.Context) (store.State, error) {
	return store.State{}, fmt.Errorf("no catalog: %w", fs.ErrNotExist)
}

// TestFirstDryRun: before the first push a dry run says what that will do.
func TestFirstDryRun(t *testing.T) {
	one := at(t, folder(t, files()), "one", 2)
	two := at(t, folder(t, map[string]string{"x/SKILL.md": doc("x"), "y/SKILL.md": doc("y"), "y/y.py": "y"}), "two", 1)
	gone := at(t, filepath.Join(t.TempDir(), "gone"), "gone", 0)
	o := &push.Options{DryRun: true, Prune: true, Full: true, Embedder: new(embedtest.Fake), Inline: true}
	said := does(t, unmade{memorytest.New()}, o, one, two, gone)
	o.DryRun = false
	did := does(t, memorytest.New(), o, one, two, gone)
	if said.After != said.Before {
		t.Errorf("a dry run made generation %v of %v", said.After, said.Before)
	}
	said.Before, said.After, did.Before, did.After = store.Generation{}, store.Generation{}, store.Generation{}, store.Generation{}
	for _, r := range []*push.Result{said, did} {
		r.Shared, r.Unshared = false, nil
		for i := range r.Sources {
			r.Sources[i].Report.Took = 0
		}
	}
	if diff := cmp.Diff(did, said, cmp.AllowUnexported(index.Report{})); diff != "" {
		t.Errorf("(-did +said)\n%s", diff)
	}
}

// TestInterrupted: a push that is interrupted or fails leaves its source as it was.
func TestInterrupted(t *testing.T) {
	st := memorytest.New()
	src := at(t, folder(t, files()), "a", 1)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := push.Push(ctx, st, []source.Source{src}, &push.Options{Found: cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if state, err := st.State(t.Context()); err != nil || state.Generation != (store.Generation{}) {
		t.Errorf("state %+v, %v", state, err)
	}
	failing := &embedtest.Fake{Err: errors.New("the embedder is gone")}
	r, err := push.Push(t.Context(), st, []source.Source{src}, &push.Options{Embedder: failing})
	if err != nil || r.Unembedded == nil || !strings.Contains(r.Unembedded.Error(), "gone") {
		t.Errorf("%+v, %v", r, err)
	}
	want(t, "push without vectors", r, "a: +git/broken/SKILL.md +git/ocr/SKILL.md +pdf/SKILL.md 4 files")
}

// TestRefusedAgain: a skill that cannot be used any more has no files.
func TestRefusedAgain(t *testing.T) {
	st, dir := memorytest.New(), folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "ocr/SKILL.md": doc("ocr")})
	does(t, st, nil, at(t, dir, "a", 1))
	write(t, dir, "pdf/SKILL.md", "nothing")
	want(t, "push", does(t, st, nil, at(t, dir, "a", 1)), "a: ~pdf/SKILL.md 0 files")
	if list, err := st.SkillFiles(t.Context(), "a", "pdf"); len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files %v, %v", list, err)
	}
	if pdf, ocr := known(t, st, "pdf/SKILL.md"), known(t, st, "ocr/SKILL.md"); pdf.Name != "" || ocr.Name != "ocr" {
		t.Errorf("skills %+v and %+v", pdf, ocr)
	}
}

// TestNames: a skill whose files are the same is written again if its name is another one.
func TestNames(t *testing.T) {
	st, dir := memorytest.New(), folder(t, map[string]string{"pdf/SKILL.md": doc("pdf"), "a/SKILL.md": strings.Replace(doc("x"), "name: x\n", "", 1)})
	with := func(names map[string]string) source.Source {
		s, err := source.Dir(dir, &source.Options{Label: "a", Names: names})
		must.Do(t, err)
		return s
	}
	want(t, "first push", does(t, st, nil, with(nil)), "a: +a/SKILL.md +pdf/SKILL.md 2 files")
	want(t, "second push", does(t, st, nil, with(nil)), "a: 0 files")
	want(t, "renamed", does(t, st, nil, with(map[string]string{"pdf": "our-pdf"})), "a: ~pdf/SKILL.md 0 files")
	want(t, "renamed still", does(t, st, nil, with(map[string]string{"pdf": "our-pdf"})), "a: 0 files")
	want(t, "own name", does(t, st, nil, with(nil)), "a: ~pdf/SKILL.md 0 files")
	entries, err := st.Entries(t.Context(), nil)
	if err != nil || len(entries) != 2 || entries[1].Name != "pdf" {
		t.Errorf("entries %+v, %v", entries, err)
	}
}

// TestDamaged: a full push replaces content that was damaged in the catalog.
func TestDamaged(t *testing.T) {
	st, dir := memorytest.New(), folder(t, files())
	does(t, st, nil, at(t, dir, "a", 1))
	list, err := st.SkillFiles(t.Context(), "a", "pdf")
	must.Do(t, err)
	must.Do(t, st.Damage(list[0].SHA256, []byte("something else")))
	want(t, "full push", does(t, st, &push.Options{Full: true}, at(t, dir, "a", 1)), "a: 1 files")
	served(t, st, dir, "a", "pdf", "git/ocr")
}

// TestFull: all skills are written anew, and the result lists only what differs.
func TestFull(t *testing.T) {
	st, dir := memorytest.New(), folder(t, files())
	does(t, st, nil, at(t, dir, "a", 1))
	r := does(t, st, &push.Options{Full: true}, at(t, dir, "a", 1))
	want(t, "full push", r, "a: 0 files")
	if r.After.Number != 2 || r.Sources[0].Unchanged != 2 || r.Sources[0].Report.Changed != 2 {
		t.Errorf("generation %v, %d the same; %+v", r.After, r.Sources[0].Unchanged, r.Sources[0].Report)
	}
	served(t, st, dir, "a", "pdf", "git/ocr")
}
