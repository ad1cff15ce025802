package skill_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestInvokedBy: who starts a skill, in all spellings; what is unclear keeps it from models.
func TestInvokedBy(t *testing.T) {
	const user, model = skill.InvokedByUser, skill.InvokedByModel
	for lines, want := range map[string]string{
		"": "", "disable-model-invocation: true": user, "disable-model-invocation: false": "", "disable-model-invocation:": "", "disable-model-invocation: \"\"": "",
		"disable-model-invocation: yes": user, "disable-model-invocation: 'True'": user, "disable-model-invocation: on": user, "disable-model-invocation: 1": user, "disable-model-invocation: \"no\"": "",
		"disable_model_invocation: true": user, "disableModelInvocation: true": user, "Disable-Model-Invocation: TRUE": user, "disable-model-invocation: always": user,
		"metadata:\n  disable-model-invocation: true": user, "metadata:\n  disable-model-invocation: \"false\"": "", "x: &on true\ndisable-model-invocation: *on": user,
		"disable-model-invocation: true # only me": user, "disable-model-invocation: false\ndisable_model_invocation: true": user,
		"user-invocable: false": model, "user-invocable: true": "", "user-invokable: no": model, "userInvocable: off": model,
		"user-invocable: false\ndisable-model-invocation: true": user, "model-invocation: true": "",
	} {
		s, err := skill.Parse(strings.NewReader("---\nname: x\ndescription: Does x.\n"+lines+"\n---\nBody\n"), "x/SKILL.md")
		must.Do(t, err)
		if s.InvokedBy != want {
			t.Errorf("%q: started by %q, want %q", lines, s.InvokedBy, want)
		}
		if unclear := strings.Contains(fmt.Sprint(s.Problems), "counts as true"); unclear != strings.Contains(lines, "always") {
			t.Errorf("%q: problems %v", lines, s.Problems)
		}
	}
}

// TestReadInterface: the same for the file of Codex.
func TestReadInterface(t *testing.T) {
	for text, want := range map[string]string{
		"policy:\n  allow_implicit_invocation: false\n": skill.InvokedByUser, "policy: {allow_implicit_invocation: false}": skill.InvokedByUser,
		"\ufeffpolicy:\r\n  allow_implicit_invocation: \"False\"\r\n": skill.InvokedByUser, `{"policy": {"allow_implicit_invocation": false}}`: skill.InvokedByUser,
		"policy:\n  allow_implicit_invocation: never\n": skill.InvokedByUser, "policy: [allow_implicit_invocation: false\n": skill.InvokedByUser,
		"policy:\n  allow_implicit_invocation: true\n": "", "policy:\n  allow_implicit_invocation:\n": "", "allow_implicit_invocation: false\n": "", "interface:\n  display_name: X\n": "", "": "", "[": "",
		"policy: no\n": "",
	} {
		var s skill.Skill
		s.ReadInterface([]byte(text), "x/"+skill.InterfaceFile)
		if s.InvokedBy != want {
			t.Errorf("%q: started by %q, want %q", text, s.InvokedBy, want)
		}
	}
}

func FuzzReadInterface(f *testing.F) {
	f.Add("policy:\n  allow_implicit_invocation: false\n")
	f.Fuzz(func(t *testing.T, text string) {
		var s skill.Skill
		s.ReadInterface([]byte(text), "x/"+skill.InterfaceFile)
		if s.InvokedBy != "" && !strings.Contains(text, "allow_implicit_invocation") && !strings.Contains(text, `\`) && !strings.Contains(text, "&") && !strings.Contains(text, "!") {
			t.Errorf("%q reserves the skill", text)
		}
	})
}
