package config_test

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
)

func TestSet(t *testing.T) {
	set := func(key, value string) func(*config.Editor) error {
		return func(e *config.Editor) error { _, _, _, err := e.Set(key, value); return err }
	}
	unset := func(key string) func(*config.Editor) error {
		return func(e *config.Editor) error { _, err := e.Unset(key); return err }
	}
	for _, tt := range []struct {
		name, before string
		change       func(*config.Editor) error
		after        string
	}{
		{"no file", "", set("usage", "true"), "usage: true\n"},
		{"a comment stays", "# mine\nusage: false # for now\n", set("usage", "true"), "# mine\nusage: true # for now\n"},
		{"a mapping", "form: full\n", set("usage", "{prompts: true}"), "form: full\nusage:\n  prompts: true\n"},
		{"of a section", "", set("trust.project", "ask"), "trust:\n  project: ask\n"},
		{"beside others", "trust:\n  require_digest: true\n", set("trust.project", "ask"), "trust:\n  project: ask\n  require_digest: true\n"},
		{"no YAML", "", set("schedule", "@every 1m"), "schedule: \"@every 1m\"\n"},
		{"looks like a mapping", "", set("wording.certain", "Note: load {name}"), "wording:\n  certain: \"Note: load {name}\"\n"},
		{"a list", "", set("order", "[user, project]"), "order:\n  - user\n  - project\n"},
		{"as it is", "disturb: 0.05\n", set("disturb", "0.05"), "disturb: 0.05\n"},
		{"unset", "# mine\nusage: true\nform: short\n", unset("usage"), "# mine\nform: short\n"},
		{"unset all of a section", "# mine\ntrust:\n  # why\n  project: ask # for now\nform: short\n", unset("trust.project"), "# mine\n  # why\nform: short\n"},
		{"unset the only setting", "trust: {project: ask}\n", unset("trust.project"), ""},
		{"unset one of two", "trust:\n  project: ask\n  require_digest: true\n", unset("trust.project"), "trust:\n  require_digest: true\n"},
		{"unset what is not there", "form: short\n", unset("usage"), "form: short\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after, problem := edited(t, tt.before, tt.change)
			if after != tt.after || problem != "" {
				t.Errorf("%s\n%q, want\n%q", problem, after, tt.after)
			}
		})
	}
	for _, tt := range []struct {
		name   string
		change func(*config.Editor) error
		want   string
	}{
		{"typo", set("usge", "true"), `there is no setting "usge"; did you mean usage?`},
		{"type", set("disturb", "often"), `disturb: FILE: left as it is: expected a share from 0 to 1`},
		{"choice", set("form", "tiny"), "form: FILE: left as it is: "},
		{"both", set("threshold", ".5"), "threshold: FILE: left as it is: threshold: line 1 sets disturb"},
		{"list", set("roots", "[a]"), `roots holds several values; "skills root" changes them (FILE)`},
		{"inside of a list", unset("agents.reviewer.pinned"), "agents holds several values;"},
		{"inside of a value", set("usage.prompts", "true"), "usage has no key of that name that can be set alone"},
		{"empty", set("form", ""), "form: FILE: left as it is: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, problem := edited(t, "disturb: 0.1\n", tt.change); !strings.HasPrefix(problem, tt.want) {
				t.Errorf("%s, want %s", problem, tt.want)
			}
		})
	}
}
