package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// These tests run clients that others wrote: the MCP Inspector and the suite
// of conformance tests, from the npm packages that .ci/run installs.

// A node runs programs of npm packages.
type node struct {
	program string // of Node.js
	modules string // the folder node_modules
}

// installed returns the packages, or skips the test.
func installed(t *testing.T) node {
	t.Helper()
	modules := os.Getenv("REPERTOIRE_NODE_MODULES")
	if modules == "" {
		t.Skip("REPERTOIRE_NODE_MODULES does not name a folder with @modelcontextprotocol/inspector and …/conformance; .ci/run makes one")
	}
	n := node{modules: modules}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	n.program = filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(n.program); err != nil {
		if n.program, err = exec.LookPath("node"); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// run runs a script of a package and returns its output and exit code.
func (n node) run(t *testing.T, script string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), n.program, append([]string{filepath.Join(n.modules, filepath.FromSlash(script))}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, t.TempDir()
	// Programs that these start must find the same Node.js.
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(n.program)+string(filepath.ListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "HOME="+cmd.Dir)
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// clientSkills writes the skills of testdata/clients and a configuration with
// which only these are seen. It returns the files by their paths, and the names
// of the skills that hosts can load, sorted.
func clientSkills(t *testing.T) (files map[string]string, names []string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/clients/frontmatter.txtar")
	must.Do(t, err)
	fixture(t)
	files = make(map[string]string)
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
		must.Write(t, filepath.Join("lib", f.Name), string(f.Data))
		if dir, file := filepath.Split(f.Name); file == "SKILL.md" && !strings.HasPrefix(dir, "left-out/") {
			names = append(names, strings.TrimSuffix(dir, "/"))
		}
	}
	// How a file ends its lines is part of what is verified.
	crlf := strings.ReplaceAll("---\nname: windows\ndescription: Has lines that end in two characters.\ntext: |\n  a\n  b\n---\nBody.\n", "\n", "\r\n")
	files["windows/SKILL.md"] = crlf
	must.Write(t, "lib/windows/SKILL.md", crlf)
	names = append(names, "windows")
	must.Write(t, "config.yaml", "project: false\nuser: false\nbundled: false\nroots: [lib]\nagents: {keeper: {include: {names: [a-folder]}}}\n")
	slices.Sort(names)
	return files, slices.Compact(names)
}

// A connection is a way to reach the server, as arguments of the Inspector.
type connection struct {
	name string
	args []string
}

// connections returns the ways to reach a server of the working folder.
func connections(t *testing.T) []connection {
	t.Helper()
	program, err := exec.LookPath("skills")
	must.Do(t, err)
	stdio := []string{program, "mcp"}
	for _, name := range []string{"REPERTOIRE_CONFIG", "REPERTOIRE_CACHE", "GORACE"} {
		stdio = append(stdio, "-e", name+"="+os.Getenv(name))
	}
	s := serveHTTP(t)
	s.healthy(t)
	t.Cleanup(func() {
		if printed := s.interrupt(t); printed != "" {
			t.Errorf("the server prints %q", printed)
		}
	})
	var list []connection
	for _, era := range []string{"legacy", "modern"} {
		list = append(list, connection{"stdio " + era, append([]string{"--protocol-era", era}, stdio...)},
			connection{"http " + era, []string{"--protocol-era", era, "--transport", "http", "--server-url", s.url}})
	}
	return list
}

// inspect runs a method with the Inspector.
func (n node) inspect(t *testing.T, c connection, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	const launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	return n.run(t, launcher, slices.Concat([]string{"--cli", "--format", "json"}, c.args, args)...)
}

// result is inspect for a method that must succeed.
func (n node) result(t *testing.T, c connection, args ...string) map[string]any {
	t.Helper()
	stdout, stderr, code := n.inspect(t, c, args...)
	if code != 0 {
		t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		return nil
	}
	var answer struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || answer.Result == nil {
		t.Errorf("%q: %v in %s", args, err, stdout)
	}
	return answer.Result
}

// TestInspector: the MCP Inspector finds nothing wrong, however it connects.
func TestInspector(t *testing.T) {
	n := installed(t)
	files, names := clientSkills(t)
	all := connections(t)
	for i, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n.checkSkills(t, c, names)
			// Each transport and each version once: every question starts Node.
			if i%3 == 0 || testsize.Rounds(1, 2) == 2 {
				n.checkTools(t, c)
				n.checkResources(t, c, files)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		n.checkRefused(t, all[len(all)-1])
	})
}

// checkTools lists all tools strictly and calls each.
func (n node) checkTools(t *testing.T, c connection) {
	stdout, stderr, code := n.inspect(t, c, "--method", "tools/list", "--strict")
	if code != 0 || strings.Contains(stderr, "warning") || strings.Contains(stderr, "Warning") {
		t.Errorf("tools/list --strict: exit code %d\n%s", code, stderr)
	}
	called := make(map[string]bool)
	for _, call := range []struct{ tool, arguments, want string }{
		{"search_skills", `{"query":"read files of several kinds one by one"}`, "a-folder"},
		{"suggest_skills", `{"prompt":"Has files of several kinds, to be read one by one"}`, "a-folder"},
		{"read_skill", `{"id":"a-folder"}`, "See references/guide.md"},
		{"read_skill_resource", `{"id":"a-folder","path":"references/guide.md","lines":"3-4"}`, "second"},
		{"search_skill_files", `{"query":"the second line","name":"a-folder"}`, "references/guide.md"},
		{"list_skills", `{}`, "a-folder"},
	} {
		called[call.tool] = true
		if !strings.Contains(stdout, `"`+call.tool+`"`) {
			t.Errorf("tools/list has no %s", call.tool)
		}
		r := n.result(t, c, "--method", "tools/call", "--tool-name", call.tool, "--tool-args-json", call.arguments)
		text, err := json.Marshal(r["content"])
		if structured := r["structuredContent"] != nil; err != nil || !strings.Contains(string(text), call.want) || structured != (call.tool == "search_skills" || call.tool == "list_skills") {
			t.Errorf("%s %s: %s, structured %t, %v", call.tool, call.arguments, text, structured, err)
		}
	}
	var list struct{ Result struct{ Tools []any } }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Result.Tools) != len(called) {
		t.Errorf("%d tools were called of %d, %v", len(called), len(list.Result.Tools), err)
	}
}

