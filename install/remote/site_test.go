package remote_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

func doc(name, text string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\n" + text + "\n"
}

// publish writes the site of some skills as "skills publish" does.
func publish(t *testing.T, files map[string]string) string {
	src, err := source.Files(files, nil)
	must.Do(t, err)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: embed.None{}, Schedule: repertoire.Never}
	c := catalogtest.Open(t, cfg)
	dir := t.TempDir()
	_, err = wellknown.Publish(t.Context(), c, nil, dir, "")
	must.Do(t, err)
	return dir
}

// tree returns the files of a folder by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	must.Do(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data := must.Read(t, name)
		rel, err := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = data
		return err
	}))
	return files
}

// TestSite: what this program publishes, it fetches.
func TestSite(t *testing.T) {
	dir := publish(t, map[string]string{"pdf/SKILL.md": doc("pdf", "Read."), "ocr/SKILL.md": doc("ocr", "See."), "ocr/scripts/run.py": "print()\n"})
	url := serve(t, http.FileServer(http.Dir(dir)).ServeHTTP)
	for _, address := range []string{url, url + "/", url + "/.well-known/agent-skills/index.json"} {
		s, err := remote.List(t.Context(), address, nil)
		must.Do(t, err)
		if len(s.Skills) != 2 || s.Skills[0].Name != "ocr" || s.Skills[1].Description != "Does pdf." || len(s.Problems) > 0 {
			t.Fatalf("%s: %+v", address, s)
		}
		to := t.TempDir()
		for _, one := range s.Skills {
			must.Do(t, s.Fetch(t.Context(), one, filepath.Join(to, one.Name)))
		}
		want := map[string]string{"pdf/SKILL.md": doc("pdf", "Read."), "ocr/SKILL.md": doc("ocr", "See."), "ocr/scripts/run.py": "print()\n"}
		if diff := cmp.Diff(want, tree(t, to)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestLargeSite: each skill is small enough, and all of them are not.
func TestLargeSite(t *testing.T) {
	files, text := make(map[string]string), strings.Repeat("x ", 20<<10)
	for _, name := range []string{"a", "b", "c"} {
		files[name+"/SKILL.md"] = doc(name, text)
	}
	url := serve(t, http.FileServer(http.Dir(publish(t, files))).ServeHTTP)
	s, err := remote.List(t.Context(), url, &remote.Limits{Unpack: &unpack.Limits{Expanded: 100_000}})
	must.Do(t, err)
	to := t.TempDir()
	var refused []string
	for _, one := range s.Skills {
		if err := s.Fetch(t.Context(), one, filepath.Join(to, one.Name)); err != nil {
			refused = append(refused, err.Error())
		}
	}
	want := []string{"skill c: with it the skills of the site have more than 100000 bytes"}
	if got := tree(t, to); len(got) != 2 || !slices.Equal(refused, want) {
		t.Errorf("wrote %d files; refused %q", len(got), refused)
	}
}

// A site serves files by path; the index lists entries of which each overrides good.
func site(t *testing.T, files map[string]string, entries ...map[string]string) string {
	type m = map[string]string
	var list []m
	for _, e := range entries {
		one := m{"name": "pdf", "type": "skill-md", "description": "d", "url": "pdf/SKILL.md"}
		for k, v := range e {
			one[k] = v
		}
		if _, ok := one["digest"]; !ok {
			one["digest"] = sum(files[one["url"]])
		}
		list = append(list, one)
	}
	index, err := json.Marshal(map[string]any{"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": list})
	must.Do(t, err)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/.well-known/agent-skills/")
		if name == "index.json" {
			w.Write(index)
			return
		}
		text, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	})
}

func sum(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// tarOf returns an archive whose files are all instructions.
func tarOf(t *testing.T, names ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		text := doc("pdf", "Read.")
		must.Do(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return b.String()
}

// TestHostileSites: a skill that is not what the index says is refused, and nothing is left.
func TestHostileSites(t *testing.T) {
	good := doc("pdf", "Read.")
	type m = map[string]string
	archive := m{"type": "archive", "url": "pdf.tar"}
	for name, c := range map[string]struct {
		files m
		entry m
		want  string
	}{
		"wrong digest":     {m{"pdf/SKILL.md": good}, m{"digest": sum("something else")}, "the file was changed"},
		"no digest":        {m{"pdf/SKILL.md": good}, m{"digest": ""}, "it has no digest"},
		"short digest":     {m{"pdf/SKILL.md": good}, m{"digest": "sha256:abc"}, "is not sha256:"},
		"weak digest":      {m{"pdf/SKILL.md": good}, m{"digest": "md5:d41d8cd98f00b204e9800998ecf8427e"}, "is not sha256:"},
		"missing file":     {m{}, nil, "404 Not Found"},
		"parent as name":   {m{"pdf/SKILL.md": good}, m{"name": "../evil"}, "its name is not made of"},
		"path as name":     {m{"pdf/SKILL.md": good}, m{"name": "a/b"}, "its name is not made of"},
		"device as name":   {m{"pdf/SKILL.md": good}, m{"name": "con"}, "its name is not made of"},
		"unknown type":     {m{"pdf/SKILL.md": good}, m{"type": "program"}, `its type "program" is unknown`},
		"file URL":         {m{"pdf/SKILL.md": good}, m{"url": "file:///etc/passwd"}, "its URL has another scheme"},
		"other scheme":     {m{"pdf/SKILL.md": good}, m{"url": "https://127.0.0.1/"}, "its URL has another scheme"},
		"malformed URL":    {m{"pdf/SKILL.md": good}, m{"url": "%zz"}, "its URL is malformed"},
		"other skill":      {m{"pdf/SKILL.md": doc("ocr", "See.")}, nil, `says that it is "ocr"`},
		"no instructions":  {m{"pdf/SKILL.md": "<title>Sorry</title>"}, nil, "frontmatter"},
		"traversal":        {m{"pdf.tar": tarOf(t, "SKILL.md", "../../evil")}, archive, "(parent)"},
		"absolute":         {m{"pdf.tar": tarOf(t, "SKILL.md", "/tmp/evil")}, archive, "(absolute)"},
		"not an archive":   {m{"pdf.tar": good}, archive, "(format)"},
		"deeper":           {m{"pdf.tar": tarOf(t, "x/SKILL.md", "sub/SKILL.md")}, archive, "no SKILL.md at the top"},
		"huge instruction": {m{"pdf/SKILL.md": good + strings.Repeat("x", 1<<20)}, nil, "(skill-file-too-large)"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := remote.List(t.Context(), site(t, c.files, c.entry), nil)
			must.Do(t, err)
			dir := t.TempDir()
			got := fmt.Sprint(s.Problems)
			for _, one := range s.Skills {
				got += fmt.Sprint(s.Fetch(t.Context(), one, filepath.Join(dir, "pdf")))
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %q", got, c.want)
			}
			if left := tree(t, dir); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestHostileIndexes: an index that is none is an error.
func TestHostileIndexes(t *testing.T) {
	many, err := json.Marshal(map[string]any{"skills": make([]struct{}, 10_001)})
	must.Do(t, err)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"nothing":        {http.NotFound, "it has no index of skills"},
		"page":           {text("<!doctype html>"), "it is no index of skills"},
		"other form":     {text(`{"$schema": "https://example.com/9", "skills": []}`), "is unknown; update this program"},
		"no skills":      {text(`{}`), "it lists no skills"},
		"too many":       {text(string(many)), "it lists 10001 skills; the limit is 10000"},
		"endless":        {endless, "larger than 8388608 bytes"},
		"cut":            {hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), "the connection ended"},
		"redirects":      {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirects more than 5 times"},
		"older form":     {older, "version 0.1 only, which has no digests"},
		"deep structure": {text(strings.Repeat("[", 100_000)), "it is no index of skills"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := remote.List(t.Context(), serve(t, c.handler), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
}

func older(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/.well-known/skills/index.json" {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, `{"skills": [{"name": "pdf", "description": "d", "files": ["SKILL.md", "../../../evil"]}]}`)
}

// TestSameName: of two skills with one name the first is listed.
func TestSameName(t *testing.T) {
	s, err := remote.List(t.Context(), site(t, map[string]string{"pdf/SKILL.md": doc("pdf", "x")}, nil, nil), nil)
	must.Do(t, err)
	if len(s.Skills) != 1 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Reason, "another skill has the same name") {
		t.Errorf("%+v", s)
	}
}

// FuzzIndex: whatever an index says, each listed skill has a plain name of its own, a digest, and
// a URL with the scheme of the index.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"skills": [{"name": "pdf", "type": "archive", "url": "../pdf.zip", "digest": "` + sum("x") + `"}]}`))
	f.Add([]byte(`{"$schema": "x", "skills": [{"name": "../pdf", "type": "skill-md", "url": "//other/x", "digest": "sha256:"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := remote.ParseIndex("https://example.com/.well-known/agent-skills/index.json", data)
		if err != nil {
			return
		}
		seen := make(map[string]bool)
		for _, one := range s.Skills {
			if seen[one.Name] || !skill.IsPortableName(one.Name) || len(one.Digest) != len(sum("")) || !strings.HasPrefix(one.URL, "https:") {
				t.Errorf("%+v", one)
			}
			seen[one.Name] = true
		}
	})
}
