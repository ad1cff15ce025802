package cli

import "testing"

func TestNameFor(t *testing.T) {
	for _, tt := range []struct{ given, started, want string }{
		{"skills", "/usr/bin/skills", "skills"},
		{"skills", "/usr/bin/repertoire", "repertoire"}, // a link
		{"repertoire", "repertoire", "repertoire"},
		{"repertoire", "REPERTOIRE.EXE", "repertoire"},
		{"skills", "/tmp/cli.test", "skills"},
	} {
		if got := nameFor(tt.given, tt.started); got != tt.want {
			t.Errorf("%s as %s is %q, want %q", tt.given, tt.started, got, tt.want)
		}
	}
}

func TestNamed(t *testing.T) {
	for in, want := range map[string]string{
		"skills: no skill x":                                    "repertoire: no skill x",
		"skills: hint: \"skills --help\" is":                    "repertoire: hint: \"repertoire --help\" is",
		"run \"skills\nindex\" or `skills show`":                "run \"repertoire\nindex\" or `repertoire show`",
		"text:\n\n  skills index\n  git diff | skills search -": "text:\n\n  repertoire index\n  git diff | repertoire search -",
		"  reviewer: # skills --agent reviewer":                 "  reviewer: # repertoire --agent reviewer",
		// no commands
		"the few\nskills that fit":                  "the few\nskills that fit",
		"  skills    the listed skills":             "  skills    the listed skills",
		"the MCP server \"skills\" of these skills": "the MCP server \"skills\" of these skills",
		"~/.agents/skills: not found":               "~/.agents/skills: not found",
		"      skills there are":                    "      skills there are",
	} {
		if got := (env{name: "repertoire"}).named(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
		if got := (env{}).named(in); got != in {
			t.Errorf("%q becomes %q in the program skills", in, got)
		}
	}
}
