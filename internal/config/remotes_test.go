package config_test

import (
	"archive/zip"
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRemotes: roots from elsewhere are sources of what was fetched, and say what was not.
// Opening them fetches nothing.
func TestRemotes(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	s := config.Settings{Roots: []config.Root{
		{Path: home, Label: "mine"},
		{Path: filepath.Join(home, "roots", "a"), Label: "git:a", Git: "file:///nowhere", Ref: "v1", Sub: "skills"},
		{Path: filepath.Join(home, "roots", "b"), Label: "url:b", URL: "http://127.0.0.1:1/b.zip", Fetch: "@hourly"},
	}}
	s.Limits.Files = 7
	roots := s.Remotes()
	if len(roots) != 2 || roots[0].Git != "file:///nowhere" || roots[0].Ref != "v1" || roots[0].Sub != "skills" || roots[1].Schedule != "@hourly" || roots[1].Limits.Unpack.Files != 7 {
		t.Errorf("%+v", roots)
	}
	sources, err := s.Sources(home, nil)
	must.Do(t, err)
	var said []string
	for _, src := range sources {
		for _, err := range src.Skills(t.Context(), nil) {
			if err != nil {
				said = append(said, src.Info().Label+" "+err.Error())
			}
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"git:a file:///nowhere: it has not been fetched yet", "url:b http://127.0.0.1:1/b.zip: it has not been fetched yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if err := s.Fetch()(t.Context()); err == nil || !strings.Contains(err.Error(), "fetching url:b: ") {
		t.Errorf("%v", err)
	}
	if none := config.Default(); none.Fetch() != nil {
		t.Error("nothing is elsewhere, and would be fetched")
	}
}

// TestPages: a root may be the page of a folder, whose ref and folder the repository parts when it is fetched, or an
// address with #REF. Every other address stays as it is written.
func TestPages(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	for text, want := range map[string]string{
		"git: https://h/o/r/tree/f/x/skills":               "git:o/r https://h/o/r   f/x/skills",
		"url: \"https://h/o/r/-/tree/f/x?ref_type=heads\"": "git:o/r https://h/o/r   refs/heads/f/x",
		"git: https://h/o/r/tree/f/x/skills, ref: f/x":     "git:o/r https://h/o/r f/x skills ",
		"git: \"git@h:o/r.git#f/x\", path: skills":         "git:o/r git@h:o/r.git f/x skills ",
		"git: https://h/o/r/, ref: v1, path: a":            "git:o/r https://h/o/r/ v1 a ",
		"git: https://h/a/b/src/tree.git":                  "git:src/tree https://h/a/b/src/tree.git   ",
		"git: http://h.example/o/r":                        "git:o/r http://h.example/o/r   ",
		"url: https://h/a/b/raw/main/x":                    "url:main/x https://h/a/b/raw/main/x   ",
		"url: \"https://h/skills#x\"":                      "url:h/skills https://h/skills#x   ",
		"git: https://h/o/r/tree/f/x, ref: g":              "FILE:1: roots: \"https://h/o/r/tree/f/x\": it names f/x, and ref is g; leave one of them out",
		"git: https://h/o/r/tree/f/x, path: y":             "FILE:1: roots: \"https://h/o/r/tree/f/x\": the address names a folder, and path another one; leave one of them out",
		"git: \"https://h/o/r#v1@x\"":                      "a root has all skills of its folder",
	} {
		file := filepath.Join(home, "config.yaml")
		must.Write(t, file, "roots: [{"+text+"}]\n")
		s, err := config.Read(home, &config.Options{File: file})
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), file, "FILE")
		} else {
			r := s.Remotes()[0]
			got = strings.Join([]string{r.Label, r.Git + r.URL, r.Ref, r.Sub, r.Page}, " ")
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}

// TestElsewhereHidesNothing: what strangers publish comes after all other sources, so that
// none of its names hides a skill, unless the user trusts it or orders otherwise.
func TestElsewhereHidesNothing(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	mine := filepath.Join(home, "mine")
	must.Write(t, filepath.Join(mine, "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Mine.\n---\n")
	far := config.Root{Path: filepath.Join(home, "far"), Label: "far", URL: "https://far.example/a.zip"}
	for _, tt := range []struct {
		trusted bool
		order   []string
		want    string
	}{
		{false, nil, "user bundled far"},
		{false, []string{"roots", "user"}, "user bundled far"},
		{false, []string{"elsewhere"}, "far user bundled"},
		{true, nil, "far user bundled"},
	} {
		far.Trusted = tt.trusted
		s := config.Settings{Roots: []config.Root{far}, User: true, UserDir: mine, Bundled: true, Order: tt.order}
		sources, err := s.Sources(home, nil)
		must.Do(t, err)
		var got []string
		for i, src := range sources {
			got = append(got, src.Info().Label)
			if src.Info().Priority != len(sources)-1-i {
				t.Errorf("%+v: priority of source %d of %d", src.Info(), i, len(sources))
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("trusted %v, order %v: %s; want %s", tt.trusted, tt.order, got, tt.want)
		}
	}
}

// TestArchiveRoot: an archive of the user is unpacked into his data folder; a folder whose name
// ends like that of an archive is a folder.
func TestArchiveRoot(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	t.Setenv("REPERTOIRE_DATA", filepath.Join(home, "data"))
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "config.yaml"))
	archive := filepath.Join(home, "team.zip")
	must.Write(t, archive, zipped(t, "pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\n"))
	must.Write(t, filepath.Join(home, "folder.zip", "ocr", "SKILL.md"), "---\nname: ocr\ndescription: Sees.\n---\n")
	s, err := config.Read(home, &config.Options{Roots: []string{archive, filepath.Join(home, "folder.zip")}, OnlyRoots: true})
	must.Do(t, err)
	must.Do(t, s.Fetch()(t.Context()))
	sources, err := s.Sources(home, nil)
	must.Do(t, err)
	var got []string
	for _, src := range sources {
		for ref, err := range src.Skills(t.Context(), nil) {
			must.Do(t, err)
			got = append(got, src.Info().Label+" "+ref.Path)
		}
	}
	want := []string{"root:team.zip pdf/SKILL.md", "root:folder.zip ocr/SKILL.md"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if roots := s.Remotes(); len(roots) != 1 || roots[0].File != archive || filepath.Dir(roots[0].Path) != filepath.Join(home, "data", "roots") {
		t.Errorf("%+v", roots)
	}
}

func zipped(t *testing.T, name, text string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	must.Do(t, err)
	_, err = f.Write([]byte(text))
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.String()
}
