package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
)

// TestRemotes: roots from elsewhere are sources of what was fetched, and say what was not.
// Opening them fetches nothing.
func TestRemotes(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	s := config.Settings{Roots: []config.Root{
		{Path: home, Label: "mine"},
		{Path: filepath.Join(home, "roots", "a"), Label: "git:a", Git: "file:///nowhere", Ref: "v1", Sub: "skills"},
		{Path: filepath.Join(home, "roots", "b"), Label: "url:b", URL: "http://127.0.0.1:1/b.zip", Fetch: "@hourly"},
	}}
	s.Limits.Files = 7
	roots := s.Remotes()
	if len(roots) != 2 || roots[0].Git != "file:///nowhere" || roots[0].Ref != "v1" || roots[0].Sub != "skills" || roots[1].Schedule != "@hourly" || roots[1].Limits.Unpack.Files != 7 {
		t.Errorf("%+v", roots)
	}
	sources, err := s.Sources(home, nil)
	try(t, err)
	var said []string
	for _, src := range sources {
		for _, err := range src.Skills(t.Context(), nil) {
			if err != nil {
				said = append(said, src.Info().Label+" "+err.Error())
			}
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"git:a file:///nowhere: it has not been fetched yet", "url:b http://127.0.0.1:1/b.zip: it has not been fetched yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if err := s.Fetch()(t.Context()); err == nil || !strings.Contains(err.Error(), "fetching url:b: ") {
		t.Errorf("%v", err)
	}
	if none := config.Default(); none.Fetch() != nil {
		t.Error("nothing is elsewhere, and would be fetched")
	}
}
