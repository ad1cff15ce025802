package source_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/scripts/run.sh": "echo", "a/b.txt": "", "a/.git/config": "secret",
		"a/evals/b.json": `{"should_trigger":["second"],"should_not_trigger":["never"]}`, "a/evals/a.json": `["first", "Second "]`, "a/evals/odd.json": "{"})
	sk := load(t, open(t, dir, &source.Options{Label: "test"}), "a/SKILL.md")
	if sk.Source != "test" || sk.Dir() != "a" || sk.File() != "SKILL.md" || sk.Name != "a" || sk.Location != filepath.Join(dir, "a", "SKILL.md") {
		t.Errorf("got %q in %q of %q, named %q, at %q", sk.File(), sk.Dir(), sk.Source, sk.Name, sk.Location)
	}
	files := []skill.File{
		{Path: "SKILL.md", Size: int64(len(doc("a"))), SHA256: sum(doc("a"))},
		{Path: "b.txt", SHA256: sum("")},
		{Path: "evals/a.json", Size: 20, SHA256: sum(`["first", "Second "]`)},
		{Path: "evals/b.json", Size: 60, SHA256: sum(`{"should_trigger":["second"],"should_not_trigger":["never"]}`)},
		{Path: "evals/odd.json", Size: 1, SHA256: sum("{")},
		{Path: "scripts/run.sh", Size: 4, SHA256: sum("echo")},
	}
	if diff := cmp.Diff(files, sk.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if !strings.Contains(sk.Body, "Body of a.") || !strings.HasPrefix(sk.Digest, "sha256:") || len(sk.Digest) != 7+64 {
		t.Errorf("body %q, digest %q", sk.Body, sk.Digest)
	}
	if want := []string{"first", "Second"}; !slices.Equal(sk.Examples, want) {
		t.Errorf("examples %q, want %q: those of the evals that should trigger", sk.Examples, want)
	}
	if list := problems(sk); len(list) > 0 {
		t.Errorf("problems %v", list)
	}
}

// The same files have the same digest wherever they are.
func TestDigest(t *testing.T) {
	files := map[string]string{"a/SKILL.md": doc("a"), "a/x.txt": "x"}
	mem := make(fstest.MapFS)
	for name, text := range files {
		mem[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := source.New(mem, nil)
	must.Do(t, err)
	dir := folder(t, files)
	s := open(t, dir, nil)
	want := load(t, s, "a/SKILL.md").Digest
	if got := load(t, m, "a/SKILL.md").Digest; got != want {
		t.Errorf("digest in memory %s, on disk %s", got, want)
	}
	if got, err := source.ReadManifest(t.Context(), s, "a"); err != nil || got.Digest != want {
		t.Errorf("Digest = %s, %v; want %s", got.Digest, err, want)
	}
	must.Write(t, filepath.Join(dir, "a", "x.txt"), "y")
	if got, err := source.ReadManifest(t.Context(), s, "a"); err != nil || got.Digest == want {
		t.Errorf("Digest after a change = %s, %v", got.Digest, err)
	}
}

func TestLoadTop(t *testing.T) {
	dir := filepath.Join(folder(t, map[string]string{"my-skill/SKILL.md": doc("my-skill"), "my-skill/x": ""}), "my-skill")
	sk := load(t, open(t, dir, nil), "SKILL.md")
	if sk.Name != "my-skill" || sk.Dir() != "." || sk.Location != filepath.Join(dir, "SKILL.md") || len(sk.Files) != 2 {
		t.Errorf("got %q in %q at %q with %v", sk.Name, sk.Dir(), sk.Location, sk.Files)
	}
	must.Write(t, filepath.Join(dir, "SKILL.md"), "no frontmatter")
	_, _, refs := walk(t, open(t, dir, nil))
	_, err := refs["SKILL.md"].Load()
	var bad *skill.ParseError
	if !errors.As(err, &bad) || bad.Problem.Path != "SKILL.md" {
		t.Errorf("broken skill: %v; want a ParseError at SKILL.md", err)
	}
}

func TestLoadLocationInMemory(t *testing.T) {
	s, err := source.New(fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}}, &source.Options{Label: "mem"})
	must.Do(t, err)
	if got := load(t, s, "a/SKILL.md").Location; got != "mem:a/SKILL.md" {
		t.Errorf("location %q", got)
	}
}

