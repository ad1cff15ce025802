package source_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestTopLinks: links to other skills are as little part of a skill at the top as their
// folders, and no link of it leads to their files.
func TestTopLinks(t *testing.T) {
	out := folder(t, map[string]string{"one/SKILL.md": doc("one"), "one/secret.txt": "secret"})
	dir := folder(t, map[string]string{
		"SKILL.md": doc("top") + "[one](one/SKILL.md) [gone](gone.md) [b](b/SKILL.md)\n", "own/notes.md": "Notes.",
		"one": "-> " + out + "/one", "deep/er/one": "-> " + out + "/one",
		"b/SKILL.md": doc("b"), "b/references/x.md": "x", "c": "-> b", "file.md": "-> b/references/x.md", "folder": "-> b/references",
		"again.md": "-> own/notes.md",
	})
	s := open(t, dir, nil)
	paths, errs, _ := walk(t, s)
	if diff := cmp.Diff([]string{"SKILL.md", "b/SKILL.md", "deep/er/one/SKILL.md"}, paths); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SKILL.md skill-at-top", "c duplicate-folder", "one duplicate-folder"}, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	sk := load(t, s, "SKILL.md")
	if diff := cmp.Diff([]string{"SKILL.md:6 missing-resource", "file.md link-outside", "folder link-outside"}, problems(sk)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	l, err := s.List(t.Context(), ".")
	must.Do(t, err)
	slices.Sort(l.Skills)
	if diff := cmp.Diff([]string{"b", "c", "deep/er/one", "one"}, l.Skills); diff != "" || len(l.Links) > 0 {
		t.Errorf("links %q, skills (-want +got):\n%s", l.Links, diff)
	}
	for _, name := range []string{"file.md", "folder/x.md", "c/SKILL.md", "c/references/x.md", "b/references/x.md", "one/secret.txt", "deep/er/one/secret.txt"} {
		if f, err := source.ReadFile(t.Context(), s, ".", name); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "another skill") {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if f, err := source.ReadFile(t.Context(), s, ".", "again.md"); err != nil || string(f.Data) != "Notes." {
		t.Errorf("%v, %v", f, err)
	}
	_, err = source.ReadFile(t.Context(), s, ".", "b/references/y.md")
	missing, ok := errors.AsType[*source.FileError](err)
	if !ok || len(missing.Near) > 0 {
		t.Errorf("%v", err)
	}
}

// TestTopSingle: the folder of one skill is that skill alone, with everything below it, if its
// source is said to be one or if it has no other skills.
func TestTopSingle(t *testing.T) {
	files := map[string]string{"SKILL.md": doc("top"), "references/a.md": "a", "examples/b/SKILL.md": doc("b"), "examples/b/x.txt": "x"}
	dir := folder(t, files)
	open := func(o *source.Options) *source.FS { return open(t, dir, o) }
	want := []string{"SKILL.md", "examples/b/SKILL.md", "examples/b/x.txt", "references/a.md"}
	for name, s := range map[string]*source.FS{"single": open(&source.Options{Single: true}), "preloaded": open(&source.Options{Kind: source.KindPreloaded})} {
		paths, errs, _ := walk(t, s)
		var files []string
		for _, f := range load(t, s, "SKILL.md").Files {
			files = append(files, f.Path)
		}
		if !cmp.Equal(paths, want[:1]) || len(errs) > 0 || !cmp.Equal(files, want) {
			t.Errorf("%s: found %q, %q, with files %q", name, paths, errs, files)
		}
		if f, err := source.ReadFile(t.Context(), s, ".", "examples/b/x.txt"); err != nil || string(f.Data) != "x" {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if shared, single := open(nil), open(&source.Options{Single: true}); shared.Info().Settings == single.Info().Settings {
		t.Error("the setting is not part of the settings")
	}
	delete(files, "examples/b/SKILL.md")
	files["assets/template/SKILL.md"] = doc("template")
	dir = folder(t, files)
	shared, single := load(t, open(nil), "SKILL.md"), load(t, open(&source.Options{Single: true}), "SKILL.md")
	if shared.Digest != single.Digest || len(shared.Files) != 4 {
		t.Errorf("digest %s of %d files, want %s", shared.Digest, len(shared.Files), single.Digest)
	}
}
