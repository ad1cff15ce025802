package config_test

import (
	"context"
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

// skills returns the sources of a project by label, their skills as "label name", and the
// warnings.
func skills(t *testing.T, project string) (sources map[string]source.Source, found []string, warned []error) {
	t.Helper()
	warn := func(err error) { warned = append(warned, err) }
	s, err := config.Read(project, &config.Options{Warn: warn})
	must.Do(t, err)
	list, err := s.Sources(project, warn)
	must.Do(t, err)
	sources = make(map[string]source.Source)
	for _, src := range list {
		sources[src.Info().Label] = src
		for ref, err := range src.Skills(t.Context(), nil) {
			if err == nil {
				sk, err := ref.Load()
				must.Do(t, err)
				found = append(found, src.Info().Label+" "+sk.Name)
			}
		}
	}
	slices.Sort(found)
	return sources, found, warned
}

// fenced makes a home with two skills of the user, a folder elsewhere with one, and a
// project in that home. Its files may be links, "-> TARGET".
func fenced(t *testing.T, files map[string]string) (home, project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "own.yaml"))
	project = filepath.Join(home, "src", "p")
	must.Do(t, os.MkdirAll(filepath.Join(project, ".git"), 0o700))
	must.Write(t, filepath.Join(home, "own.yaml"), "bundled: false\nroots: [{path: named, label: named}]\n")
	for _, name := range []string{".claude/skills/secret", "named/mine", "elsewhere/other"} {
		must.Write(t, filepath.Join(home, name, "SKILL.md"), "---\nname: "+filepath.Base(name)+"\ndescription: Is private.\n---\n")
	}
	for name, text := range files {
		name = filepath.Join(project, name)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
			if os.Symlink(strings.ReplaceAll(target, "HOME", home), name) != nil {
				t.Skip("no symbolic links here")
			}
			continue
		}
		must.Write(t, name, text)
	}
	return home, project
}

// TestFence: whatever a project's files and links say, the user's skills keep their labels
// and names, and the project's own folders lead nowhere else.
func TestFence(t *testing.T) {
	const own = "---\nname: own\ndescription: Is the project's.\n---\n"
	usual := []string{"named mine", "user:.claude secret"}
	with := func(more ...string) []string {
		list := slices.Concat(usual, more)
		slices.Sort(list)
		return list
	}
	tests := []struct {
		name   string
		files  map[string]string
		want   []string
		warned int
	}{
		{"own folder", map[string]string{".agents/repertoire.yaml": "roots: [{path: ../s, names: {own: new}}]\n", "s/a/SKILL.md": own}, with("project:s new"), 0},
		{"usual folder with a name of its own", map[string]string{".agents/repertoire.yaml": "roots: [../.claude]\n", ".claude/skills/a/SKILL.md": own, ".codex/skills/a/SKILL.md": own},
			with("project:./.claude own", "project:.claude own", "project:.codex own"), 0},
		{"link below the own folder", map[string]string{".agents/repertoire.yaml": "roots: [{path: ../s, names: {x: public, secret: public}}]\n", "s/a/SKILL.md": own, "s/x": "-> ../../../.claude/skills/secret"},
			with("project:s own"), 0},
		{"link below the own folder to elsewhere", map[string]string{".agents/repertoire.yaml": "roots: [../s]\n", "s/x": "-> HOME/elsewhere"}, usual, 0},
		{"link below the own folder to the project", map[string]string{".agents/repertoire.yaml": "roots: [../s]\n", "s/x": "-> ../t", "t/SKILL.md": own}, with("project:s own"), 0},
		{"own folder that is not there", map[string]string{".agents/repertoire.yaml": "roots: [../s]\n"}, usual, 1},
		{"usual folder that is the user's", map[string]string{".claude/skills": "-> HOME/.claude/skills"}, usual, 1},
		{"usual folder that is above the user's", map[string]string{".claude/skills": "-> HOME/.claude"}, usual, 1},
		{"usual folder that is below the user's", map[string]string{".claude/skills": "-> HOME/named/mine"}, usual, 1},
		{"usual folder that is elsewhere", map[string]string{".claude/skills": "-> HOME/elsewhere"}, with("project:.claude other"), 0},
		{"link below a usual folder", map[string]string{".codex/skills/x": "-> HOME/.claude/skills/secret", ".codex/skills/a/SKILL.md": own}, with("project:.codex own"), 0},
		{"link below a usual folder to a root", map[string]string{".codex/skills/x": "-> HOME/named", ".codex/skills/a/SKILL.md": own}, with("project:.codex own"), 0},
		{"link below a usual folder to elsewhere", map[string]string{".codex/skills/x": "-> HOME/elsewhere/other"}, with("project:.codex other"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, project := fenced(t, tt.files)
			_, found, warned := skills(t, project)
			if diff := cmp.Diff(tt.want, found); diff != "" || len(warned) != tt.warned {
				t.Errorf("warned of %v, want %d; skills (-want +got)\n%s", warned, tt.warned, diff)
			}
		})
	}
}

