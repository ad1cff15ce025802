package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// TestPolicy: what the user's file disables holds everywhere or in one project; what a
// project's file disables holds for the project's own sources only.
func TestPolicy(t *testing.T) {
	project := machine(t)
	t.Setenv("XDG_DATA_HOME", "")
	home := filepath.Dir(project)
	own, shared := filepath.Join(home, "own.yaml"), filepath.Join(project, ".agents", "repertoire.yaml")
	policy := func(dir string) *search.Policy {
		t.Helper()
		s, err := config.Read(dir, nil)
		must.Do(t, err)
		return s.Policy(t.TempDir(), "", nil)
	}
	must.Write(t, shared, "roots: [{path: ../skills, label: team}]\n")
	if p := policy(project); p.Disabled != nil {
		t.Errorf("policy %+v without a reason", p)
	}
	must.Write(t, shared, "roots: [{path: ../skills, label: team}]\ndisabled: [p]\n")
	must.Write(t, own, "disabled:\n- a\n- b\nprojects:\n  p:\n    disabled: [c]\n  q: {disabled: [d]}\n"+
		"trust: {project: ask, lower: [x]}\nroots: [{git: \"https://h/a/b\"}, {url: \"https://h/a/c\", trusted: true}]\n")
	p := policy(filepath.Join(project, "sub"))
	banned := func(name, file string, line int, within []string) search.Ban {
		return search.Ban{Rules: search.Rules{Names: []string{name}}, Within: within, Place: search.Place{File: file, Line: line}}
	}
	labels := []string{"project"}
	want := []search.Ban{banned("a", own, 2, nil), banned("b", own, 3, nil), banned("p", shared, 2, labels), banned("c", own, 6, nil)}
	if diff := cmp.Diff(want, p.Disabled); diff != "" {
		t.Errorf("disabled (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "git:a/b"}, p.Lower); diff != "" {
		t.Errorf("lower (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(labels, p.Ask); diff != "" {
		t.Errorf("ask (-want +got)\n%s", diff)
	}
	if p := policy(home); len(p.Disabled) != 2 {
		t.Errorf("outside of a project: %+v", p)
	}
}

// TestProjectDisabled: a project's file cannot say what is trusted, fetched or logged.
func TestProjectDisabled(t *testing.T) {
	project := machine(t)
	name := filepath.Join(project, ".agents", "repertoire.yaml")
	for _, text := range []string{"order: [user]", "trust: {project: offer}", "usage: true", "limits: {files: 1}", "requires: {ignore: true}",
		"install_dir: x", "user_dir: x", "projects: {}", "bundled: []", "roots: [{git: \"https://h/a\"}]", "roots: [{url: \"https://h/a\"}]"} {
		must.Write(t, name, text+"\n")
		s := config.Default()
		if err := s.ReadProject(name); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// TestInstalled: installed skills are a source, unless only the given roots count.
func TestInstalled(t *testing.T) {
	project := machine(t)
	home := filepath.Dir(project)
	data := filepath.Join(home, "data")
	t.Setenv("REPERTOIRE_DATA", data)
	must.Do(t, os.MkdirAll(filepath.Join(data, "skills"), 0o700))
	labels := func(o *config.Options) (list []string) {
		t.Helper()
		s, err := config.Read(project, o)
		must.Do(t, err)
		var warned []error
		sources, err := s.Sources(project, func(err error) { warned = append(warned, err) })
		must.Do(t, err)
		for _, src := range sources {
			list = append(list, src.Info().Label)
		}
		for _, err := range warned {
			list = append(list, err.Error())
		}
		return list
	}
	want := []string{"root:more", "installed", "project:team", "project:.codex", "user:.claude", "bundled"}
	if diff := cmp.Diff(want, labels(nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"root:flag"}, labels(&config.Options{Roots: []string{filepath.Join(home, "flag")}, OnlyRoots: true})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	must.Write(t, filepath.Join(home, "own.yaml"), "install_dir: more\nuser_dir: flag\nbundled: [writing-skills]\norder: [user]\nroots: [{git: \"https://h/a/b\"}]\n")
	want = []string{"user", "installed", "project:team", "project:.codex", "bundled", "git:a/b", `git:a/b has not been fetched yet; run "skills index"`}
	if diff := cmp.Diff(want, labels(nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
