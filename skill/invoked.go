package skill

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Who starts a skill, see About.InvokedBy.
const (
	InvokedByUser  = "user"  // by its name; no model is offered it
	InvokedByModel = "model" // the user's client does not list it as a command
)

// InterfaceFile is the file of a skill in which Codex reads whether a model may start it.
const InterfaceFile = "agents/openai.yaml"

// invokedBy reads disable-model-invocation and user-invocable, also in the spellings of other
// clients and in metadata. Who says neither yes nor no has thought of the field, so that a model
// does not get the skill.
func (p *parser) invokedBy(meta map[string]*yaml.Node) string {
	starter := ""
	for _, f := range p.switches(meta, "userinvocable", "userinvokable") {
		if isNo(nodeText(f.node)) {
			starter = InvokedByModel
		}
	}
	for _, f := range p.switches(meta, "disablemodelinvocation") {
		switch text := nodeText(f.node); {
		case text == "" || isNo(text):
			continue
		case !isYes(text):
			p.warn("field-type", f.line, f.key+" is "+quote(text)+", which counts as true", "write true or false")
		}
		starter = InvokedByUser
	}
	return starter
}

// switches returns the fields with one of these keys, whatever their case and hyphens.
func (p *parser) switches(meta map[string]*yaml.Node, keys ...string) (list []field) {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	add := func(f field) {
		if slices.Contains(keys, strings.ToLower(plain.Replace(f.key))) {
			list = append(list, f)
		}
	}
	for _, f := range p.fields {
		add(f)
	}
	for key, node := range meta {
		add(field{key: key, node: node, line: p.lookup("metadata").line})
	}
	return list
}

func isNo(text string) bool  { return spells(text, "false", "no", "off", "n", "0") }
func isYes(text string) bool { return spells(text, "true", "yes", "on", "y", "1") }

func spells(text string, words ...string) bool {
	return slices.Contains(words, strings.ToLower(text))
}

// ReadInterface reads the InterfaceFile of the skill: its policy.allow_implicit_invocation says
// whether a model may start the skill. The path is for problems.
func (s *Skill) ReadInterface(data []byte, path string) {
	root, err := parseMapping(strings.TrimPrefix(string(data), "\ufeff"))
	reserves := false
	if err == nil {
		n := entriesOf(entriesOf(root)["policy"])["allow_implicit_invocation"]
		text := nodeText(n)
		reserves = text != "" && !isYes(text)
	} else if reserves = strings.Contains(string(data), "allow_implicit_invocation"); reserves {
		s.Problems = append(s.Problems, Problem{Rule: "interface-unreadable", Severity: Warning, Path: path,
			Message: fmt.Sprintf("the file is no YAML that can be read (%v), so that only the user starts the skill", err), Hint: "correct the file"})
	}
	if reserves {
		s.InvokedBy = InvokedByUser
	}
}