// TestFenceLater: a folder of the project that becomes a link to another one is neither
// searched nor read.
func TestFenceLater(t *testing.T) {
	home, project := fenced(t, map[string]string{".agents/repertoire.yaml": "roots: [../s]\n", "s/secret/SKILL.md": "---\nname: own\ndescription: Is the project's.\n---\n"})
	sources, _, _ := skills(t, project)
	src := sources["project:s"]
	if _, err := source.ReadInstructions(t.Context(), src, "secret"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, os.RemoveAll(filepath.Join(project, "s")))
	if os.Symlink(filepath.Join(home, ".claude", "skills"), filepath.Join(project, "s")) != nil {
		t.Skip("no symbolic links here")
	}
	var errs []error
	for ref, err := range src.Skills(t.Context(), nil) {
		if err == nil {
			t.Errorf("found %s", ref.Path)
		}
		errs = append(errs, err)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "out of the project") {
		t.Errorf("errors %v", errs)
	}
	for name, read := range map[string]func(context.Context) error{
		"instructions": func(ctx context.Context) error { _, err := source.ReadInstructions(ctx, src, "secret"); return err },
		"manifest":     func(ctx context.Context) error { _, err := source.ReadManifest(ctx, src, "secret"); return err },
	} {
		if err := read(t.Context()); !errors.Is(err, source.ErrRefused) {
			t.Errorf("%s: error %v, want %v", name, err, source.ErrRefused)
		}
	}
}

// TestFenceNamed: a project that names a folder which the user has named changes neither
// its label nor its names.
func TestFenceNamed(t *testing.T) {
	home, project := fenced(t, map[string]string{".agents/repertoire.yaml": "roots: [{path: ../s, label: evil, names: {own: new}}]\n", "s/a/SKILL.md": "---\nname: own\ndescription: Is mine.\n---\n"})
	must.Write(t, filepath.Join(home, "own.yaml"), "bundled: false\nroots: [{path: src/p/s, label: named}]\n")
	_, found, _ := skills(t, project)
	if diff := cmp.Diff([]string{"named own", "user:.claude secret"}, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFenceAroundHome: a project that is above the user's home does not own what is there.
func TestFenceAroundHome(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, filepath.Join(top, "home"))
	for _, dir := range []string{".git", "shared/.agents", "home/.claude/skills", "skills"} {
		must.Do(t, os.MkdirAll(filepath.Join(top, dir), 0o700))
	}
	name := filepath.Join(top, "shared", ".agents", "repertoire.yaml")
	for path, want := range map[string]string{"../../home/.claude/skills": "out of the project", "../../home": "out of the project", "../..": "out of the project", "../../skills": ""} {
		must.Write(t, name, "roots: [\""+path+"\"]\n")
		var s config.Settings
		if err := s.ReadProject(name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}