func TestLoadNames(t *testing.T) {
	dir := folder(t, map[string]string{"x/a/SKILL.md": doc("stated"), "b/SKILL.md": doc("other")})
	s := open(t, dir, &source.Options{Names: map[string]string{"./x/a/": "by-folder", "stated": "unused", "other": "by-name"}})
	if got := load(t, s, "x/a/SKILL.md").Name; got != "by-folder" {
		t.Errorf("x/a is called %q", got)
	}
	if got := load(t, s, "b/SKILL.md").Name; got != "by-name" {
		t.Errorf("b is called %q", got)
	}
	top := open(t, filepath.Join(dir, "b"), &source.Options{Names: map[string]string{".": "top"}})
	if got := load(t, top, "SKILL.md").Name; got != "top" {
		t.Errorf("the top is called %q", got)
	}
}

// An installed skill has the name of its folder.
func TestLoadInstalled(t *testing.T) {
	dir := folder(t, map[string]string{"tom/SKILL.md": doc("cat"), "more/cat/SKILL.md": doc("dog")})
	s := open(t, dir, &source.Options{Kind: source.KindInstalled})
	if got := load(t, s, "tom/SKILL.md").Name; got != "tom" {
		t.Errorf("the skill in tom is called %s", got)
	}
	if got := load(t, s, "more/cat/SKILL.md").Name; got != "dog" {
		t.Errorf("a skill deeper down is called %s", got)
	}
}

func TestLoadProblems(t *testing.T) {
	out := folder(t, map[string]string{"secret.txt": "secret"})
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"two instructions", map[string]string{"a/skill.md": ""}, []string{"a/skill.md two-skill-files"}},
		{"case", map[string]string{"a/x/Y.md": "", "a/x/y.md": ""}, []string{"a/x/y.md case-collision"}},
		{"link outside", map[string]string{"a/l": "-> " + out + "/secret.txt", "a/m": "-> ../../x"}, []string{"a/l link-outside", "a/m link-outside"}},
		{"odd texts", map[string]string{"a/assets/t.docx": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a/n.md": "\xff\xfea\x00"}, []string{"a/assets/t.docx lfs-pointer", "a/n.md utf-16"}},
		{"folder outside", map[string]string{"a/l": "-> " + out}, []string{"a/l link-outside"}},
		{"links inside", map[string]string{"a/x/f": "", "a/l": "-> x/f", "a/d": "-> x"}, nil},
		{"dangling", map[string]string{"a/l": "-> none"}, []string{"a/l dangling-link"}},
		{"unportable", map[string]string{"a/aux.md": ""}, []string{"a/aux.md unportable-name"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.files["a/SKILL.md"] = doc("a")
			sk := load(t, open(t, folder(t, test.files), nil), "a/SKILL.md")
			if diff := cmp.Diff(test.want, problems(sk)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			for _, f := range sk.Files {
				if f.SHA256 == sum("secret") {
					t.Errorf("%s is in the manifest", f.Path)
				}
			}
		})
	}
}

func TestLoadManyFiles(t *testing.T) {
	files := fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}}
	for i := range 600 {
		files[fmt.Sprintf("a/0%03d", i)] = &fstest.MapFile{}
	}
	s, err := source.New(files, nil)
	must.Do(t, err)
	sk := load(t, s, "a/SKILL.md")
	if len(sk.Files) != 512 || sk.Files[511].Path != "SKILL.md" || !cmp.Equal(problems(sk), []string{"a too-many-files"}) {
		t.Errorf("%d files, problems %v", len(sk.Files), problems(sk))
	}
}

