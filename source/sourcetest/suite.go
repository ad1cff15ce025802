// Package sourcetest checks that an implementation of source.Source keeps its
// contract. Its Table is an example that shares no code with package source.
package sourcetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Store holds the files of a source under test.
type Store struct {
	Source source.Source

	// Put adds or replaces a file; Remove removes one. nil means that the source
	// never changes.
	Put    func(t *testing.T, name, text string)
	Remove func(t *testing.T, name string)
}

// TestSource runs all checks. It calls open with files by path; open returns a source
// that holds exactly these files.
func TestSource(t *testing.T, open func(t *testing.T, files map[string]string) Store) {
	for name, f := range map[string]func(*testing.T, Store){
		"Info": testInfo, "Skills": testSkills, "Load": testLoad, "Refused": testRefused, "List": testList, "Read": testRead,
		"Names": testNames, "Cancelled": testCancelled, "Unchanged": testUnchanged, "Changed": testChanged, "Concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t, files())) })
	}
	t.Run("Top", func(t *testing.T) { testTop(t, open(t, topFiles())) })
}

func doc(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\nBody of " + name + ".\n"
}

// files are the contents of each source under test: two good skills and a broken
// one. One good skill has files of each kind and a skill inside, which is part of it.
func files() map[string]string {
	return map[string]string{
		"readme.md":                     "no skill",
		"pdf/SKILL.md":                  doc("pdf"),
		"pdf/scripts/fill.py":           "print()\n",
		"pdf/references/deep/forms.md":  "Forms.\n",
		"pdf/assets/logo.png":           "\x89PNG\x00",
		"pdf/notes.txt":                 "",
		"pdf/inside/SKILL.md":           doc("inside"),
		"group/ocr/SKILL.md":            doc("ocr"),
		"group/broken/SKILL.md":         "no frontmatter",
		"group/not-a-skill/scripts/a.h": "int a;\n",
	}
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// walk returns the skills by the path of their SKILL.md, these paths in order, and
// the traces by folder.
func walk(t *testing.T, s source.Source) (refs map[string]*skill.Ref, order []string, traces map[string]source.Trace) {
	t.Helper()
	refs, traces = make(map[string]*skill.Ref), make(map[string]source.Trace)
	for ref, err := range s.Skills(t.Context(), func(tr source.Trace) { traces[tr.Dir] = tr }) {
		if note, ok := err.(interface{ Incomplete() bool }); ok && !note.Incomplete() {
			continue // it is about what is no skill
		}
		must.Do(t, err)
		refs[ref.Path], order = ref, append(order, ref.Path)
	}
	return refs, order, traces
}

func load(t *testing.T, s source.Source, path string) *skill.Skill {
	t.Helper()
	refs, _, _ := walk(t, s)
	if refs[path] == nil {
		t.Fatalf("no skill %s", path)
	}
	sk, err := refs[path].Load()
	must.Do(t, err)
	return sk
}

func testInfo(t *testing.T, st Store) {
	info := st.Source.Info()
	if info.Label == "" || info.MaxFile < 0 || info != st.Source.Info() {
		t.Errorf("info %+v, then %+v", info, st.Source.Info())
	}
}

func testSkills(t *testing.T, st Store) {
	_, order, traces := walk(t, st.Source)
	want := []string{"group/broken/SKILL.md", "group/ocr/SKILL.md", "pdf/SKILL.md"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	for _, dir := range []string{"group/broken", "group/ocr", "pdf"} {
		if !traces[dir].Skill {
			t.Errorf("%s has the trace %+v", dir, traces[dir])
		}
	}
	for range st.Source.Skills(t.Context(), nil) {
		break // a caller may stop early and may pass a nil trace
	}
}

func testLoad(t *testing.T, st Store) {
	sk := load(t, st.Source, "pdf/SKILL.md")
	if sk.Name != "pdf" || sk.Source != st.Source.Info().Label || sk.Path != "pdf/SKILL.md" || sk.Location == "" || sk.Body != "Body of pdf.\n" {
		t.Errorf("%+v", sk.Meta)
	}
	if sk.TextDigest != sum(doc("pdf")) || !strings.HasPrefix(sk.Digest, "sha256:") {
		t.Errorf("digests %s and %s", sk.TextDigest, sk.Digest)
	}
	all := files()
	var paths []string
	for _, f := range sk.Files {
		paths = append(paths, f.Path)
		if text := all["pdf/"+f.Path]; f.SHA256 != sum(text) || f.Size != int64(len(text)) {
			t.Errorf("%+v", f)
		}
	}
	want := []string{"SKILL.md", "assets/logo.png", "inside/SKILL.md", "notes.txt", "references/deep/forms.md", "scripts/fill.py"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	m, err := source.ReadManifest(t.Context(), st.Source, "pdf")
	if err != nil || m.Digest != sk.Digest || m.TextDigest() != sk.TextDigest || string(m.Text) != doc("pdf") || m.Unserved != "" || m.Partial {
		t.Errorf("manifest %+v, %v; want the digest %s", m, err, sk.Digest)
	}
}

// testRefused: a broken skill is found, and loading it fails with a *ParseError.
func testRefused(t *testing.T, st Store) {
	refs, _, _ := walk(t, st.Source)
	_, err := refs["group/broken/SKILL.md"].Load()
	var refused *skill.ParseError
	if !errors.As(err, &refused) || refused.Problem.Path != "group/broken/SKILL.md" {
		t.Errorf("error %v, want a *skill.ParseError", err)
	}
}

func testList(t *testing.T, st Store) {
	l, err := st.Source.List(t.Context(), "pdf")
	must.Do(t, err)
	want := load(t, st.Source, "pdf/SKILL.md").Files
	for i, f := range l.Files {
		if i < len(want) && f.SHA256 == "" {
			want[i].SHA256 = ""
		}
	}
	if diff := cmp.Diff(want, l.Files); diff != "" || l.Partial || l.Unserved != "" {
		t.Errorf("%+v; files (-want +got):\n%s", l, diff)
	}
	for _, dir := range []string{"nothing", "group", "group/not-a-skill"} {
		if _, err := st.Source.List(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", dir, err)
		}
	}
}

func testRead(t *testing.T, st Store) {
	for name, text := range files() {
		name, ok := strings.CutPrefix(name, "pdf/")
		if !ok {
			continue
		}
		f, err := source.ReadFile(t.Context(), st.Source, "pdf", "./"+name) // as a SKILL.md writes it
		must.Do(t, err)
		want := source.File{Path: name, Size: int64(len(text)), SHA256: sum(text), Binary: strings.Contains(text, "\x00"), Data: []byte(text)}
		if diff := cmp.Diff(want, *f); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	f, err := source.ReadInstructions(t.Context(), st.Source, "group/ocr")
	if err != nil || f.Path != "SKILL.md" || string(f.Data) != doc("ocr") || f.SHA256 != sum(doc("ocr")) {
		t.Errorf("%+v, %v", f, err)
	}
}

// testNames: only regular files of a skill can be opened.
func testNames(t *testing.T, st Store) {
	refuses := func(dir, name string) {
		f, err := source.ReadFile(t.Context(), st.Source, dir, name)
		if !errors.Is(err, source.ErrRefused) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q in folder %q: %v, %v", name, dir, f, err)
		}
	}
	for _, name := range []string{"", ".", "..", "scripts", "scripts/", "../readme.md", "../group/ocr/SKILL.md", "/etc/passwd", `scripts\fill.py`, "missing.txt", "notes.txt/x"} {
		refuses("pdf", name)
	}
	for dir, name := range map[string]string{".": "readme.md", "group": "ocr/SKILL.md", "group/not-a-skill": "scripts/a.h", "nothing": "SKILL.md", "..": "x", "pdf/inside": "SKILL.md", "": "readme.md"} {
		refuses(dir, name)
	}
}

// testCancelled: a walk that was cut off reports that skills may be missing.
func testCancelled(t *testing.T, st Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	complete := true
	for _, err := range st.Source.Skills(ctx, func(source.Trace) { t.Error("a walk that was cut off has a trace") }) {
		var own interface{ Incomplete() bool }
		complete = complete && (err == nil || errors.As(err, &own) && !own.Incomplete())
	}
	if complete {
		t.Error("the walk claims to be complete")
	}
	_, listErr := st.Source.List(ctx, "pdf")
	_, readErr := source.ReadFile(ctx, st.Source, "pdf", "notes.txt")
	_, textErr := source.ReadInstructions(ctx, st.Source, "pdf")
	_, manifestErr := source.ReadManifest(ctx, st.Source, "pdf")
	for i, err := range []error{listErr, readErr, textErr, manifestErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v, want context.Canceled", i, err)
		}
	}
}

// testUnchanged: an unchanged skill keeps its stamp, and Unchanged returns true unless
// the trace has no stamp.
func testUnchanged(t *testing.T, st Store) {
	refs, _, traces := walk(t, st.Source)
	for dir, trace := range traces {
		if trace.Dir != dir || trace.Stamp != "" && !st.Source.Unchanged(trace) {
			t.Errorf("%s has changed since %+v", dir, trace)
		}
		trace.Stamp = ""
		if st.Source.Unchanged(trace) {
			t.Errorf("%s is unchanged by a trace without a stamp", dir)
		}
	}
	again, _, _ := walk(t, st.Source)
	for path, ref := range refs {
		one, trace, ok := st.Source.Skill(strings.TrimSuffix(path, "/SKILL.md"))
		if !ok || one.Path != path || !trace.Skill || one.Stamp != ref.Stamp || again[path].Stamp != ref.Stamp {
			t.Errorf("%s: %+v, %+v, %t", path, one, trace, ok)
		}
	}
	for _, dir := range []string{"nothing", "group", "."} {
		if ref, _, ok := st.Source.Skill(dir); ok {
			t.Errorf("%s is the skill %v", dir, ref)
		}
	}
}

// testChanged: each change shows in the stamp, in the trace and in the digest.
func testChanged(t *testing.T, st Store) {
	if st.Put == nil || st.Remove == nil {
		t.Skip("this source never changes")
	}
	for _, c := range []struct {
		name string
		do   func()
		text bool // SKILL.md changes
	}{
		{"SKILL.md", func() { st.Put(t, "pdf/SKILL.md", doc("pdf")+"More.\n") }, true},
		{"another file", func() { st.Put(t, "pdf/notes.txt", "New notes.\n") }, false},
		{"a new file", func() { st.Put(t, "pdf/scripts/new.py", "new\n") }, false},
		{"a file that is gone", func() { st.Remove(t, "pdf/scripts/new.py") }, false},
	} {
		refs, _, traces := walk(t, st.Source)
		before := load(t, st.Source, "pdf/SKILL.md")
		c.do()
		after := load(t, st.Source, "pdf/SKILL.md")
		if after.Digest == before.Digest || (after.TextDigest != before.TextDigest) != c.text {
			t.Errorf("%s: digests %s and %s, then %s and %s", c.name, before.Digest, before.TextDigest, after.Digest, after.TextDigest)
		}
		now, _, _ := walk(t, st.Source)
		if stamp := now["pdf/SKILL.md"].Stamp; stamp != "" && stamp == refs["pdf/SKILL.md"].Stamp {
			t.Errorf("%s: the stamp is still %q", c.name, stamp)
		}
		if st.Source.Unchanged(traces["pdf"]) {
			t.Errorf("%s: the folder is unchanged", c.name)
		}
		f, err := source.ReadInstructions(t.Context(), st.Source, "pdf")
		if err != nil || f.SHA256 != after.TextDigest {
			t.Errorf("%s: instructions %+v, %v", c.name, f, err)
		}
	}
	changed := func(traces map[string]source.Trace) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(traces)), func(t source.Trace) bool { return !st.Source.Unchanged(t) })
	}
	_, _, traces := walk(t, st.Source)
	st.Put(t, "added/SKILL.md", doc("added"))
	if !changed(traces) {
		t.Error("no trace shows that there is a new skill")
	}
	_, order, traces := walk(t, st.Source)
	if !slices.Contains(order, "added/SKILL.md") {
		t.Errorf("after a skill was added: %q", order)
	}
	st.Remove(t, "added/SKILL.md")
	if _, order, _ := walk(t, st.Source); slices.Contains(order, "added/SKILL.md") || !changed(traces) {
		t.Errorf("after it was removed: %q, changed %t", order, changed(traces))
	}
}

func testConcurrent(t *testing.T, st Store) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ref, err := range st.Source.Skills(context.Background(), nil) {
				if err != nil {
					t.Error(err)
					continue
				}
				if _, err := ref.Load(); err != nil {
					continue // of a skill that is refused there may be no files
				}
				dir := strings.TrimSuffix(ref.Path, "/SKILL.md")
				_, listErr := st.Source.List(context.Background(), dir)
				_, readErr := source.ReadInstructions(context.Background(), st.Source, dir)
				if err := errors.Join(listErr, readErr); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
