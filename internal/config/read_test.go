package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// machine makes a home with a configuration and skills, and in it a project with
// both; it returns the folder of the project.
func machine(t *testing.T) (project string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "REPERTOIRE_DATA", "REPERTOIRE_DB"} {
		t.Setenv(name, "")
	}
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "own.yaml"))
	project = filepath.Join(home, "p")
	must.Write(t, filepath.Join(home, "own.yaml"), "roots: [more]\ndb: own.db\nschedule: \"@every 1h\"\n")
	must.Write(t, filepath.Join(project, ".agents", "repertoire.yaml"), "roots: [{path: ../skills, label: team}]\n")
	for _, dir := range []string{"more", "flag", "p/skills", ".claude/skills", "p/.git", "p/sub", "p/.codex/skills"} {
		must.Do(t, os.MkdirAll(filepath.Join(home, filepath.FromSlash(dir)), 0o700))
	}
	return project
}

// roots returns the paths of the roots of settings, relative to a folder.
func roots(t *testing.T, s config.Settings, dir string) []string {
	t.Helper()
	var list []string
	for _, r := range s.Roots {
		rel, err := filepath.Rel(dir, r.Path)
		must.Do(t, err)
		list = append(list, filepath.ToSlash(rel))
	}
	return list
}

// TestRead: flags win over the environment, that wins over the user's file, and
// the project's file adds to it.
func TestRead(t *testing.T) {
	project := machine(t)
	home := filepath.Dir(project)
	at := func(name string) string { return filepath.Join(home, name) }
	tests := []struct {
		name, db string
		dir      string
		options  *config.Options
		roots    []string
		wantDB   string
	}{
		{"files", "", project, nil, []string{"more", "p/skills"}, at("own.db")},
		{"from below", "", filepath.Join(project, "sub"), nil, []string{"more", "p/skills"}, at("own.db")},
		{"elsewhere", "", at("more"), nil, []string{"more"}, at("own.db")},
		{"environment", "env.db", project, nil, []string{"more", "p/skills"}, "env.db"},
		{"flags", "env.db", project, &config.Options{Roots: []string{at("flag")}, DB: "flag.db"}, []string{"flag", "more", "p/skills"}, "flag.db"},
		{"only roots", "", project, &config.Options{Roots: []string{at("flag")}, OnlyRoots: true}, []string{"flag"}, at("own.db")},
		{"file", "", project, &config.Options{File: filepath.Join(project, ".agents", "repertoire.yaml")}, []string{"p/skills"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("REPERTOIRE_DB", tt.db)
			s, err := config.Read(tt.dir, tt.options)
			must.Do(t, err)
			if diff := cmp.Diff(tt.roots, roots(t, s, home)); diff != "" || s.DB != tt.wantDB {
				t.Errorf("catalog file %q, want %q; roots (-want +got)\n%s", s.DB, tt.wantDB, diff)
			}
		})
	}
	t.Run("no roots", func(t *testing.T) {
		if _, err := config.Read(project, &config.Options{OnlyRoots: true}); err == nil {
			t.Error("no error")
		}
	})
}

// TestSources: the sources have the labels and kinds of their places.
func TestSources(t *testing.T) {
	project := machine(t)
	s, err := config.Read(project, nil)
	must.Do(t, err)
	sources, err := s.Sources(project, nil)
	must.Do(t, err)
	var got []string
	for _, src := range sources {
		got = append(got, src.Info().Kind+" "+src.Info().Label)
	}
	want := []string{"root root:more", "project project:team", "project project:.codex", "user user:.claude", "bundled bundled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestUnreachable: a folder that cannot be looked at is a warning, whoever named it, and a
// source like the others.
func TestUnreachable(t *testing.T) {
	project := machine(t)
	s := config.Default()
	s.Roots = []config.Root{{Path: filepath.Join(project, "nowhere")}, {Path: filepath.Join(project, ".git")}}
	want := []string{"root:nowhere", "root:.git", "project:.codex", "user:.claude", "bundled"}
	warnings := []string{"nowhere is not a folder"}
	if loop := filepath.Join(project, ".gemini"); runtime.GOOS != "windows" && os.Symlink(loop, loop) == nil {
		want = slices.Insert(want, 3, "project:.gemini")
		warnings = append(warnings, ".gemini")
	}
	var warned []error
	for _, warn := range []func(error){nil, func(err error) { warned = append(warned, err) }} {
		sources, err := s.Sources(project, warn)
		must.Do(t, err)
		var labels []string
		for _, src := range sources {
			labels = append(labels, src.Info().Label)
		}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if len(warned) != len(warnings) {
		t.Fatalf("warned of %v", warned)
	}
	for i, want := range warnings {
		if !strings.Contains(warned[i].Error(), want) {
			t.Errorf("warned of %v, want %s", warned[i], want)
		}
	}
}

// TestFindEmbedder: a server can be chosen only where one is configured.
func TestFindEmbedder(t *testing.T) {
	s := config.Default()
	for name, want := range map[string]string{
		"static": "", "none": "",
		"openai": `no embedder "openai"; there are: static, none (no embeddings server is configured)`,
		"magic":  `no embedder "magic"; there are: static, none (no embeddings server is configured)`,
	} {
		e, err := s.FindEmbedder(name)
		if want == "" && (err != nil || e.Name != name) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
