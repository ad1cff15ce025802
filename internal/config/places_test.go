package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// homeWith makes the user's home, with files whose names start at the home, and an empty
// configuration. A text "-> TARGET" is a link. It returns the home and an empty project in it.
func homeWith(t *testing.T, files map[string]string) (home, project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, home)
	for _, key := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "OPENCLAW_STATE_DIR"} {
		t.Setenv(key, "")
	}
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "own.yaml"))
	project = filepath.Join(home, "src", "p")
	must.Do(t, os.MkdirAll(filepath.Join(project, ".git"), 0o700))
	must.Write(t, filepath.Join(home, "own.yaml"), "bundled: false\n")
	for name, text := range files {
		name = filepath.Join(home, filepath.FromSlash(name))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
			if os.Symlink(filepath.FromSlash(target), name) != nil {
				t.Skip("no symbolic links here")
			}
			continue
		}
		must.Write(t, name, text)
	}
	return home, project
}

// aSkill is a SKILL.md.
func aSkill(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + " when asked for it.\n---\nDo it.\n"
}

// TestFoldersOfClients: skills are found where clients keep them, each in a source with a
// label that says where.
func TestFoldersOfClients(t *testing.T) {
	where := map[string]string{
		".copilot": "user:.copilot", ".openclaw": "user:.openclaw", ".codeium/windsurf": "user:.codeium/windsurf", ".config/goose": "user:.config/goose",
		".config/amp": "user:.config/amp", ".config/opencode": "user:.config/opencode", ".agent": "user:.agent", ".goose": "user:.goose",
		".pi/agent": "user:.pi/agent", ".tabnine/agent": "user:.tabnine/agent", ".config/agents": "user:.config/agents",
		"src/p/.windsurf": "project:.windsurf", "src/p/.goose": "project:.goose", "src/p/.agent": "project:.agent", "src/p/.crush": "project:.crush",
		"src/p/.posit/assistant": "project:.posit/assistant",
	}
	files := make(map[string]string)
	var want []string
	for dir, label := range where {
		name := strings.Trim(strings.NewReplacer("/", "-", ".", "").Replace(dir), "-")
		files[dir+"/skills/"+name+"/SKILL.md"] = aSkill(name)
		want = append(want, label+" "+name)
	}
	slices.Sort(want)
	_, project := homeWith(t, files)
	_, found, warned := skills(t, project)
	if diff := cmp.Diff(want, found); diff != "" || len(warned) > 0 {
		t.Errorf("skills (-want +got):\n%s\nwarnings %v", diff, warned)
	}
}

// TestMovedFolders: where a variable of the environment moves the folder of a client, both
// folders are looked at.
func TestMovedFolders(t *testing.T) {
	home, project := homeWith(t, map[string]string{
		".claude/skills/a/SKILL.md": aSkill("a"), "moved/skills/b/SKILL.md": aSkill("b"), "conf/goose/skills/c/SKILL.md": aSkill("c"), ".config/goose/skills/d/SKILL.md": aSkill("d"),
	})
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "moved"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "conf"))
	_, found, _ := skills(t, project)
	want := []string{"user:.claude a", "user:.config/goose c", "user:moved b"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
}

// TestFenceOfClients: a project cannot pass off skills in the folder of any client of the user
// as its own.
func TestFenceOfClients(t *testing.T) {
	_, project := homeWith(t, map[string]string{
		".codeium/windsurf/skills/mine/SKILL.md": aSkill("mine"), "src/p/.agents/skills": "-> ../../../.codeium/windsurf/skills",
	})
	_, found, warned := skills(t, project)
	if diff := cmp.Diff([]string{"user:.codeium/windsurf mine"}, found); diff != "" || len(warned) != 1 || !strings.Contains(warned[0].Error(), "where your own skills are") {
		t.Errorf("skills (-want +got):\n%s\nwarnings %v", diff, warned)
	}
}

// BenchmarkSources opens the sources of a project with a few folders.
func BenchmarkSources(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("HOME", dir)
	b.Setenv("XDG_CONFIG_HOME", "")
	for _, name := range []string{".agents/skills", ".claude/skills", "p/.git", "p/.agents/skills", "p/a/b/c"} {
		must.Do(b, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	s := config.Default()
	for b.Loop() {
		if _, err := s.Sources(filepath.Join(dir, "p", "a", "b", "c"), nil); err != nil {
			b.Fatal(err)
		}
	}
}
