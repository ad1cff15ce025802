package edit

import (
	"errors"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

const oldScript, newScript = "// 1\nconst s =\n/* settings */\n{}\n/* end of settings */\nrun(s)\n", "// 2\nconst s =\n/* settings */\n{}\n/* end of settings */\nrun(s, 2)\n"

// TestScript: a script is made around its values, renewed by an edit, and empty without values.
func TestScript(t *testing.T) {
	at := Path{"hooks", "a", 0}
	data, _, err := Set(Script(oldScript), nil, at, Object{{Key: "command", Value: "x"}})
	must.Do(t, err)
	data, tree, err := Set(Script(newScript), data, at.With("command"), "y")
	must.Do(t, err)
	want := "// 2\nconst s =\n/* settings */\n{\n  \"hooks\": {\n    \"a\": [\n      {\n        \"command\": \"y\"\n      }\n    ]\n  }\n}\n/* end of settings */\nrun(s, 2)\n"
	if string(data) != want || Lookup(tree, at.With("command")) != "y" {
		t.Errorf("%s\n%v", data, tree)
	}
	for len(at) > 0 {
		if data, _, err = Remove(Script(newScript), data, at); err != nil {
			t.Fatal(err)
		}
		at = at[:len(at)-1]
	}
	if len(data) > 0 {
		t.Errorf("what is left is %q", data)
	}
}

// TestScriptForeign: a file without the marks is not touched.
func TestScriptForeign(t *testing.T) {
	for _, text := range []string{"run()\n", "/* settings */\n{}\n", "{}"} {
		if out, _, err := Set(Script(newScript), []byte(text), Path{"hooks"}, "x"); !errors.Is(err, errForeign) {
			t.Errorf("%q becomes %q, %v", text, out, err)
		}
	}
}
