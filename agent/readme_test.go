package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(testsize.Hermetic(m).Run())
}

// TestReadme: the program of docs/agents.md compiles, and its function ask is the example of
// this package.
func TestReadme(t *testing.T) {
	testsize.Long(t)
	page, err := os.ReadFile("../docs/agents.md")
	must.Do(t, err)
	_, section, _ := bytes.Cut(page, []byte("\n## A program\n"))
	_, program, _ := bytes.Cut(section, []byte("\n```go\n"))
	program, _, _ = bytes.Cut(program, []byte("```\n"))
	example, err := os.ReadFile("example_test.go")
	must.Do(t, err)
	if _, ask, ok := bytes.Cut(example, []byte("\n// ask answers")); !ok || !bytes.HasSuffix(program, ask) {
		t.Errorf("its function ask differs from the example:\n%s", program)
	}
	if formatted, err := format.Source(program); err != nil || !bytes.Equal(formatted, program) {
		t.Errorf("gofmt changes it: %v", err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the program go")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	must.Do(t, os.WriteFile(file, program, 0o644))
	if out, err := exec.CommandContext(t.Context(), goTool, "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReadmeScript: the same program runs a script of the skill inside walls.
func TestReadmeScript(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{}); err != nil {
		t.Skip("needs the confined executor: ", err)
	}
	server, stop := exampleServer(
		agenttest.Call("read_skill", `{"name": "sourdough"}`),
		agenttest.Call("run_skill_script", `{"name": "sourdough", "command": "scripts/flour.sh 2"}`).Wants("Rest it for 12 hours."),
		agenttest.Say("Take 1000 g of flour.").Wants("1000 g\n"),
	)
	defer stop()
	answer, err := ask(t.Context(), server, "How do I bake two sourdough breads?")
	if err != nil || answer != "Take 1000 g of flour." {
		t.Errorf("%q, %v", answer, err)
	}
}

// exampleServer starts a server whose model takes these turns, and makes a home that holds
// one skill. stop removes both.
func exampleServer(turns ...agenttest.Turn) (address string, stop func()) {
	var b exampleTB
	home, err := os.MkdirTemp("", "agent")
	b.must(err)
	b.Cleanup(func() { os.RemoveAll(home) })
	for name, value := range map[string]string{
		"HOME": home, "USERPROFILE": home, "REPERTOIRE_CONFIG": filepath.Join(home, "config.yaml"), "REPERTOIRE_CACHE": filepath.Join(home, "cache"),
		"REPERTOIRE_DB": "", "REPERTOIRE_DATA": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "OPENAI_API_KEY": "",
	} {
		before, ok := os.LookupEnv(name)
		os.Setenv(name, value)
		b.Cleanup(func() {
			if os.Setenv(name, before); !ok {
				os.Unsetenv(name)
			}
		})
	}
	dir := filepath.Join(home, ".agents", "skills", "sourdough")
	b.must(errors.Join(os.MkdirAll(filepath.Join(dir, "scripts"), 0o755),
		os.WriteFile(filepath.Join(home, "config.yaml"), []byte("project: false\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "scripts", "flour.sh"), []byte("#!/bin/sh\necho $((500 * $1)) g\n"), 0o755),
		os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: sourdough\ndescription: Bakes sourdough bread.\nallowed-tools: scripts/*\n---\nRest it for 12 hours.\n"), 0o644)))
	return agenttest.NewServer(&b, agenttest.New(turns...)).URL, b.stop
}

// exampleTB stands for a test where there is none.
type exampleTB struct{ cleanups []func() }

func (*exampleTB) Helper()                   {}
func (*exampleTB) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*exampleTB) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (b *exampleTB) Cleanup(f func())        { b.cleanups = append(b.cleanups, f) }

func (b *exampleTB) must(err error) {
	if err != nil {
		b.Fatalf("%v", err)
	}
}

func (b *exampleTB) stop() {
	for _, f := range slices.Backward(b.cleanups) {
		f()
	}
}
