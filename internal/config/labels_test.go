package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// TestOldLabels: what lets something in and names a folder of the project as it was seen from where
// one worked means this folder, from there.
func TestOldLabels(t *testing.T) {
	home, project := homeWith(t, map[string]string{"own.yaml": `agents:
  a: {include: {sources: ["project:../.claude", "project:../../../../../.claude"]}, uses_skills: ["project:../../.agents/x"]}
scripts: [{skills: ["*"], sources: ["project:../../.posit/assistant"], timeout: 2m}]
triggers: {"project:../.claude": certain}
ignore: [{sources: ["project:../.claude"]}]
`})
	dir := filepath.Join(project, "sub", "dir")
	must.Do(t, os.MkdirAll(dir, 0o700))
	read := func(dir string) string {
		t.Helper()
		s, err := config.Read(dir, nil)
		must.Do(t, err)
		a := s.Agents[0]
		return fmt.Sprintf("%v %v %v %s %v %d", a.Include.Sources, a.Uses, s.Scripts[0].Sources, s.Triggers["project:sub/.claude"], s.Ignore[0].Sources,
			a.Places[search.Rule{Key: "include.sources", Text: a.Include.Sources[0]}].Line)
	}
	want := "[project:sub/.claude project:../../../../../.claude] [project:.agents/x] [project:.posit/assistant] certain [project:sub/.claude] 2"
	if got := read(dir); got != want {
		t.Errorf("in a subfolder\n%s, want\n%s", got, want)
	}
	want = "[project:../.claude project:../../../../../.claude] [project:../../.agents/x] [project:../../.posit/assistant]  [project:../.claude] 2"
	for _, dir := range []string{project, home} {
		if got := read(dir); got != want {
			t.Errorf("in %s\n%s, want\n%s", dir, got, want)
		}
	}
}

// TestDisabledBelow: what is disabled in a project is disabled in all folders below, also in a
// repository in it and in folders with a file of their own.
func TestDisabledBelow(t *testing.T) {
	home, project := homeWith(t, map[string]string{
		"src/p/.agents/repertoire.yaml":     "disabled: [shared]\nagents: {a: {}}\n",
		"src/p/sub/.agents/repertoire.yaml": "disabled: [near]\nagents: {b: {}}\n",
		"src/p/lib/.git":                    "gitdir: elsewhere", "src/p/lib/x/f": "", "src/plain/x/f": "", "src/p-2/f": "",
		"own.yaml": "projects: {src/p: {disabled: [own]}, src/plain: {disabled: [plain]}}\n",
	})
	for dir, want := range map[string][]string{
		project: {"shared", "own"}, project + "/sub": {"near", "shared", "own"}, project + "/lib/x": {"own"},
		home + "/src/plain/x": {"plain"}, home + "/src/p-2": nil, home + "/src": nil, home: nil,
	} {
		var got []string
		s, err := config.Read(dir, &config.Options{Warn: func(err error) { t.Error(err) }})
		must.Do(t, err)
		for _, ban := range s.Disabled {
			got = append(got, ban.Names...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in %s (-want +got)\n%s", dir, diff)
		}
		if len(s.Agents) > 0 && s.Agents[0].Name != map[bool]string{true: "b", false: "a"}[filepath.Base(dir) == "sub"] {
			t.Errorf("in %s: agent %s", dir, s.Agents[0].Name)
		}
	}
}

// TestLabelsInProject: a folder that the project's file names never has the label of a usual one, and
// folders of one project with the same sources have one catalog.
func TestLabelsInProject(t *testing.T) {
	_, project := homeWith(t, map[string]string{
		"src/p/.agents/repertoire.yaml": "roots: [../sub/.claude, ../.agents]\n", "src/p/sub/.claude/skills/a/SKILL.md": aSkill("a"),
		"src/p/.claude/skills/b/SKILL.md": aSkill("b"), "src/p/other/f": "",
	})
	t.Setenv("REPERTOIRE_CACHE", t.TempDir())
	dbs := make(map[string]string)
	for dir, want := range map[string][]string{
		"": {"project:./sub/.claude", "project:./.agents", "project:.claude"}, "other": {"project:./sub/.claude", "project:./.agents", "project:.claude"},
		"sub": {"project:./sub/.claude", "project:./.agents", "project:sub/.claude", "project:.claude"},
	} {
		s, err := config.Read(filepath.Join(project, dir), nil)
		must.Do(t, err)
		sources, err := s.Sources(filepath.Join(project, dir), nil)
		must.Do(t, err)
		var labels []string
		for _, src := range sources {
			labels = append(labels, src.Info().Label)
		}
		if !slices.Equal(labels, want) {
			t.Errorf("in %q: %q, want %q", dir, labels, want)
		}
		dbs[dir], err = config.DefaultDB(sources)
		must.Do(t, err)
	}
	if dbs[""] != dbs["other"] || dbs[""] == dbs["sub"] {
		t.Errorf("catalogs: %q", dbs)
	}
}
