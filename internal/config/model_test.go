package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestModel: which endpoint, model and key hold, and that the key of one server goes to no
// other.
func TestModel(t *testing.T) {
	file := config.Model{BaseURL: "http://127.0.0.1:1/v1", Model: "of-file", KeyEnv: "FILE_KEY"}
	for _, c := range []struct {
		name        string
		flags, file config.Model
		env         map[string]string
		want        config.Model
	}{
		{name: "nothing is the default", env: map[string]string{"OPENAI_API_KEY": "sk-1"}},
		{name: "the file", file: file, want: file},
		{name: "the file before OPENAI_BASE_URL", file: file, env: map[string]string{"OPENAI_BASE_URL": "http://o/v1"}, want: file},
		{name: "OPENAI_BASE_URL", env: map[string]string{"OPENAI_BASE_URL": "http://o/v1"}, want: config.Model{BaseURL: "http://o/v1"}},
		{name: "variables before the file", file: file, env: map[string]string{"REPERTOIRE_BASE_URL": "http://r/v1", "REPERTOIRE_MODEL": "r"},
			want: config.Model{BaseURL: "http://r/v1", Model: "r"}},
		{name: "flags before variables", file: file, flags: config.Model{BaseURL: "http://f/v1", Model: "f", KeyEnv: "F"},
			env: map[string]string{"REPERTOIRE_BASE_URL": "http://r/v1", "REPERTOIRE_MODEL": "r"}, want: config.Model{BaseURL: "http://f/v1", Model: "f", KeyEnv: "F"}},
		{name: "another model of the file's server", file: file, flags: config.Model{Model: "f"}, want: config.Model{BaseURL: file.BaseURL, Model: "f", KeyEnv: "FILE_KEY"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"REPERTOIRE_BASE_URL", "REPERTOIRE_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"} {
				t.Setenv(name, c.env[name])
			}
			if got := c.file.Choose(c.flags); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestModelKeys: a mistake in the model is told with its line, and no key with it.
func TestModelKeys(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	for text, want := range map[string]string{
		"model: {base_url: \"http://h/v1\", model: m, key_env: MY_KEY}": "",
		"model: {model: m, key_env: \"-\"}":                             "",
		"model:\n  base_url: h/v1":                                      ":2: model: base URL does not start with",
		"model: {base_url: \"http://u:sk-secret@h/v1\"}":                "holds a user or password",
		"model: {key_env: sk-secret}":                                   "is it the key itself?",
		"model: {key: sk-secret}":                                       `no key "key"`,
	} {
		must.Write(t, name, text+"\n")
		s := config.Default()
		err := s.ReadUser(name)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-secret")) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
