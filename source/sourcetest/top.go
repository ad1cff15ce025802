package sourcetest

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// topFiles are a source with a skill at its top, among other skills.
func topFiles() map[string]string {
	return map[string]string{
		"SKILL.md":                 doc("top"),
		"notes.md":                 "Notes.\n",
		"assets/template/SKILL.md": doc("template"),
		"group/readme.md":          "Read me.\n",
		"group/ocr/SKILL.md":       doc("ocr"),
		"pdf/SKILL.md":             doc("pdf"),
		"pdf/scripts/fill.py":      "print()\n",
	}
}

// found returns the folders of the skills, and the traces. The source may say that there is a
// skill at its top, if it does not claim that skills are missing.
func found(t *testing.T, s source.Source) (dirs []string, traces []source.Trace) {
	t.Helper()
	for ref, err := range s.Skills(t.Context(), func(tr source.Trace) { traces = append(traces, tr) }) {
		if err == nil {
			dirs = append(dirs, path.Dir(ref.Path))
			continue
		}
		var whole interface{ Incomplete() bool }
		if !errors.As(err, &whole) || whole.Incomplete() {
			t.Fatal(err)
		}
	}
	return dirs, traces
}

// checkTop checks that all ways to the files of the skill at the top lead to these.
func checkTop(t *testing.T, s source.Source, want ...string) (digest string) {
	t.Helper()
	var listed, hashed, loaded []string
	l, err := s.List(t.Context(), ".")
	must.Do(t, err)
	for _, f := range l.Files {
		listed = append(listed, f.Path)
	}
	m, err := source.ReadManifest(t.Context(), s, ".")
	must.Do(t, err)
	for _, f := range m.Files {
		hashed = append(hashed, f.Path)
	}
	ref, _, ok := s.Skill(".")
	if !ok {
		t.Fatal("no skill at the top")
	}
	sk, err := ref.Load()
	must.Do(t, err)
	for _, f := range sk.Files {
		loaded = append(loaded, f.Path)
	}
	for way, got := range map[string][]string{"listed": listed, "hashed": hashed, "loaded": loaded} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", way, diff)
		}
	}
	if m.Digest != sk.Digest || m.Unserved != "" || m.Partial {
		t.Errorf("manifest %+v; want the digest %s", m, sk.Digest)
	}
	for _, name := range want {
		if _, err := source.ReadFile(t.Context(), s, ".", name); err != nil {
			t.Error(err)
		}
	}
	return sk.Digest
}

// testTop: a skill at the top hides no other skill, and nobody reads the others through it.
func testTop(t *testing.T, st Store) {
	s := st.Source
	dirs, traces := found(t, s)
	if diff := cmp.Diff([]string{".", "group/ocr", "pdf"}, dirs); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	digest := checkTop(t, s, "SKILL.md", "assets/template/SKILL.md", "group/readme.md", "notes.md")
	for _, at := range [][2]string{{".", "pdf/SKILL.md"}, {".", "pdf/scripts/fill.py"}, {".", "group/ocr/SKILL.md"}, {"assets/template", "SKILL.md"}, {"group", "readme.md"}} {
		f, err := source.ReadFile(t.Context(), s, at[0], at[1])
		if !errors.Is(err, source.ErrRefused) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s in folder %s: %v, %v", at[1], at[0], f, err)
		}
	}
	if _, err := source.ReadFile(t.Context(), s, "pdf", "scripts/fill.py"); err != nil {
		t.Error(err)
	}
	if st.Put == nil || st.Remove == nil {
		return
	}
	shows := func(t source.Trace) bool { return !t.Skill && !s.Unchanged(t) }
	for _, step := range []struct {
		name  string
		do    func()
		dirs  []string
		files []string // of the skill at the top
	}{
		{"a skill that begins", func() { st.Put(t, "group/SKILL.md", doc("group")) }, []string{".", "group", "pdf"}, []string{"SKILL.md", "assets/template/SKILL.md", "notes.md"}},
		{"a skill that ends", func() { st.Remove(t, "group/SKILL.md") }, []string{".", "group/ocr", "pdf"}, []string{"SKILL.md", "assets/template/SKILL.md", "group/readme.md", "notes.md"}},
	} {
		step.do()
		// That a skill has ended shows where it was.
		if _, _, still := s.Skill("group"); still && !slices.ContainsFunc(traces, shows) {
			t.Errorf("%s: no trace of a folder shows it", step.name)
		}
		if dirs, traces = found(t, s); !slices.Equal(dirs, step.dirs) {
			t.Errorf("%s: found %q, want %q", step.name, dirs, step.dirs)
		}
		checkTop(t, s, step.files...)
	}
	st.Put(t, "pdf/scripts/fill.py", "other()\n")
	if now := checkTop(t, s, "SKILL.md", "assets/template/SKILL.md", "group/readme.md", "notes.md"); now != digest {
		t.Error("the file of another skill changed the digest of the one at the top")
	}
	st.Remove(t, "SKILL.md")
	if dirs, _ := found(t, s); !slices.Equal(dirs, []string{"assets/template", "group/ocr", "pdf"}) || !slices.ContainsFunc(traces, shows) {
		t.Errorf("without the skill at the top: %q", dirs)
	}
}
