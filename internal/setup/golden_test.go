package setup

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

var update = flag.Bool("update", false, "write what is found into the golden files")

// program is what golden files run.
const program = "/opt/bin/skills"

// testEnv is a machine with a home, a project and nothing in its environment.
func testEnv(t *testing.T) *Env {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", "") // no client is there
	e := &Env{Machine: client.Machine{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"),
		Getenv: func(string) string { return "" }}, State: filepath.Join(dir, "state"), Program: program}
	for _, d := range []string{e.Home, e.Project} {
		must.Do(t, os.MkdirAll(d, 0o700))
	}
	return e
}

// A goldenCase is a txtar file, see testdata/README.md.
type goldenCase struct {
	file    string
	archive *txtar.Archive
	req     Request
	server  Server
	crlf    bool
	bom     bool
	noEOL   bool
}

func readCase(t *testing.T, file string) goldenCase {
	t.Helper()
	a, err := txtar.ParseFile(file)
	must.Do(t, err)
	c := goldenCase{file: file, archive: a, req: Request{Scope: client.User}}
	for line := range strings.Lines(string(a.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "setup":
			for _, arg := range strings.Fields(rest) {
				flag, value, _ := strings.Cut(arg, "=")
				switch flag {
				case "--url":
					c.server.URL = value
				case "--token-env":
					c.server.TokenEnv = value
				case "--agent":
					c.server.Agent = value
				case "--mcp":
					c.req.MCP = true
				case "--hook":
					c.req.Hook = true
				case "--project":
					c.req.Scope = client.Project
				default:
					found, ok := client.Find(arg)
					if !ok {
						t.Fatalf("%s: no client %q", file, arg)
					}
					c.req.Clients = append(c.req.Clients, found)
				}
			}
		case "crlf":
			c.crlf = true
		case "bom":
			c.bom = true
		case "no-eol":
			c.noEOL = true
		}
	}
	return c
}

// bytesOf gives a section the bytes that the case wants, and plainly undoes it.
func (c goldenCase) bytesOf(data []byte) []byte {
	if c.noEOL {
		data = bytes.TrimSuffix(data, []byte("\n"))
	}
	if c.crlf {
		data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
	}
	if c.bom {
		data = append([]byte("\ufeff"), data...)
	}
	return data
}

func (c goldenCase) plainly(t *testing.T, data []byte) []byte {
	if c.bom && !bytes.HasPrefix(data, []byte("\ufeff")) {
		t.Error("the byte order mark is gone")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if c.crlf {
		if bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte("\r\n")) {
			t.Errorf("mixed line endings: %q", data)
		}
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data
}

func (c goldenCase) section(prefix string) map[string][]byte {
	m := make(map[string][]byte)
	for _, f := range c.archive.Files {
		if name, ok := strings.CutPrefix(f.Name, prefix+"/"); ok {
			m[name] = f.Data
		}
	}
	return m
}

// tree returns all files below the home and the project.
func tree(t *testing.T, e *Env) map[string]string {
	t.Helper()
	m := make(map[string]string)
	root := filepath.Dir(e.Home)
	for _, dir := range []string{e.Home, e.Project} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, name)
			if d.IsDir() {
				m[filepath.ToSlash(rel)+"/"] = ""
				return nil
			}
			data, err := os.ReadFile(name)
			m[filepath.ToSlash(rel)] = string(data)
			return err
		})
		must.Do(t, err)
	}
	return m
}

func write(t *testing.T, e *Env, name string, data []byte) {
	t.Helper()
	full := filepath.Join(filepath.Dir(e.Home), filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(full), 0o700))
	must.Do(t, os.WriteFile(full, data, 0o600))
}

// run plans and applies a request.
func run(t *testing.T, e *Env, req Request) *Plan {
	t.Helper()
	p, err := NewPlan(e, req)
	must.Do(t, err)
	must.Do(t, p.Apply(e))
	return p
}

