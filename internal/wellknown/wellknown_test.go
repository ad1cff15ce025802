package wellknown

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// instructions returns a SKILL.md.
func instructions(name, description string) []byte {
	return fmt.Appendf(nil, "---\nname: %s\ndescription: %s\n---\nDo it.\n", name, description)
}

func skillOf(name string, files ...string) bundle {
	s := bundle{name: name, description: "Does " + name + ".", files: []file{{path: "SKILL.md", data: instructions(name, "Does "+name+".")}}}
	for _, f := range files {
		s.files = append(s.files, file{path: f, data: []byte("content of " + f + "\n")})
	}
	return s
}

// write writes a site and returns its result and what was left out.
func write(t *testing.T, dir string, skills ...bundle) (Result, []string) {
	t.Helper()
	w, err := open(dir)
	must.Do(t, err)
	defer w.close()
	var omitted []string
	for _, s := range skills {
		err := w.add(s)
		if out := new(OmittedError); errors.As(err, &out) {
			omitted = append(omitted, err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.finish()
	must.Do(t, err)
	return r, omitted
}

// tree returns the files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(data)
		return err
	})
	must.Do(t, err)
	return files
}

func names(files map[string]string) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// fetch reads a URL as a client does.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	resp, err := http.Get(address)
	must.Do(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, resp.Status, err)
	}
	return data
}

func fetchJSON(t *testing.T, address string, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(fetch(t, address)))
	dec.DisallowUnknownFields()
	must.Do(t, dec.Decode(v))
}

// TestPlainNames: readers that know only the plain headers of an archive find the names
// in them.
func TestPlainNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, skillOf("named", "scripts/fïle.md"))
	packed, err := os.ReadFile(filepath.Join(dir, ".well-known", "agent-skills", "named.tar.gz"))
	must.Do(t, err)
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	must.Do(t, err)
	plain, err := io.ReadAll(zip)
	must.Do(t, err)
	// SKILL.md has a block for its header and one for its content.
	if name, _, _ := bytes.Cut(plain[2*512:3*512], []byte{0}); string(name) != "scripts/fïle.md" {
		t.Errorf("the second header names %q", name)
	}
}

// unpack reads an archive as a careful client does.
func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	must.Do(t, err)
	if !zip.ModTime.IsZero() || zip.Name != "" {
		t.Errorf("the archive tells a time or a name: %+v", zip.Header)
	}
	files := make(map[string]string)
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Do(t, err)
		if h.Typeflag != tar.TypeReg || !fs.ValidPath(h.Name) || h.Mode != 0o644 || h.ModTime.Unix() != 0 || h.Uname != "" {
			t.Errorf("a strange entry: %+v", h)
		}
		content, err := io.ReadAll(r)
		must.Do(t, err)
		files[h.Name] = string(content)
	}
}

// installed returns what a client of the index gets: the files of each skill, with
// their digests checked.
func installed(t *testing.T, site string) map[string]map[string]string {
	t.Helper()
	at := site + "/.well-known/agent-skills/index.json"
	var index newIndex
	fetchJSON(t, at, &index)
	if index.Schema != "https://schemas.agentskills.io/discovery/0.2.0/schema.json" {
		t.Errorf("schema %q", index.Schema)
	}
	base, err := url.Parse(at)
	must.Do(t, err)
	skills := make(map[string]map[string]string)
	for _, e := range index.Skills {
		where, err := base.Parse(e.URL)
		must.Do(t, err)
		data := fetch(t, where.String())
		if sum := sha256.Sum256(data); e.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s: digest %s does not hold for what %s leads to", e.Name, e.Digest, where)
		}
		switch e.Type {
		case "skill-md":
			skills[e.Name] = map[string]string{"SKILL.md": string(data)}
		case "archive":
			skills[e.Name] = unpack(t, data)
		default:
			t.Errorf("%s: type %q", e.Name, e.Type)
		}
		if !strings.Contains(skills[e.Name]["SKILL.md"], "\ndescription: "+e.Description+"\n") {
			t.Errorf("%s: description %q differs from its SKILL.md", e.Name, e.Description)
		}
	}
	return skills
}

