package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// homeWith makes the user's home, with files whose names start at the home, and an empty
// configuration. A text "-> TARGET" is a link. It returns the home and an empty project in it.
func homeWith(t *testing.T, files map[string]string) (home, project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, home)
	for _, key := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "QWEN_HOME"} {
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

// TestMovedFolders: where a variable of the environment moves the folder of a client, the usual one
// in the home is not looked at.
func TestMovedFolders(t *testing.T) {
	home, project := homeWith(t, map[string]string{
		".claude/skills/a/SKILL.md": aSkill("a"), "moved/skills/b/SKILL.md": aSkill("b"), "conf/goose/skills/c/SKILL.md": aSkill("c"), ".config/goose/skills/d/SKILL.md": aSkill("d"),
	})
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "moved"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "conf"))
	_, found, _ := skills(t, project)
	want := []string{"user:.config/goose c", "user:moved b"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "src", "..", ".claude")+"/")
	_, found, _ = skills(t, project)
	if diff := cmp.Diff([]string{"user:.claude a", "user:.config/goose c"}, found); diff != "" {
		t.Errorf("where it leads to the usual place (-want +got):\n%s", diff)
	}
}

// TestEachMovedFolder: so it is for each variable that moves a folder which projects may have, too.
func TestEachMovedFolder(t *testing.T) {
	for key, usual := range map[string]string{"CLAUDE_CONFIG_DIR": ".claude", "CODEX_HOME": ".codex", "GEMINI_CLI_HOME": ".gemini", "QWEN_HOME": ".qwen",
		"HERMES_HOME": ".hermes", "GROK_HOME": ".grok", "VIBE_HOME": ".vibe", "AUTOHAND_HOME": ".autohand", "CODEWHALE_HOME": ".codewhale", "COPILOT_HOME": ".copilot", "OPENCLAW_STATE_DIR": ".openclaw"} {
		t.Run(key, func(t *testing.T) {
			moved, below := "moved/skills/b/SKILL.md", "user:moved b"
			if key == "GEMINI_CLI_HOME" {
				moved, below = "moved/.gemini/skills/b/SKILL.md", "user:moved/.gemini b"
			}
			home, project := homeWith(t, map[string]string{usual + "/skills/a/SKILL.md": aSkill("a"), moved: aSkill("b"), "src/p/" + usual + "/skills/c/SKILL.md": aSkill("c")})
			t.Setenv(key, filepath.Join(home, "moved"))
			_, found, _ := skills(t, project)
			want := []string{"project:" + usual + " c", below}
			if usual == ".copilot" || usual == ".openclaw" { // no project has them
				want = want[1:]
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("skills (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamedFolders: the folders that settings name are looked at; those that settings of a project
// name lie in the project, and what lies there is the project's, whoever names it.
func TestNamedFolders(t *testing.T) {
	skill := func(name string) string { return aSkill(name[strings.LastIndexByte(name, '/')+1:]) }
	files := map[string]string{
		".claude/settings.json":                 "\ufeff{\n// mine\n\"permissions\": {\"additionalDirectories\": [\"~/docs\", \"tools\", \"../beside\", \"link\", \"\", \"gone\"],},}",
		"src/p/.claude/settings.json":           `{"permissions": {"additionalDirectories": ["../../away", "~/away", "libs/one"]}}`,
		"src/p/sub/.claude/settings.local.json": `{"permissions": {"additionalDirectories": ["own"]}}`,
		".config/opencode/opencode.jsonc":       `{"skills": {"paths": ["~/more", "nested/skills"]}, "permission": {"skill": {"paths": "deny"}}}`,
		"src/p/opencode.json":                   `{"skills": {"paths": [".agents/extra", "/", "link", ".claude/skills"]}}`,
		"src/p/.opencode/opencode.json":         `{"skills": "paths"}`,
		".openclaw/openclaw.json":               `{"skills": {"load": {"extraDirs": ["~/packs"]}}, "agents": {"defaults": {"workspace": "~/desk"}, "list": [{"id": "a"}, {"workspace": "~/desk2"}]}}`,
		"src/p/link":                            "-> ../../away", "src/p/own/link": "-> ../../../away/.claude/skills/no",
	}
	want := map[string]string{
		"docs/.claude/skills/a": "user:docs/.claude", "src/p/tools/.claude/skills/b": "project:./tools/.claude", "src/beside/.claude/skills/c": "user:src/beside/.claude",
		"src/p/libs/one/.claude/skills/d": "project:./libs/one/.claude", "src/p/sub/own/.claude/skills/e": "project:./sub/own/.claude", "more/deep/f": "user:more",
		"src/p/nested/skills/g": "project:./nested", "src/p/.agents/extra/h": "project:./.agents/extra", "packs/i": "user:packs", "desk/skills/j": "user:desk",
		"desk/.agents/skills/k": "user:desk/.agents", "desk2/skills/l": "user:desk2", "away/.claude/skills/no": "", "src/p/.claude/skills/m": "project:.claude",
		".config/opencode/skill/n": "user:.config/opencode/skill", ".config/opencode/skills/o": "user:.config/opencode", "src/p/.opencode/skill/q": "project:.opencode/skill",
		".opencode/skill/r": "user:.opencode/skill", ".openclaw/workspace/skills/s": "user:.openclaw/workspace", ".gemini/config/skills/u": "user:.gemini/config",
	}
	var wanted []string
	for at, label := range want {
		if files[at+"/SKILL.md"] = skill(at); label != "" {
			wanted = append(wanted, label+" "+at[strings.LastIndexByte(at, '/')+1:])
		}
	}
	home, project := homeWith(t, files)
	_, found, warned := skills(t, filepath.Join(project, "sub"))
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, found); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	var places []string
	for _, err := range warned {
		place, _ := errors.AsType[*source.PlaceError](err)
		rel, _ := filepath.Rel(home, place.Path)
		places = append(places, filepath.ToSlash(rel))
	}
	slices.Sort(places)
	left := []string{"away/.claude/skills", "away/.claude/skills", "src/p/link", "src/p/link/.claude/skills"}
	if len(places) != 5 || !cmp.Equal(places[1:], left) { // the first is the root of the file system
		t.Errorf("left out: %q", warned)
	}
	must.Write(t, filepath.Join(home, "own.yaml"), "bundled: false\nuser: false\n")
	if _, found, _ := skills(t, project); slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, "user:") }) || len(found) < 6 {
		t.Errorf("without folders of the user: %q", found)
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
