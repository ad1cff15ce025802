package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/config"
)

// TestConfigExample: the configuration in the help is one, has every key, and validates
// against the schema.
func TestConfigExample(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config.yaml")
	write(t, name, configExample)
	s := config.Default()
	if err := s.ReadUser(name); err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := yaml.Unmarshal([]byte(configExample), &value); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &value); err != nil {
		t.Fatal(err)
	}
	published, err := json.Marshal(config.Schema(false))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(published, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
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
