package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingResources(t *testing.T) {
	have := map[string]string{"a/references/here.md": "", "a/scripts/run.py": "", "a/my file.md": "", "a/shared/x.md": "", "a/latest": "-> shared"}
	tests := []struct {
		name string
		body string
		want []string // rules
	}{
		{"present", "[a](references/here.md) [b](./references/here.md#part) [c](references) [d](my%20file.md \"title\") `scripts/run.py`", nil},
		{"behind a linked folder", "[a](latest/x.md)", nil},
		{"link", "text\n\n[a](references/gone.md)\n[again](references/gone.md)", []string{"missing-resource"}},
		{"any folder", "[a](docs/gone.md)", []string{"missing-resource"}},
		{"in text", "Run scripts/gone.py.", []string{"missing-resource"}},
		{"in code", "```\npython scripts/gone.py --x\n```", []string{"missing-resource"}},
		{"link in code", "```\n[a](gone.md)\n```\n`[b](gone.md)`", nil},
		{"after code", "~~~\n```\n~~~\n[a](gone.md)", []string{"missing-resource"}},
		{"addresses", "[a](https://example.com/scripts/x.py) [b](#part) [c](/abs.md) [d](mailto:x@example.com) https://example.com/assets/x.png", nil},
		{"placeholders", "scripts/<name>.py scripts/*.py references/{topic}.md [a]({path}) scripts/your-$X.py", nil},
		{"elsewhere", "/usr/share/scripts/x.py other/scripts/x.py my-scripts/x.py ~/scripts/x.py", nil},
		{"folder without a file", "Look into scripts/ and references/.", nil},
		{"outside", "[a](../shared.md)", []string{"outside-resource"}},
		{"other skill", "[a](../other/SKILL.md)", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"a/SKILL.md": "---\nname: a\ndescription: Does a.\n---\n" + test.body + "\n"}
			for name, text := range have {
				files[name] = text
			}
			sk := load(t, open(t, folder(t, files), nil), "a/SKILL.md")
			var got []string
			for _, p := range sk.Problems {
				got = append(got, p.Rule)
				if sk.BodyLine > 0 && p.Line == 0 {
					t.Errorf("%v: no line", p)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, sk.Problems)
			}
		})
	}
}
