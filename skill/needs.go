package skill

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Needs is what a skill needs to work.
type Needs struct {
	Skills   []string `json:"skills,omitempty"`   // names of skills
	Either   []string `json:"either,omitempty"`   // each a skill, if the catalog has one of that name, or else a command
	Optional []string `json:"optional,omitempty"` // names of skills, if there are such skills, else nothing
	Commands []string `json:"commands,omitempty"` // all of them
	AnyOf    []string `json:"anyOf,omitempty"`    // at least one of these commands
	Env      []string `json:"env,omitempty"`      // names of environment variables
}

// Lists returns all lists, for code that stores them one after the other. The order never
// changes.
func (n *Needs) Lists() [needsLists]*[]string {
	return [needsLists]*[]string{&n.Skills, &n.Either, &n.Optional, &n.Commands, &n.AnyOf, &n.Env}
}

const needsLists = 6 // fields of Needs

// Empty reports whether the skill needs nothing.
func (n *Needs) Empty() bool {
	return len(n.Skills)+len(n.Either)+len(n.Optional)+len(n.Commands)+len(n.AnyOf)+len(n.Env) == 0
}

const (
	maxNeeds   = 64 // entries of one list of Needs
	maxCommand = 64 // bytes of the name of a command or a variable
)

// A needsReader collects the needs of one skill from the fields that authors use.
type needsReader struct {
	*parser
	Needs
	line int // of the field that is read, for problems
}

// needs reads the fields that say what the skill needs:
//
//	requires: [pdf]                      skills
//	requires: gh                         a skill or a command
//	requires: {skills: …, commands: …}   also bins, anyBins and env
//	metadata: {requires: …}              the same, but each entry of a list is a skill or a command
//	metadata: {openclaw: {requires: …}}  the form of OpenClaw, whose older name is clawdbot
//	dependencies: […]                    skills, if they have these names; often packages of a language
func (p *parser) needs(meta map[string]*yaml.Node) Needs {
	r := needsReader{parser: p}
	own := p.lookup("requires")
	r.line = own.line
	r.requires(own.node, &r.Skills)
	r.line = p.lookup("metadata").line
	r.requires(meta["requires"], &r.Either)
	for _, client := range []string{"openclaw", "clawdbot"} {
		m := entriesOf(meta[client])
		if nodeText(m["always"]) == "true" {
			continue // the author wants it offered whatever is missing
		}
		if !r.mapping(m["requires"]) {
			r.add(m["requires"], &r.Either) // a text or a list
		}
	}
	for _, key := range []string{"dependencies", "depends_on", "depends-on"} {
		for _, n := range []*yaml.Node{p.lookup(key).node, meta[key]} {
			if skills, ok := entriesOf(n)["skills"]; ok {
				n = skills
			}
			r.optional(n)
		}
	}
	for _, list := range r.Lists() {
		*list = distinct(*list)
		if len(*list) > maxNeeds {
			p.warn("needs-too-many", own.line, fmt.Sprintf("it needs %d things of one kind; the first %d count", len(*list), maxNeeds), "")
			*list = slices.Clone((*list)[:maxNeeds])
		}
	}
	return r.Needs
}

// requires reads the value of a requires field. The entries of a list go to list. A text
// may name a command as well as a skill.
func (r *needsReader) requires(n *yaml.Node, list *[]string) {
	n = target(n)
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		if !r.mapping(n) && len(n.Content) > 0 {
			r.warn("needs-unclear", r.line, "requires has none of the keys skills, commands, bins, anyBins and env", "write the names below one of them")
		}
	case n.Kind == yaml.ScalarNode:
		r.add(n, &r.Either)
	default:
		r.add(n, list)
	}
}

