package config_test

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// validator returns a function that validates YAML against the published schema.
func validator(t *testing.T, project bool) func(text string) error {
	t.Helper()
	data, err := json.Marshal(config.Schema(project))
	must.Do(t, err)
	var s jsonschema.Schema
	must.Do(t, json.Unmarshal(data, &s))
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	must.Do(t, err)
	return func(text string) error {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return err
		}
		if value == nil {
			value = map[string]any{}
		}
		data, err := json.Marshal(value)
		must.Do(t, err)
		must.Do(t, json.Unmarshal(data, &value))
		return resolved.Validate(value)
	}
}

// TestSchemaKeys: the parser knows each key of the schema, at any depth, and no other.
func TestSchemaKeys(t *testing.T) {
	for _, project := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), ".agents", "repertoire.yaml")
		w := schemaWalk{func(path []string, key string) {
			must.Write(t, name, nested(append(slices.Clone(path), key)))
			if got := readAs(name, project); strings.Contains(got, "no key") {
				t.Errorf("the schema has %v, key %q: %s", path, key, got)
			}
			must.Write(t, name, nested(append(slices.Clone(path), key+"x")))
			if got := readAs(name, project); !strings.Contains(got, "no key") {
				t.Errorf("the parser reads %v, key %q: %s", path, key+"x", got)
			}
		}, 0}
		data, err := json.Marshal(config.Schema(project))
		must.Do(t, err)
		var top map[string]any
		must.Do(t, json.Unmarshal(data, &top))
		w.walk(top, nil)
		if w.keys < map[bool]int{false: 60, true: 10}[project] {
			t.Errorf("found %d keys", w.keys)
		}
	}
}

// A schemaWalk calls found for each key of a schema.
type schemaWalk struct {
	found func(path []string, key string)
	keys  int
}

func (w *schemaWalk) walk(s map[string]any, path []string) {
	below := func(v any, step ...string) {
		if s, ok := v.(map[string]any); ok {
			w.walk(s, slices.Concat(path, step))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for key, v := range properties {
		w.keys++
		w.found(path, key)
		below(v, key)
	}
	list, _ := s["anyOf"].([]any)
	for _, v := range list {
		needed, _ := v.(map[string]any)["required"].([]any)
		if len(needed) > 0 && path[len(path)-1] == "[]" {
			below(v, "*"+needed[0].(string))
		} else {
			below(v)
		}
	}
	below(s["items"], "[]")
	below(s["additionalProperties"], "some")
}

// nested returns YAML in which a path of keys leads to an empty list. "[]" is an item of a
// list; "*key" says that the mapping also has this key.
func nested(path []string) string {
	var text string
	for i, key := range path {
		switch {
		case key == "[]":
			text += "["
		case strings.HasPrefix(key, "*"):
		case i > 0 && strings.HasPrefix(path[i-1], "*") && key != path[i-1][1:]:
			value := map[string]string{"path": "x"}[path[i-1][1:]]
			text += "{" + path[i-1][1:] + ": " + cmp.Or(value, `"https://x/y"`) + ", " + key + ": "
		default:
			text += "{" + key + ": "
		}
	}
	text += "[]"
	for i := range path {
		switch key := path[len(path)-1-i]; {
		case key == "[]":
			text += "]"
		case !strings.HasPrefix(key, "*"):
			text += "}"
		}
	}
	return text + "\n"
}

// readAs returns the error of reading a file as that of a project or of the user.
func readAs(name string, project bool) string {
	s := config.Default()
	read := s.ReadUser
	if project {
		read = s.ReadProject
	}
	if err := read(name); err != nil {
		return err.Error()
	}
	return ""
}

// TestSchemaRefuses: the schema finds mistakes that the parser finds.
func TestSchemaRefuses(t *testing.T) {
	user, project := validator(t, false), validator(t, true)
	for _, text := range []string{"xyzzy: 1", "user: yes please", "order: [usr]", "trust: {project: never}", "roots: [{label: x}]", "roots: x",
		"roots: [{git: x, url: y}]", "disturb: 5", "max_file: -1", "bundled: [none]", "agents: {a: {includes: {}}}", "limits: {files: many}", "reranker: {}"} {
		if user(text) == nil {
			t.Errorf("%s: no error", text)
		}
	}
	for _, text := range []string{"order: [user]", "roots: [{git: \"https://x/y\"}]"} {
		if project(text) == nil || user(text) != nil {
			t.Errorf("%s: %v, of a project %v", text, user(text), project(text))
		}
	}
}
