package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registries"
)

// TestRegistries reads registries, and says what is wrong with others, without a password.
func TestRegistries(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "config.yaml")
	for text, want := range map[string]string{
		"[{url: https://hub.example/, form: clawhub}, {url: 'http://127.0.0.1:8080/ard', form: ard, name: team, key_env: TEAM_KEY, alone: true}]": "",
		"[]":                                    "",
		"https://hub.example":                   "registries must be a list of mappings with url and form",
		"[https://hub.example]":                 "must be a mapping of keys to values",
		"[{form: ard}]":                         "registries: base URL is empty",
		"[{url: https://h.example}]":            `registries: form is missing; "skills root add --registry URL" finds it out`,
		"[{url: https://h.example, form: npm}]": "expected ard or clawhub or skills.sh, not \"npm\"",
		"[{url: http://h.example, form: ard}]":  "registries: what you ask would go over plain http to another machine; use https",
		"[{url: https://u:hunter22@h.example, form: ard}]":                             "registries: base URL holds a user or password; name a variable for the key instead",
		"[{url: https://h.example, form: ard, key_env: hunter-22}]":                    "is it the key itself?",
		"[{url: https://h.example, form: ard, name: a b}]":                             `registries: the name "a b" is not made of letters, digits, dots and hyphens`,
		"[{url: https://a.example, form: ard}, {url: https://a.example/b, form: ard}]": "registries: another one has the name a.example; give one of them another name",
	} {
		must.Write(t, name, "# mine\nregistries: "+text+"\n")
		s := Default()
		err := s.ReadUser(name)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name+":2: ")):
			t.Errorf("%s: error %v; want %s", text, err, want)
		case err != nil && strings.Contains(err.Error(), "hunter"):
			t.Errorf("%s: error %v tells a secret", text, err)
		case strings.Contains(text, "TEAM_KEY"):
			if r := s.Registries[1]; s.Registries[0].Name != "hub.example" || r.Name != "team" || r.KeyEnv != "TEAM_KEY" || !r.Alone {
				t.Errorf("registries %+v", s.Registries)
			}
		}
	}
	must.Write(t, filepath.Join(dir, ".agents", "repertoire.yaml"), "registries: [{url: https://h.example, form: ard}]\n")
	s := Default()
	if err := s.ReadProject(filepath.Join(dir, ".agents", "repertoire.yaml")); err == nil || !strings.Contains(err.Error(), "a project's configuration cannot set this") {
		t.Errorf("error %v", err)
	}
}

// TestEditRegistries adds and removes registries, and leaves the rest of the file as it is.
func TestEditRegistries(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	must.Write(t, name, "# mine\nbundled: false # no\n")
	e, err := Edit(name)
	must.Do(t, err)
	hub := registries.Registry{URL: "https://hub.example", Form: "clawhub", KeyEnv: "HUB_KEY"}
	must.Do(t, hub.Check())
	for _, want := range []bool{true, false} {
		if done, err := e.AddRegistry(hub); err != nil || done != want {
			t.Errorf("done %v, %v", done, err)
		}
	}
	must.Do(t, e.Save())
	if text := must.Read(t, name); !strings.HasPrefix(text, "# mine\nbundled: false # no\n") || !strings.Contains(text, "key_env: HUB_KEY") {
		t.Errorf("%s", text)
	}
	if err := e.RemoveRegistry("hub"); err == nil || !strings.Contains(err.Error(), "did you mean hub.example?") {
		t.Errorf("error %v", err)
	}
	must.Do(t, e.RemoveRegistry("hub.example"))
	must.Do(t, e.Save())
	s := Default()
	must.Do(t, s.ReadUser(name))
	if len(s.Registries) != 0 {
		data, _ := os.ReadFile(name)
		t.Errorf("%s", data)
	}
}
