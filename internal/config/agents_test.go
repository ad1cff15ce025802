package config_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

// withoutPlaces compares agents without the places of their rules.
var withoutPlaces = cmp.Options{
	cmpopts.IgnoreFields(search.Agent{}, "Places"), cmpopts.IgnoreFields(search.Ban{}, "Place"), cmpopts.IgnoreFields(config.Ignore{}, "Place"),
	cmpopts.IgnoreFields(config.Settings{}, "Places"), cmpopts.IgnoreFields(config.Root{}, "Place"),
}

// TestPlaces: settings know where each rule of an agent stands.
func TestPlaces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	must.Write(t, name, "agents:\n  a:\n    include:\n      names:\n      - x\n      - y\n      tags: t\n    exclude: {sources: [s]}\n    pinned: [p]\n")
	s := config.Default()
	must.Do(t, s.ReadUser(name))
	want := map[search.Rule]search.Place{
		{Key: "include.names", Text: "x"}: {File: name, Line: 5}, {Key: "include.names", Text: "y"}: {File: name, Line: 6},
		{Key: "include.tags", Text: "t"}: {File: name, Line: 7}, {Key: "exclude.sources", Text: "s"}: {File: name, Line: 8},
		{Key: "pinned", Text: "p"}: {File: name, Line: 9},
	}
	if diff := cmp.Diff(want, s.Agents[0].Places); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAgentsOfTwoFiles: a second file of the user replaces the whole agent.
func TestAgentsOfTwoFiles(t *testing.T) {
	dir := t.TempDir()
	s := config.Default()
	for name, text := range map[string]string{"1": "agents: {a: {pinned: [x]}}\n", "2": "agents: {a: {exclude: {names: [y]}}}\n"} {
		must.Write(t, filepath.Join(dir, name), text)
	}
	must.Do(t, s.ReadUser(filepath.Join(dir, "1")))
	must.Do(t, s.ReadUser(filepath.Join(dir, "2")))
	want := []*search.Agent{{Name: "a", Exclude: search.Rules{Names: []string{"y"}}}}
	if diff := cmp.Diff(want, s.Agents, withoutPlaces); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
