package config_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestElsewhere: what is fetched from elsewhere has a folder of its own among the user's
// data, and a readable label that other roots do not change.
func TestElsewhere(t *testing.T) {
	home := t.TempDir()
	setHome(t, home)
	t.Setenv("REPERTOIRE_DATA", filepath.Join(home, "data"))
	name := filepath.Join(home, "config.yaml")
	var s config.Settings
	must.Write(t, name, `roots:
- {git: "https://user:secret@git.example/team/skills.git", ref: v1.2, path: pdf/skills, fetch: "@daily", trusted: true}
- {git: "git@git.example:team/skills.git"}
- {git: "ssh://git@git.example/~me/skills/"}
- {git: "file:///srv/git/skills.git", label: mine, names: {a: b}}
- {url: "https://git.example/down/Skills%20v1.zip?token=x#y", fetch: never}
- {url: "https://git.example"}
`)
	must.Do(t, s.ReadUser(name))
	hash := regexp.MustCompile(`-[0-9a-f]{8}\b`)
	var got []string
	paths := make(map[string]bool)
	for _, r := range s.Roots {
		rel, err := filepath.Rel(filepath.Join(home, "data", "roots"), r.Path)
		must.Do(t, err)
		got = append(got, hash.ReplaceAllString(r.Label, "-HASH")+" "+hash.ReplaceAllString(filepath.ToSlash(rel), "-HASH"))
		paths[r.Path] = true
		if !r.Elsewhere() {
			t.Errorf("%+v is on this machine", r)
		}
	}
	want := []string{
		"git:team/skills team-skills-HASH",
		"git:team/skills-HASH team-skills-HASH",
		"git:me/skills me-skills-HASH",
		"mine git-skills-HASH",
		"url:down/Skills-20v1.zip down-Skills-20v1.zip-HASH",
		"url:git.example git.example-HASH",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(paths) != len(want) {
		t.Errorf("%d folders; roots (-want +got)\n%s", len(paths), diff)
	}
	first := s.Roots[0]
	first.Path, first.Label, first.Place.File = "", "", ""
	if diff := cmp.Diff(config.Root{Git: "https://user:secret@git.example/team/skills.git", Ref: "v1.2", Sub: "pdf/skills", Fetch: "@daily", Trusted: true}, first, withoutPlaces); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
