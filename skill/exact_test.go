package skill_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/skill"
)

func TestExact(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: a\n---\n":                            `{"name":"a"}`,
		"---\r\nname: a\r\nb: |\r\n  c\r\n---\r\n":       `{"b":"c\n","name":"a"}`,
		"---\nname: a\n---":                              `{"name":"a"}`,
		"---\na: 014\nb: 1_0\nc: 2026-01-01\n---\n":      `{"a":14,"b":"1_0","c":"2026-01-01"}`,
		"---\na: &x {1: 2}\nb: *x\n<<: *x\n---\n":        `{"\u003c\u003c":{"1":2},"a":{"1":2},"b":{"1":2}}`,
		"---\na: \"b\\tc\"\n# --- comment\n---\nx\u200b": `{"a":"b\tc"}`,
		"---\na: x --- y\n---\n":                         `{"a":"x --- y"}`,
	} {
		got, err := skill.Exact(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if out, _ := json.Marshal(got); string(out) != want {
			t.Errorf("%q: %s, want %s", text, out, want)
		}
	}
	for text, want := range map[string]string{
		"":                                    "first line",
		"\uFEFF---\na: b\n---\n":              "first line",
		"\n---\na: b\n---\n":                  "first line",
		"--- \na: b\n---\n":                   "first line",
		"---\na: b\n":                         "never closed",
		"---\na: b\n---x\n---\n":              "for some readers",
		"---\na: b\n...\n---\n":               "for some readers",
		"---\na: b\u200b\n---\n":              "zero-width",
		"---\na: b\xff\n---\n":                "UTF-8",
		"---\na: b\rc\n---\n":                 "carriage return",
		"---\na: b: c\n---\n":                 "yaml",
		"---\n- a\n---\n":                     "mapping",
		"---\n---\n":                          "mapping",
		"---\na: b\na: c\n---\n":              "twice",
		"---\na: {b: 1, b: 2}\n---\n":         "twice",
		"---\na: [.inf]\n---\n":               "JSON",
		"---\na: \"\\u202e\"\n---\n":          "escapes",
		"---\na: \"\\r\\n\"\n---\n":           "escapes",
		"---\na: !!str 1\n---\n":              "tag",
		"---\n? [a]\n: b\n---\n":              "key",
		"---\n~: b\n---\n":                    "key",
		"---\n1.5: b\n---\n":                  "key",
		"---\na: " + strings.Repeat("[", 100): "never closed",
		"---\na: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n---\n": "nested",
		"---\na: " + strings.Repeat("x", skill.MaxFrontmatter) + "\n---\n":           "larger",
		"---\na: b\n---\n" + strings.Repeat("x", skill.MaxFile):                      "larger",
	} {
		got, err := skill.Exact(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// FuzzExact checks that Parse returns what Exact returns.
func FuzzExact(f *testing.F) {
	f.Add("name: a\ndescription: b\nx: [1, {y: 2.5}, ~, true, '0x1F', 0x1F]\n")
	f.Add("name: \"a\\tb\"\r\ndescription: >\r\n  b\r\n  c\r\n")
	f.Add("a: &x 1\nb: *x\n\"c d\": |-\n  e\u2028f\n")
	f.Fuzz(func(t *testing.T, block string) {
		text := "---\n" + block + "\n---\nBody.\n"
		exact, err := skill.Exact(text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(exact); err != nil {
			t.Fatalf("%q has no JSON form: %v", block, err)
		}
		s, err := skill.Parse(strings.NewReader(text), "x/SKILL.md")
		if err != nil {
			return // it lacks a description, or has one that is none
		}
		if !reflect.DeepEqual(s.Frontmatter, exact) {
			t.Errorf("%q: %#v, Parse has %#v", block, exact, s.Frontmatter)
		}
	})
}