// installedOld is installed for a client of version 0.1.
func installedOld(t *testing.T, site string) map[string]map[string]string {
	t.Helper()
	var index oldIndex
	fetchJSON(t, site+"/.well-known/skills/index.json", &index)
	skills := make(map[string]map[string]string)
	for _, e := range index.Skills {
		skills[e.Name] = make(map[string]string)
		if e.Files[0] != "SKILL.md" {
			t.Errorf("%s: the first file is %s", e.Name, e.Files[0])
		}
		for _, f := range e.Files {
			skills[e.Name][f] = string(fetch(t, site+"/.well-known/skills/"+path.Join(e.Name, f)))
		}
	}
	return skills
}

// TestClients reads a site as clients of both versions do.
func TestClients(t *testing.T) {
	dir := t.TempDir()
	spaced := skillOf("spaced", "a fïle.md", strings.Repeat("long/", 30)+"näme.md")
	result, omitted := write(t, dir, skillOf("zebra", "scripts/run.sh", "assets/logo.bin"), skillOf("ant"), spaced)
	if diff := cmp.Diff(Result{Skills: 3, Archives: 2, Old: 2}, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if want := []string{`skill spaced is left out of the index of version 0.1: the name of its file "a fïle.md" does not fit into a URL`}; !slices.Equal(omitted, want) {
		t.Errorf("omitted %q", omitted)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	want := map[string]map[string]string{
		"ant": {"SKILL.md": string(instructions("ant", "Does ant."))},
		"zebra": {
			"SKILL.md":        string(instructions("zebra", "Does zebra.")),
			"scripts/run.sh":  "content of scripts/run.sh\n",
			"assets/logo.bin": "content of assets/logo.bin\n",
		},
	}
	if diff := cmp.Diff(want, installedOld(t, server.URL)); diff != "" {
		t.Errorf("by version 0.1 (-want +got):\n%s", diff)
	}
	want["spaced"] = make(map[string]string)
	for _, f := range spaced.files {
		want["spaced"][f.path] = string(f.data)
	}
	if diff := cmp.Diff(want, installed(t, server.URL)); diff != "" {
		t.Errorf("by version 0.2.0 (-want +got):\n%s", diff)
	}
}

// TestSameBytes: the order of skills and of their files does not matter, and writing
// again changes no file.
func TestSameBytes(t *testing.T) {
	a, b := skillOf("a", "x.md", "y.md"), skillOf("b")
	turned := skillOf("a", "y.md", "x.md")
	slices.Reverse(turned.files)
	first, second := t.TempDir(), t.TempDir()
	write(t, first, a, b)
	write(t, second, b, turned)
	if diff := cmp.Diff(tree(t, first), tree(t, second)); diff != "" {
		t.Errorf("two sites differ (-first +second):\n%s", diff)
	}
	index := filepath.Join(first, ".well-known", "agent-skills", "index.json")
	before, err := os.Stat(index)
	must.Do(t, err)
	if r, _ := write(t, first, a, b); len(r.Removed)+len(r.Kept) > 0 {
		t.Errorf("writing again: %+v", r)
	}
	after, err := os.Stat(index)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the index was replaced by the same, %v", err)
	}
}

// TestOmitted: skills that clients would read differently are left out.
func TestOmitted(t *testing.T) {
	hidden := skillOf("hidden")
	hidden.files[0].data = instructions("hidden", "Does\u200b it.")
	for _, c := range []struct {
		skill bundle
		want  string
	}{
		{bundle{name: "bare", files: []file{{path: "readme.md"}}}, "it has no SKILL.md"},
		{hidden, "hidden characters (zero-width) from line 3"},
		{skillOf("cased", "Notes.md", "notes.md"), "Notes.md and notes.md would be one"},
		{skillOf("escaping", "../secret"), `"../secret" is not a plain relative path`},
		{skillOf("drive", "c:/x"), `"c:/x" is not a plain relative path`},
		{skillOf("turned", "a\u202eb"), "is not a plain relative path"},
		{skillOf("broken-line", "a\nb"), "is not a plain relative path"},
		{skillOf("clone", ".git/config"), `".git/config" is not a plain relative path`},
		{skillOf("device", "con.txt"), `"con.txt" is not a plain relative path`},
		{skillOf("secret", "x/.env"), "only passwords and keys have the name of its file x/.env"},
	} {
		dir := t.TempDir()
		r, omitted := write(t, dir, c.skill)
		if r.Skills+r.Old > 0 || len(omitted) != 1 || !strings.Contains(omitted[0], c.want) {
			t.Errorf("%s: %+v, %q; want %q", c.skill.name, r, omitted, c.want)
		}
		want := []string{".well-known/.repertoire-skills", ".well-known/agent-skills/index.json", ".well-known/skills/index.json"}
		if diff := cmp.Diff(want, names(tree(t, dir))); diff != "" {
			t.Errorf("%s left files (-want +got):\n%s", c.skill.name, diff)
		}
	}
	if _, omitted := write(t, t.TempDir(), skillOf("same"), skillOf("same")); len(omitted) != 1 {
		t.Errorf("of two skills of one name, left out: %q", omitted)
	}
}

// TestForeign: files of somebody else are neither replaced nor removed.
func TestForeign(t *testing.T) {
	at := func(dir, name string) string { return filepath.Join(dir, ".well-known", filepath.FromSlash(name)) }
	put := func(name, text string) {
		t.Helper()
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for _, name := range []string{"agent-skills/index.json", "skills/mine/SKILL.md"} {
		dir := t.TempDir()
		put(at(dir, name), "mine")
		before := tree(t, dir)
		if _, err := open(dir); err == nil || !strings.Contains(err.Error(), "was not written by this command") {
			t.Errorf("%s is there: %v", name, err)
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Errorf("the refused folder (-before +after):\n%s", diff)
		}
	}

	dir := t.TempDir()
	put(filepath.Join(dir, "index.html"), "a site")
	put(at(dir, "security.txt"), "a contact")
	write(t, dir, skillOf("gone", "notes.md"), skillOf("stays"), skillOf("edited", "notes.md"))
	put(at(dir, "skills/gone/mine.md"), "mine")
	put(at(dir, "skills/edited/notes.md"), "changed by hand")
	put(at(dir, "agent-skills/new.tar.gz"), "mine")
	r, _ := write(t, dir, skillOf("stays"))
	if diff := cmp.Diff([]string{".well-known/skills/edited/notes.md"}, r.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if len(r.Removed) != 5 {
		t.Errorf("removed %q", r.Removed)
	}
	want := []string{
		".well-known/.repertoire-skills", ".well-known/agent-skills/index.json", ".well-known/agent-skills/new.tar.gz",
		".well-known/agent-skills/stays/SKILL.md", ".well-known/security.txt", ".well-known/skills/edited/notes.md",
		".well-known/skills/gone/mine.md", ".well-known/skills/index.json", ".well-known/skills/stays/SKILL.md", "index.html",
	}
	if diff := cmp.Diff(want, names(tree(t, dir))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// A skill that needs a name that somebody else took fails.
	w, err := open(dir)
	must.Do(t, err)
	defer w.close()
	if err := w.add(skillOf("new", "notes.md")); err == nil || !strings.Contains(err.Error(), "new.tar.gz was not written by this command") {
		t.Errorf("a foreign file was replaced: %v", err)
	}
}

// TestCutOff: files of a run that did not finish are ours.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	w, err := open(dir)
	must.Do(t, err)
	for _, s := range []bundle{skillOf("old", "notes.md"), skillOf("both", "notes.md")} {
		must.Do(t, w.add(s))
	}
	must.Do(t, w.close())
	record := filepath.Join(dir, ".well-known", ".repertoire-skills")
	f, err := os.OpenFile(record, os.O_APPEND|os.O_WRONLY, 0)
	must.Do(t, err)
	if _, err := f.WriteString("sha256:00 .well-known/agent-ski"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, f.Close())
	r, _ := write(t, dir, skillOf("both", "other.md"))
	if want := 4; len(r.Removed) != want || len(r.Kept) > 0 { // old: archive and two files; both: notes.md
		t.Errorf("removed %q, kept %q; want %d removed", r.Removed, r.Kept, want)
	}
	clean := t.TempDir()
	write(t, clean, skillOf("both", "other.md"))
	if diff := cmp.Diff(tree(t, clean), tree(t, dir)); diff != "" {
		t.Errorf("after a run that was cut off (-want +got):\n%s", diff)
	}
}

// TestLinks: a link does not lead out of the folder.
func TestLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, ".well-known")); err != nil {
		t.Skip("no links here: ", err)
	}
	w, err := open(dir)
	if err == nil {
		err = w.add(skillOf("a"))
		w.close()
	}
	if err == nil || len(tree(t, outside)) > 0 {
		t.Errorf("%v, written outside: %q", err, names(tree(t, outside)))
	}
}
