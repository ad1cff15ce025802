package clientstest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

var update = flag.Bool("update", false, "write what the clients do into docs/clients.md")

func TestMain(m *testing.M) { testsize.Main(m) }

// What the catalog of the tests holds. An escaped text would show in its quotes, its tab and its
// angle brackets.
const (
	text = "---\nname: tide-tables\ndescription: Reads tide tables and says when a harbour can be entered. Use when somebody asks for high or low water.\n---\n" +
		"# Tide tables\n\nSay \"quay\" first.\n\tThen the <height> & the hour.\n"
	asks   = "When is high water in the harbour by the tide tables?"
	thanks = "Thanks, that is all for today."
)

// modules returns the folder with the clients, or skips the test.
func modules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REPERTOIRE_CLIENTS")
	if dir == "" {
		t.Skip("REPERTOIRE_CLIENTS does not name a folder node_modules with the packages of versions.txt; .ci/run-long makes one")
	}
	return dir
}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "skills")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/skills").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestClients runs each client: what setup writes, what its model is shown, and what is left.
func TestClients(t *testing.T) {
	dir := modules(t)
	program := build(t)
	rows := make(map[string]string)
	for _, c := range clientstest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c.Program))); err != nil {
				t.Skipf("%s is not installed: %v", c.Package, err)
			}
			rows[c.Name] = newTrial(t, c, dir, program).run(t)
		})
	}
	if !t.Failed() {
		compare(t, trialTable, rows)
	}
}

// TestProject: what setup writes into a project is read, where the person trusts the project.
func TestProject(t *testing.T) {
	dir := modules(t)
	program := build(t)
	for _, c := range clientstest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c.Program))); err != nil {
				t.Skipf("%s is not installed: %v", c.Package, err)
			}
			tr := newTrial(t, c, dir, program)
			must.Do(t, os.Mkdir(filepath.Join(tr.Project, ".git"), 0o700)) // which makes it a project
			before := tr.files(t)
			tr.setup(t, "--scope", "project")
			tr.setup(t, "--scope", "project", "--remove")
			if diff := cmp.Diff(before, tr.files(t)); diff != "" {
				t.Errorf("--remove leaves something (-before +after)\n%s", diff)
			}
			tr.setup(t, "--scope", "project")
			if c.NeedsTrust() {
				if asked := tr.ask(t, asks); len(asked[0].With("tide-tables")) > 0 {
					t.Errorf("without trust the model reads %q", asked[0].With("tide-tables"))
				}
				must.Do(t, c.Trust(tr.Home, tr.model.URL))
			}
			asked := tr.ask(t, asks)
			block(t, asked)
			result(t, asked)
		})
	}
}

// A trial is one client in a home of its own.
type trial struct {
	clientstest.Client
	*clientstest.Home
	model *clientstest.Server
}

func newTrial(t *testing.T, c clientstest.Client, modules, program string) *trial {
	t.Helper()
	model := clientstest.NewServer("read_skill", map[string]string{"name": "tide-tables"})
	t.Cleanup(model.Close)
	dir := t.TempDir()
	files := map[string]string{
		"library/tide-tables/SKILL.md":   text,
		".config/repertoire/config.yaml": "bundled: false\nuser: false\nproject: false\nroots: [" + filepath.Join(dir, "library") + "]\n",
	}
	maps.Copy(files, c.Settings(model.URL))
	h, err := clientstest.NewHome(dir, program, modules, model.URL, files)
	must.Do(t, err)
	return &trial{c, h, model}
}

// run tries all and returns the row of the table.
func (tr *trial) run(t *testing.T) string {
	before := tr.files(t)
	tr.setup(t)
	tr.setup(t, "--remove")
	if diff := cmp.Diff(before, tr.files(t)); diff != "" {
		t.Errorf("--remove leaves something (-before +after)\n%s", diff)
	}
	tr.setup(t)
	asked := tr.ask(t, asks)
	row := []string{"`" + tr.Package + "` " + tr.Version(), block(t, asked), tools(t, asked), result(t, asked)}
	tr.remembered(t)
	quiet := tr.ask(t, thanks)
	if found := quiet[0].With("tide-tables"); len(found) > 0 {
		t.Errorf("a prompt that needs no skill gets %q", found)
	}
	tr.setup(t, "--remove")
	for name, text := range tr.files(t) {
		if strings.Contains(text, tr.Program()) && (tr.Copies == "" || !strings.HasPrefix(name, tr.Copies+"/")) {
			t.Errorf("%s still names the program", name)
		}
	}
	if strays := tr.model.Strays(); len(strays) > 0 {
		t.Errorf("the client asks for %q", strays)
	}
	return "| " + strings.Join(append(row, "nothing"), " | ") + " |"
}