func TestLoadManyFolders(t *testing.T) {
	files := fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}}
	for i := range 600 {
		files[fmt.Sprintf("a/f%03d", i)] = &fstest.MapFile{Mode: fs.ModeDir}
	}
	s, err := source.New(files, nil)
	must.Do(t, err)
	if got := problems(load(t, s, "a/SKILL.md")); !cmp.Equal(got, []string{"a too-many-files"}) {
		t.Errorf("problems %v", got)
	}
}

func TestLoadLargeSkill(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/1": "", "a/2": "", "a/3": "", "a/4": "", "a/5": ""})
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		must.Do(t, os.Truncate(filepath.Join(dir, "a", name), 16<<20))
	}
	if got := problems(load(t, open(t, dir, nil), "a/SKILL.md")); !cmp.Equal(got, []string{"a too-many-bytes", "a/5 file-not-hashed"}) {
		t.Errorf("problems %v", got)
	}
}

// TestLimits: a source reports what its limits forbid, and nothing else; other limits are
// other settings, so that all skills are read anew.
func TestLimits(t *testing.T) {
	long := "---\nname: abcdef\ndescription: " + strings.Repeat("x", 1500) + "\n---\n" + strings.Repeat("word ", 300)
	dir := folder(t, map[string]string{"abcdef/SKILL.md": long, "abcdef/1": "12345", "abcdef/2": ""})
	settings := make(map[string]bool)
	for _, tt := range []struct {
		limits skill.Limits
		want   []string
		kept   int
	}{
		{skill.Limits{}, []string{"abcdef/SKILL.md:3 description-too-long"}, 1024},
		{skill.Limits{Description: 1499}, []string{"abcdef/SKILL.md:3 description-too-long"}, 1499},
		{skill.Limits{Description: 2000}, nil, 1500},
		{skill.Limits{Name: 5, Description: 10, Body: 100, Files: 2, Bytes: 1000}, []string{"abcdef/SKILL.md:3 description-too-long",
			"abcdef/SKILL.md:2 name-too-long", "abcdef/SKILL.md:5 body-too-long", "abcdef too-many-files", "abcdef too-many-bytes"}, 1024},
	} {
		s := open(t, dir, &source.Options{Limits: tt.limits})
		sk := load(t, s, "abcdef/SKILL.md")
		got := problems(sk)
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) || len(sk.Description) != tt.kept || len(sk.Files) != 3 {
			t.Errorf("%+v: problems %v; %d characters kept, %d files", tt.limits, got, len(sk.Description), len(sk.Files))
		}
		settings[s.Info().Settings] = true
	}
	if same := open(t, dir, &source.Options{Limits: skill.Limits{}.OrDefault()}); len(settings) != 4 || !settings[same.Info().Settings] {
		t.Errorf("settings %v", settings)
	}
}

// TestOnly: a source searches only the folders at the top that it is told to.
func TestOnly(t *testing.T) {
	s, err := source.New(source.Bundled(), &source.Options{Only: []string{"writing-skills", "none"}})
	must.Do(t, err)
	if paths, errs, _ := walk(t, s); !cmp.Equal(paths, []string{"writing-skills/SKILL.md"}) || len(errs) > 0 {
		t.Errorf("paths %v, errors %v", paths, errs)
	}
}

// The digest sees all of a SKILL.md that is too long to be parsed.
func TestDigestLongInstructions(t *testing.T) {
	long := strings.Repeat("x", skill.MaxFile+10)
	dir := folder(t, map[string]string{"a/SKILL.md": long, "b/SKILL.md": long[1:] + "y"})
	s := open(t, dir, nil)
	a, err := source.ReadManifest(t.Context(), s, "a")
	must.Do(t, err)
	b, err := source.ReadManifest(t.Context(), s, "b")
	must.Do(t, err)
	if a.Digest == b.Digest {
		t.Error("different files have one digest")
	}
}

