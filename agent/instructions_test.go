package agent_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
)

var update = flag.Bool("update", false, "write what the code gives into testdata/instructions/*.txtar")

// TestInstructions lets a scripted model write tags, over a real catalog and with processes;
// the README in testdata explains the files.
func TestInstructions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of the test are for sh, which Windows lacks")
	}
	files, err := filepath.Glob("testdata/instructions/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testInstructions(t, file) })
	}
}

func testInstructions(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	must.Do(t, err)
	dir := t.TempDir()
	var turns []agenttest.Turn
	var kept []txtar.File
	want := make(map[string]string)
	for _, f := range archive.Files {
		name, isFile := strings.CutPrefix(f.Name, "skills/")
		switch {
		case isFile:
			writeSkillFile(t, filepath.Join(dir, filepath.FromSlash(name)), f.Data)
		case strings.HasPrefix(f.Name, "answer"):
			turns = append(turns, agenttest.Say(string(f.Data)))
		default:
			want[f.Name] = string(f.Data)
			continue
		}
		kept = append(kept, f)
	}
	cfg, prompt := settings(t, string(archive.Comment))
	model := agenttest.New(append(turns, agenttest.Say("Done."))...)
	cfg.Model, cfg.Catalog, cfg.Instructions = model, openFolder(t, dir), true
	_, err = newAgent(t, cfg).Chat(t.Context(), prompt)
	must.Do(t, err)
	for i, q := range model.Asked() {
		name, text := "read."+strconv.Itoa(i), q.System
		if i > 0 {
			text = q.Messages[len(q.Messages)-1].Text
		}
		text = strings.ReplaceAll(text, dir, "$DIR")
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if diff := cmp.Diff(want[name], text); diff != "" && !*update {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		kept = append(kept, txtar.File{Name: name, Data: []byte(text)})
	}
	if *update {
		archive.Files = kept
		must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o644))
	}
}

// settings reads the lines on top of a file.
func settings(t *testing.T, comment string) (cfg agent.Config, prompt string) {
	t.Helper()
	cfg.Executor = sandbox.NewPlain(sandbox.Options{AllowUnconfined: true})
	cfg.Agent = &repertoire.Agent{Name: "tester"}
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch key {
		case "prompt":
			prompt = value
		case "executor":
			cfg.Executor = nil
		case "first only":
			cfg.FirstOnly = true
		case "timeout":
			cfg.Agent.Script.Timeout, err = time.ParseDuration(value)
		case "output":
			cfg.Agent.Script.Output, err = strconv.ParseInt(value, 10, 64)
		case "refuse":
			cfg.Allow = func(_ context.Context, b contextprovider.Body, _ string) error {
				return fmt.Errorf("%s: %s", b.Name, value)
			}
		default:
			err = errors.New("unknown line " + line)
		}
		must.Do(t, err)
	}
	return cfg, prompt
}

// writeSkillFile writes a file, which may be run unless it says otherwise by its name. Its
// text may hold escapes, if it starts with a quotation mark.
func writeSkillFile(t testing.TB, path string, data []byte) {
	t.Helper()
	mode := os.FileMode(0o755)
	if strings.Contains(path, "plain") {
		mode = 0o644
	}
	if text, err := strconv.Unquote(strings.TrimSpace(string(data))); err == nil {
		data = []byte(text)
	}
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, data, mode))
	must.Do(t, os.Chmod(path, mode))
}

// openFolder returns a catalog of the skills in a folder.
func openFolder(t testing.TB, dir string) *repertoire.Catalog {
	t.Helper()
	s, err := source.Dir(dir, &source.Options{Label: "team"})
	must.Do(t, err)
	return catalogtest.Open(t, repertoire.Config{Sources: []source.Source{s}, LoadRequired: true})
}

// TestInstructionSearch: a model without tools hears that skills are there though none stands out,
// and finds them with a tag; where there are none, it hears nothing.
func TestInstructionSearch(t *testing.T) {
	model := agenttest.New(
		agenttest.Turn{Text: "<search_skills>bake a sourdough bread</search_skills>", Want: []agenttest.Want{{In: agenttest.System, Text: "none of them stands out for this prompt. The tag search_skills"}}},
		agenttest.Say("<search_skills/>").Wants("<skills_found query=\"bake a sourdough bread\">\nSkills that may fit, best first (use_skill gives the instructions of one):\n- sourdough ("),
		agenttest.Say("<find_skills>x</find_skills>").Wants("by name:\n- payroll: "),
		agenttest.Say("<use_skill>starter</use_skill>").Wants("There is no tag find_skills"),
		agenttest.Say("Done.").Wants("Feed it daily."),
	)
	relevant := contextprovider.Budget{Offer: contextprovider.Relevant}
	c, _ := toolCatalog(t, toolSkills)
	answer, err := newAgent(t, agent.Config{Model: model, Catalog: c, Instructions: true, Budget: relevant}).Chat(t.Context(), "why is the sky blue")
	if err != nil || answer.Text != "Done." || model.Rest() != 0 {
		t.Errorf("%+v, %v, %d turns left", answer, err, model.Rest())
	}
	nobody := &repertoire.Agent{Name: "nobody"}
	nobody.Exclude.Names = []string{"*"}
	model = agenttest.New(agenttest.Say("Done."))
	_, err = newAgent(t, agent.Config{Model: model, Catalog: c, Agent: nobody, Instructions: true}).Chat(t.Context(), "why is the sky blue")
	if system := model.Asked()[0].System; err != nil || system != "" {
		t.Errorf("without skills: %q, %v", system, err)
	}
}