// remembered checks that the session has kept what it was offered, so that it is not offered again.
func (tr *trial) remembered(t *testing.T) {
	t.Helper()
	files, err := tr.Files()
	must.Do(t, err)
	for name, text := range files {
		if strings.HasPrefix(name, ".local/state/repertoire/sessions/") && strings.Contains(text, `"offers":[{"name":"tide-tables"`) {
			return
		}
	}
	t.Error("the session has forgotten what it was offered")
}

// Program is the program that clients call; the one of the client is Client.Program.
func (tr *trial) Program() string { return tr.Home.Program }

// setup calls skills setup for the client.
func (tr *trial) setup(t *testing.T, args ...string) {
	t.Helper()
	if _, err := tr.Run(t.Context(), nil, tr.Program(), append([]string{"setup", tr.Name, "--yes"}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// files returns the files of the home but for the catalog's own.
func (tr *trial) files(t *testing.T) map[string]string {
	t.Helper()
	files, err := tr.Files()
	must.Do(t, err)
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, ".cache/repertoire/") || strings.HasPrefix(name, ".local/state/repertoire/")
	})
	return files
}

// ask sends a prompt and returns the requests to the model that come of it, without those that
// show the model no tools: a client lets it think of titles.
func (tr *trial) ask(t *testing.T, prompt string) []clientstest.Request {
	t.Helper()
	before := len(tr.model.Requests())
	out, err := tr.Ask(t.Context(), tr.Home, tr.model.URL, prompt)
	must.Do(t, err)
	if !strings.Contains(out, clientstest.Reply) {
		t.Errorf("the client does not show the answer:\n%s", out)
	}
	requests := slices.DeleteFunc(tr.model.Requests()[before:], func(r clientstest.Request) bool {
		return len(r.Tools) == 0 || len(r.With(prompt)) == 0
	})
	if len(requests) == 0 {
		t.Fatalf("the model was asked nothing:\n%s", out)
	}
	return requests
}

// block says as whose text the block is in the first request.
func block(t *testing.T, asked []clientstest.Request) string {
	t.Helper()
	found := asked[0].With("asks for the skill tide-tables")
	if len(found) != 1 || !strings.Contains(found[0].Text, "when a harbour can be entered") {
		t.Fatalf("the block is in %q", found)
	}
	if strings.Contains(found[0].Text, asks) {
		return found[0].Role + ", in the prompt"
	}
	return found[0].Role
}

// tools says how many of our tools the model has in the first request.
func tools(t *testing.T, asked []clientstest.Request) string {
	t.Helper()
	n, reads := 0, false
	for _, tool := range asked[0].Tools {
		if strings.Contains(tool.Namespace+tool.Name, "skills") {
			n++
		}
		reads = reads || strings.HasSuffix(tool.Name, "read_skill")
	}
	switch {
	case reads:
		return fmt.Sprint(n)
	case asked[0].KeptBack("read_skill") != "":
		return "by name"
	}
	t.Errorf("the model has the tools %v", asked[0].Tools)
	return ""
}

// result says how the text of read_skill reaches the model.
func result(t *testing.T, asked []clientstest.Request) string {
	t.Helper()
	results := asked[len(asked)-1].Results
	if len(results) != 1 {
		t.Fatalf("the tool was called %d times: %q", len(results), results)
	}
	quoted, _ := json.Marshal(text)
	switch {
	case strings.Contains(results[0], text):
		return "plain"
	case strings.Contains(results[0], string(quoted[1:len(quoted)-1])):
		t.Errorf("the model gets escaped text: %s", results[0])
		return "escaped"
	}
	t.Errorf("the model gets %q", results[0])
	return ""
}