// checkSkills lets the Inspector verify the frontmatter and the digests of all
// skills.
func (n node) checkSkills(t *testing.T, c connection, want []string) {
	stdout, stderr, code := n.inspect(t, c, "--method", "skills/list", "--verify", "--require-digests")
	if code != 0 {
		t.Errorf("skills/list --verify: exit code %d\n%s%s", code, stdout, stderr)
	}
	var names []string
	for line := range strings.Lines(stdout) {
		s := object(t, line)
		if s["outcome"] != "verified" {
			t.Errorf("%s", line)
		}
		names = append(names, s["name"].(string))
	}
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if _, stderr, code := n.inspect(t, c, "--method", "skills/get", "--uri", "skill://dates/SKILL.md", "--verify", "--require-digests"); code != 0 {
		t.Errorf("skills/get: exit code %d, %s", code, stderr)
	}
}

// checkResources reads the files of a skill as resources.
func (n node) checkResources(t *testing.T, c connection, files map[string]string) {
	if r := n.result(t, c, "--method", "resources/list"); len(r["resources"].([]any)) == 0 {
		t.Error("no resources")
	}
	if r := n.result(t, c, "--method", "resources/templates/list"); len(r["resourceTemplates"].([]any)) != 1 {
		t.Errorf("templates: %v", r)
	}
	for uri, name := range map[string]string{
		"skill://a-folder/with%20space%20%C3%A9.md": "a-folder/with space é.md",
		"skill://windows/SKILL.md":                  "windows/SKILL.md",
	} {
		r := n.result(t, c, "--method", "resources/read", "--uri", uri)
		contents, _ := r["contents"].([]any)
		if len(contents) != 1 || contents[0].(map[string]any)["text"] != files[name] {
			t.Errorf("%s: %v, want %q", uri, contents, files[name])
		}
	}
	var children []string
	r := n.result(t, c, "--method", "resources/directory/read", "--uri", "skill://a-folder")
	for _, child := range r["resources"].([]any) {
		m := child.(map[string]any)
		children = append(children, m["name"].(string)+" "+m["mimeType"].(string))
	}
	slices.Sort(children)
	want := []string{"a-folder text/markdown", "references inode/directory", "scripts inode/directory", "with space é.md text/markdown"}
	if diff := cmp.Diff(want, children); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

// checkRefused asks for what is not there.
func (n node) checkRefused(t *testing.T, c connection) {
	const toolError = 5
	if _, stderr, code := n.inspect(t, c, "--method", "tools/call", "--tool-name", "read_skill", "--tool-args-json", `{"id":"a-foldre"}`); code != toolError {
		t.Errorf("a skill that is not there: exit code %d, %s", code, stderr)
	}
	if _, _, code := n.inspect(t, c, "--method", "skills/get", "--uri", "skill://infinite/SKILL.md"); code == 0 {
		t.Error("a skill that cannot be represented is served")
	}
	for _, uri := range []string{"skill://a-folder/../dates/SKILL.md", "skill://a-folder/absent.md", "file:///etc/passwd"} {
		if stdout, _, code := n.inspect(t, c, "--method", "resources/read", "--uri", uri); code == 0 {
			t.Errorf("%s is read: %s", uri, stdout)
		}
	}
}

// TestConformance runs the scenarios of both revisions of the protocol and of
// the skills extension. testdata/clients/conformance.yml has those that do not
// apply; one that passes nevertheless is an error, too.
func TestConformance(t *testing.T) {
	n := installed(t)
	expected, err := filepath.Abs("testdata/clients/conformance.yml")
	must.Do(t, err)
	clientSkills(t)
	s := serveHTTP(t)
	s.healthy(t)
	const suite = "@modelcontextprotocol/conformance/dist/index.js"
	total := regexp.MustCompile(`Total: (\d+) passed, (\d+) failed`)
	for revision, least := range map[string]int{"2025-11-25": 40, "2026-07-28": 90} {
		out, stderr, code := n.run(t, suite, "server", "--url", s.url, "--suite", "all", "--spec-version", revision, "--expected-failures", expected)
		counts := total.FindStringSubmatch(out)
		if code != 0 || counts == nil {
			t.Errorf("%s: exit code %d\n%s%s", revision, code, out, stderr)
			continue
		}
		t.Logf("%s: %s checks passed, %s of scenarios that do not apply failed", revision, counts[1], counts[2])
		if passed, err := strconv.Atoi(counts[1]); err != nil || passed < least {
			t.Errorf("%s: %d checks passed, want %d: %v", revision, passed, least, err)
		}
	}
	passed := regexp.MustCompile(`Passed: (\d+)/(\d+), 0 failed, 0 warnings`)
	for _, name := range []string{"manifest", "enumeration", "directory"} {
		out, stderr, code := n.run(t, suite, "server", "--url", s.url, "--scenario", "sep-2640-skills-"+name, "--spec-version", "2026-07-28", "--force")
		counts := passed.FindStringSubmatch(out)
		if code != 0 || counts == nil || counts[1] != counts[2] || strings.Contains(out, "SKIPPED") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, stderr)
			continue
		}
		t.Logf("%s of skills: %s of %s checks passed", name, counts[1], counts[2])
	}
	s.interrupt(t)
}