// mapping reads a requires field that is a map. It returns false if the map has none of the
// keys.
func (r *needsReader) mapping(n *yaml.Node) (known bool) {
	if n = target(n); n == nil || n.Kind != yaml.MappingNode {
		return false
	}
	lists := map[string]*[]string{"skills": &r.Skills, "commands": &r.Commands, "bins": &r.Commands, "anybins": &r.AnyOf, "env": &r.Env}
	for key, value := range pairs(n) { // in the order of the file
		if list := lists[strings.ToLower(strings.ReplaceAll(key.Value, "_", ""))]; list != nil {
			known = true
			r.add(value, list)
		}
	}
	return known
}

// add adds the entries of n to one of the lists, and reports those that are no names.
func (r *needsReader) add(n *yaml.Node, list *[]string) {
	for _, text := range needItems(n) {
		name, optional := needName(text)
		to := list
		switch {
		case optional && (list == &r.Skills || list == &r.Either):
			to = &r.Optional
		case optional:
			continue
		case list == &r.Either && !isCommand(name):
			to = &r.Skills
		}
		if !r.fits(name, to) {
			r.warn("needs-unclear", r.line, quote(text)+" is no name of what the skill requires", "write one name in each entry of a list")
			continue
		}
		*to = append(*to, name)
	}
}

// fits reports whether name can be in a list.
func (r *needsReader) fits(name string, list *[]string) bool {
	switch list {
	case &r.Commands, &r.AnyOf, &r.Either:
		return isCommand(name)
	case &r.Env:
		return isCommand(name) && !strings.ContainsAny(name, "-.+")
	}
	return strings.TrimLeft(name, "./:-") == name && strings.ContainsFunc(name, unicode.IsLetter) &&
		utf8.RuneCountInString(name) <= maxNameKept && !cannotBeName(name)
}

// optional adds what may be names of skills. It reports nothing: most entries that are none
// are packages.
func (r *needsReader) optional(n *yaml.Node) {
	for _, text := range needItems(n) {
		if name, _ := needName(text); r.fits(name, &r.Optional) {
			r.Optional = append(r.Optional, name)
		}
	}
}

// needItems returns the names in a list or in a text, between commas or blanks.
func needItems(n *yaml.Node) (items []string) {
	var list []string
	if n = target(n); n == nil || n.Kind != yaml.ScalarNode {
		list = listItems(n)
	} else {
		list = strings.FieldsFunc(strings.Trim(nodeText(n), `\[]`), func(c rune) bool { return strings.ContainsRune(",，、\n", c) })
	}
	for _, text := range list {
		text = strings.Trim(text, " \t\"'#")
		if names := strings.Fields(text); !slices.ContainsFunc(names, isProse) {
			items = append(items, names...)
		} else if text != "" {
			items = append(items, text)
		}
	}
	return items
}

// isProse reports whether a word shows that the text around it is a sentence, whose words are
// no names, or a name with a remark: "A browser and Python 3", "gh (GitHub CLI)".
func isProse(word string) bool {
	name, _, _ := strings.Cut(word, "(")
	bare, _ := needName(name)
	mixed := bare != "" && unicode.IsUpper(rune(bare[0])) && (len(bare) == 1 || strings.ToUpper(bare) != bare)
	return name != word || mixed || !strings.ContainsFunc(bare, unicode.IsLetter) || !isCommand(strings.ReplaceAll(bare, "/", "")) ||
		proseWords()[bare]
}

// proseWords are words of sentences about what a skill needs, which are no names.
var proseWords = words.Set("a access an and any at by for from in installed is must needs of on only optional or required the to version via with")

// needName takes from an entry what is not part of the name: a version ("python>=3.10") and
// a remark ("gh (GitHub CLI)"). The remark may say that the thing is optional.
func needName(text string) (name string, optional bool) {
	name, remark, _ := strings.Cut(text, "(")
	if at := strings.IndexAny(name, "<>=~!^@"); at > 0 {
		name = name[:at]
	}
	return strings.TrimSpace(name), strings.Contains(strings.ToLower(remark), "optional")
}

// isCommand reports whether s can be the name of a command: no path and no sentence.
func isCommand(s string) bool {
	return len(s) <= maxCommand && strings.Trim(s, "-.+") != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c >= utf8.RuneSelf || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.+", c)
	})
}
