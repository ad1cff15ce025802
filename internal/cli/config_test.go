package cli

import (
	"encoding/json"
	"path/filepath"
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
