package skill_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/skill"
)

func TestParseEvals(t *testing.T) {
	yes := []skill.Eval{{"a", true}}
	for _, tt := range []struct {
		text string
		want []skill.Eval
		err  string
	}{
		{`{"should_trigger":["a"],"should_not_trigger":["b"]}`, []skill.Eval{{"a", true}, {"b", false}}, ""},
		{`{"should_not_trigger":[{"prompt":"b"}]}`, []skill.Eval{{"b", false}}, ""},
		{`{"skill_name":"x","evals":[{"id":1,"prompt":"a","expected_output":"z"}]}`, yes, ""},
		{`{"evals":[{"query":"a","should_trigger":true},{"input":"b","should_trigger":false}]}`, []skill.Eval{{"a", true}, {"b", false}}, ""},
		{`["a"]`, yes, ""},
		{"\ufeff [{\"query\":\"a\"}] ", yes, ""},
		{`[{"prompt":"a"},{"prompt":" "},{"files":[]}]`, yes, ""},
		{`{"prompts":["a",{"prompt":"b","should_trigger":false}]}`, []skill.Eval{{"a", true}, {"b", false}}, ""},
		{`{}`, nil, "no prompts"},
		{`[]`, nil, "no prompts"},
		{``, nil, "line 1: unexpected end"},
		{"[\n\"a\",\n}", nil, "line 3: invalid character"},
		{"\n\n[\n\"a\",\n}", nil, "line 5: invalid character"},
		{`[1]`, nil, "line 1: this is neither a prompt in quotes nor an object with a prompt"},
		{"{\"evals\": [\n \"a\",\n {\n\"prompt\": 1}\n]}", nil, "line 3: this is neither"},
		{"{\"note\": [{}],\n\n\"evals\":\"a\"}", nil, "line 3: evals is not a list"},
		{`"a"`, nil, "line 1: it is neither a list nor an object"},
		{`{"evals":null,"Prompts":["a"],"note":{"evals":1}}`, yes, ""},
	} {
		got, err := skill.ParseEvals([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.err)
		}
	}
}

// FuzzParse: no file does harm, and each prompt that is read can be asked.
func FuzzParseEvals(f *testing.F) {
	for _, text := range []string{`["a", {"prompt": "b"}]`, `{"should_trigger":["a"],"should_not_trigger":[{"query":"b"}]}`, `{"evals":[{"input":"a","should_trigger":null}],"prompts":"x"}`, "\ufeff[", "null", `{"evals":[null]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := skill.ParseEvals(data)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d prompts, error %v", len(list), err)
		}
		for _, e := range list {
			if strings.TrimSpace(e.Prompt) == "" {
				t.Errorf("an empty prompt of %q", data)
			}
		}
	})
}