func TestLoadLargeFile(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "a/big": "", "a/edge": ""})
	must.Do(t, os.Truncate(filepath.Join(dir, "a", "big"), 16<<20+1))
	must.Do(t, os.Truncate(filepath.Join(dir, "a", "edge"), 16<<20))
	sk := load(t, open(t, dir, nil), "a/SKILL.md")
	if !cmp.Equal(problems(sk), []string{"a too-many-bytes", "a/big file-not-hashed"}) {
		t.Errorf("problems %v", problems(sk))
	}
	if f := sk.Files[1]; f.Size != 16<<20+1 || f.SHA256 != "" {
		t.Errorf("big: %+v", f)
	}
	if f := sk.Files[2]; f.Size != 16<<20 || f.SHA256 == "" {
		t.Errorf("edge: %+v", f)
	}
}

// Instructions that lie elsewhere are refused, not read.
func TestLoadInstructionsOutside(t *testing.T) {
	dir := folder(t, map[string]string{"x/SKILL.txt": doc("x"), "s/a/SKILL.md": "-> ../../x/SKILL.txt"})
	_, errs, refs := walk(t, open(t, filepath.Join(dir, "s"), nil))
	if len(errs) > 0 || refs["a/SKILL.md"] == nil {
		t.Fatalf("walk found %v, %v", refs, errs)
	}
	sk, err := refs["a/SKILL.md"].Load()
	var bad *skill.ParseError
	if !errors.As(err, &bad) || bad.Problem.Rule != "not-a-file" || bad.Problem.Path != "a/SKILL.md" {
		t.Errorf("got %v, %v", sk, err)
	}
}

// A skill that is gone by the time it is loaded says nothing about itself.
func TestLoadGone(t *testing.T) {
	dir := folder(t, map[string]string{"a/SKILL.md": doc("a"), "b/SKILL.md": doc("b"), "b/x": ""})
	_, _, refs := walk(t, open(t, dir, nil))
	must.Do(t, os.RemoveAll(filepath.Join(dir, "a")))
	must.Do(t, os.Remove(filepath.Join(dir, "b", "SKILL.md")))
	for path, ref := range refs {
		_, err := ref.Load()
		var bad *skill.ParseError
		if !errors.Is(err, os.ErrNotExist) || errors.As(err, &bad) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBundled(t *testing.T) {
	s, err := source.New(source.Bundled(), &source.Options{Label: "bundled"})
	must.Do(t, err)
	for ref, err := range s.Skills(t.Context(), func(source.Trace) {}) {
		must.Do(t, err)
		if ref.Stamp == "" {
			t.Errorf("%s has no stamp", ref.Path)
		}
		sk, err := ref.Load()
		if err != nil {
			t.Errorf("%s: %v", ref.Path, err)
			continue
		}
		for _, p := range sk.Problems {
			if p.Severity == skill.Error {
				t.Error(p)
			}
		}
	}
}

// TestManifestUnserved: a manifest says when it cannot serve all files of the folder.
func TestManifestUnserved(t *testing.T) {
	const most = 10
	for name, files := range map[string]map[string]string{
		"":                      {"a/x.md": "x", "a/b/c.md": "y"},
		"larger than the 10":    {"a/x.md": strings.Repeat("x", most+1)},
		"too large to hash":     {"a/x.md": ""},
		"colon":                 {"a/b:c.md": "x"},
		"more than 512":         {},
		"is a link to a folder": {"a/b/c.md": "y"},
	} {
		files["a/SKILL.md"] = doc("a")
		dir := folder(t, files)
		switch {
		case strings.HasPrefix(name, "too"):
			must.Do(t, os.Truncate(filepath.Join(dir, "a", "x.md"), 16<<20+1))
		case strings.HasPrefix(name, "more"):
			for i := range 512 {
				must.Write(t, filepath.Join(dir, "a", strconv.Itoa(i)), "")
			}
		case strings.HasPrefix(name, "is"):
			link(t, "b", filepath.Join(dir, "a", "link"))
		}
		m, err := source.ReadManifest(t.Context(), open(t, dir, &source.Options{MaxFile: most}), "a")
		must.Do(t, err)
		if (m.Unserved == "") != (name == "") || !strings.Contains(m.Unserved, name) {
			t.Errorf("%q: %q", name, m.Unserved)
		}
	}
}
