package agent_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// updating reports whether the flag -update is given, which the tests of instructions define.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// TestFormats compares the definitions in every format; the README in testdata/formats
// explains the files.
func TestFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/formats/*.txtar")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d golden files, error %v", len(files), err)
	}
	c, _ := toolCatalog(t, nil)
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		must.Do(t, err)
		in, want := []txtar.File{}, make(map[string]string)
		var tools []agent.Tool
		for _, f := range archive.Files {
			if want[f.Name] = string(f.Data); f.Name == "tools.json" {
				must.Do(t, json.Unmarshal(f.Data, &tools))
				in = append(in, f)
			}
		}
		if tools == nil {
			a := newAgent(t, agent.Config{Catalog: c, Executor: echo{}, Offer: []string{"read_skill", "search_skills", "get_skill", "list_skills", "read_skill_resource", "run_skill_script"}})
			tools, err = a.Tools(t.Context(), "")
			must.Do(t, err)
		}
		for _, format := range tool.Formats() {
			data, err := tool.Write(format, tools)
			must.Do(t, err)
			checkFormat(t, format, data)
			var b bytes.Buffer
			must.Do(t, json.Indent(&b, data, "", "  "))
			b.WriteByte('\n')
			name := string(format) + ".json"
			if diff := cmp.Diff(want[name], b.String()); diff != "" && !updating() {
				t.Errorf("%s: %s (-want +got)\n%s", file, name, diff)
			}
			in = append(in, txtar.File{Name: name, Data: b.Bytes()})
		}
		if updating() {
			archive.Files = in
			must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o644))
		}
	}
	if _, err := tool.Write("opnai", nil); err == nil || !strings.Contains(err.Error(), "did you mean openai") {
		t.Errorf("an unknown format: %v", err)
	}
	if err := tool.Into("opnai", nil, new(any)); err == nil || !strings.Contains(err.Error(), "did you mean openai") {
		t.Error(err)
	}
	if err := tool.Into(tool.OpenAI, nil, new(int)); err == nil || !strings.Contains(err.Error(), "reading the tools in the form of openai") {
		t.Error(err)
	}
}

// checkFormat checks what the APIs say of each definition.
func checkFormat(t *testing.T, format tool.Format, data []byte) {
	t.Helper()
	var list []map[string]any
	must.Do(t, json.Unmarshal(data, &list))
	switch format {
	case tool.Gemini:
		for _, d := range list[0]["functionDeclarations"].([]any) {
			d := d.(map[string]any)
			if p, ok := d["parameters"].(map[string]any); ok {
				checkGemini(t, d["name"].(string), p)
			}
		}
	case tool.OpenAI:
		for _, d := range list {
			f := d["function"].(map[string]any)
			if d["type"] != "function" || f["strict"] == nil {
				t.Errorf("openai: %v", d)
			}
			if f["strict"] == true {
				checkStrict(t, f["name"].(string), f["parameters"].(map[string]any))
			}
		}
	}
}

// checkStrict checks that an object and those in it are closed and that all properties are
// required.
func checkStrict(t *testing.T, name string, s map[string]any) {
	t.Helper()
	if s["type"] == "object" {
		properties := s["properties"].(map[string]any)
		if required := s["required"].([]any); s["additionalProperties"] != false || len(required) != len(properties) {
			t.Errorf("openai: %s is not strict: %v", name, s)
		}
	}
	for key, value := range s {
		if slices.Contains([]string{"default", "minLength", "format", "$ref", "allOf", "oneOf"}, key) {
			t.Errorf("openai: %s has %s", name, key)
		}
		forEachSchema(key, value, func(in map[string]any) { checkStrict(t, name, in) })
	}
}

// checkGemini checks that a schema has the fields of Gemini's Schema only.
func checkGemini(t *testing.T, name string, s map[string]any) {
	t.Helper()
	known := strings.Fields("type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum")
	for key, value := range s {
		if !slices.Contains(known, key) || key == "enum" && s["type"] != "STRING" {
			t.Errorf("gemini: %s has %s: %v", name, key, s)
		}
		forEachSchema(key, value, func(in map[string]any) { checkGemini(t, name, in) })
	}
}

// forEachSchema calls f for the schemas that a keyword holds.
func forEachSchema(key string, value any, f func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		if key == "items" {
			f(v)
		}
		if key == "properties" {
			for _, p := range v {
				f(p.(map[string]any))
			}
		}
	case []any:
		if key == "anyOf" {
			for _, s := range v {
				f(s.(map[string]any))
			}
		}
	}
}
