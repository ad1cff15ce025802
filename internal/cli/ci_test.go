package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestCIPage: the examples of docs/ci.md and docs/publish.md are YAML, and the commands of the
// pages exist with their flags.
func TestCIPage(t *testing.T) {
	page := []byte(must.Read(t, "../../docs/ci.md") + must.Read(t, "../../docs/publish.md"))
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 4 {
		t.Errorf("found %d examples", len(blocks))
	}
	for _, b := range blocks {
		var v map[string]any
		if err := yaml.Unmarshal(b[1], &v); err != nil || len(v) == 0 {
			t.Errorf("example %.40q: %v", b[1], err)
		}
	}
	commands := regexp.MustCompile("(?:(?:run|entry): |`)(skills [^`>\n]+)").FindAllSubmatch(page, -1)
	if len(commands) < 5 {
		t.Errorf("found %d commands only", len(commands))
	}
	for _, c := range commands {
		line := commandLine(t, string(c[1]))
		cmd, _, err := new(env).command().Find(line)
		must.Do(t, err)
		if err := parse(line, cmd.Name()); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}

// TestPublishPage: the sessions of docs/publish.md work one after the other, and print the
// lines that the page shows.
func TestPublishPage(t *testing.T) {
	for _, name := range []string{"sh", "perl", "cp"} {
		if _, err := exec.LookPath(name); err != nil || runtime.GOOS == "windows" {
			t.Skipf("needs %s", name)
		}
	}
	page := must.Read(t, "../../docs/publish.md")
	skills, err := filepath.Abs("../../testdata")
	must.Do(t, err)
	fixture(t)
	dir := t.TempDir()
	must.Do(t, os.Symlink(skills, filepath.Join(dir, "testdata")))
	t.Chdir(dir)
	site := httptest.NewServer(http.FileServer(http.Dir("site")))
	t.Cleanup(site.Close)
	const address = "http://127.0.0.1:8000"
	plain := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	commands, printed := 0, ""
	for _, session := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(session[1]) {
			command, isCommand := strings.CutPrefix(line, "$ ")
			args, isOurs := strings.CutPrefix(command, "skills ")
			switch {
			case !isCommand:
				if want := plain(line); !strings.Contains(printed, want) {
					t.Errorf("%q is not in what is printed:\n%s", want, printed)
				}
			case isOurs:
				commands++
				printed = plain(strings.ReplaceAll(call(t, 0, strings.Fields(strings.ReplaceAll(args, address, site.URL))...), site.URL, address))
			case !strings.HasPrefix(command, "python3 "): // site is served already
				out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", command, err, out)
				}
			}
		}
	}
	if commands != 7 {
		t.Errorf("the page has %d commands", commands)
	}
}
