package cli

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestConfigExample: the configuration in the help is one, has every key, and validates
// against the schema.
func TestConfigExample(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	must.Write(t, name, configExample)
	s := config.Default()
	must.Do(t, s.ReadUser(name))
	var value map[string]any
	must.Do(t, yaml.Unmarshal([]byte(configExample), &value))
	plain, err := json.Marshal(value)
	must.Do(t, err)
	must.Do(t, json.Unmarshal(plain, &value))
	published, err := json.Marshal(config.Schema(false))
	must.Do(t, err)
	var schema jsonschema.Schema
	must.Do(t, json.Unmarshal(published, &schema))
	resolved, err := schema.Resolve(nil)
	must.Do(t, err)
	if err := resolved.Validate(value); err != nil {
		t.Error(err)
	}
	left := map[string]bool{"threshold": true, "reranker": true, "user_dir": true, "install_dir": true, "store": true, "catalog": true}
	for key := range schema.Properties {
		if _, ok := value[key]; !ok && !left[key] {
			t.Errorf("the help does not show the key %q", key)
		}
	}
}

// TestEditTogether: a change is made to what another command has just written, not lost or refused.
func TestEditTogether(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	s := newSession(newEnv("skills", strings.NewReader(""), io.Discard, io.Discard))
	s.config = name
	calls := 0
	must.Do(t, editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
		if calls++; calls == 1 {
			must.Write(t, name, "disturb: 0.2\n")
		}
		_, _, changed, err := e.Set("usage", "true")
		done(changed, "set", "is set")
		return err
	}))
	if got := must.Read(t, name); calls != 2 || got != "disturb: 0.2\nusage: true\n" {
		t.Errorf("after %d calls: %q", calls, got)
	}
}