// messages are the changes of a plan as a golden file has them.
func messages(e *Env, p *Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s %s", c.Client, c.Kind, c.Action)
		if c.Message != "" {
			fmt.Fprintf(&b, ": %s", c.Message)
		}
		b.WriteByte('\n')
		if c.Action == Refused && c.Snippet != "" {
			b.WriteString(c.Snippet + "\n")
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return strings.ReplaceAll(b.String(), filepath.Dir(e.Home), "$W")
}

// TestGolden sets clients up as testdata/*.txtar say, a second time, which
// must change nothing, and removes it again, which must restore every byte:
// from the record, and without one by editing.
func TestGolden(t *testing.T) {
	testsize.Long(t)
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			c := readCase(t, file)
			e := testEnv(t)
			e.Server = c.server
			for name, data := range c.section("before") {
				write(t, e, name, c.bytesOf(data))
			}
			before := tree(t, e)
			p := run(t, e, c.req)
			c.check(t, e, p)
			again := run(t, e, c.req)
			if len(again.Edits) > 0 {
				t.Errorf("a second run changes %s", again.Edits[0].Diff())
			}
			c.checkRemoval(t, e, before)
		})
	}
}

// check compares the files after the setup with the golden ones.
func (c goldenCase) check(t *testing.T, e *Env, p *Plan) {
	t.Helper()
	got := map[string]string{"messages": messages(e, p)}
	for name, data := range tree(t, e) {
		if !strings.HasSuffix(name, "/") {
			text := string(c.plainly(t, []byte(data)))
			if !strings.HasSuffix(text, "\n") && text != "" {
				text += "\n" // which a section of a golden file always has
			}
			got["after/"+name] = text
		}
	}
	want := make(map[string]string)
	for _, f := range c.archive.Files {
		if f.Name == "messages" || strings.HasPrefix(f.Name, "after/") {
			want[f.Name] = string(f.Data)
		}
	}
	if *update {
		c.write(t, got)
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

// write puts what was found into the golden file.
func (c goldenCase) write(t *testing.T, got map[string]string) {
	t.Helper()
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == "messages" || strings.HasPrefix(f.Name, "after/") })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
	}
	must.Do(t, os.WriteFile(c.file, txtar.Format(c.archive), 0o600))
}

func (c goldenCase) checkRemoval(t *testing.T, e *Env, before map[string]string) {
	t.Helper()
	set := tree(t, e)
	req := c.req
	req.Remove = true
	run(t, e, req)
	if d := cmp.Diff(before, tree(t, e)); d != "" {
		t.Errorf("removal by the record: want -, got +:\n%s", d)
	}
	if left, _ := os.ReadFile(recordFile(e.State)); bytes.Contains(left, []byte("wrote")) {
		t.Errorf("the record still has %s", left)
	}
	for name, data := range set {
		if !strings.HasSuffix(name, "/") {
			write(t, e, name, []byte(data))
		}
	}
	must.Do(t, os.RemoveAll(e.State))
	run(t, e, req)
	want := maps.Clone(before)
	for name, data := range c.section("removed") { // where it cannot be the same
		want[name] = string(data)
		if c.crlf {
			want[name] = strings.ReplaceAll(want[name], "\n", "\r\n")
		}
	}
	got := tree(t, e)
	for name, data := range got {
		if _, ok := want[name]; !ok && (strings.HasSuffix(name, "/") || strings.TrimSpace(data) == "{}" || strings.TrimSpace(data) == "" || holdsVersion(mustDecode(t, data))) {
			delete(got, name) // a file of ours, of which nobody knows any more that it was not there
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("removal by editing: want -, got +:\n%s", d)
	}
}

// holdsVersion reports whether a document holds nothing but the version that some files need.
func holdsVersion(tree any) bool {
	m, _ := tree.(map[string]any)
	delete(m, "version")
	return edit.IsEmpty(m)
}

func mustDecode(t *testing.T, data string) any {
	t.Helper()
	tree, err := edit.JSON.Decode([]byte(data))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return tree
}
