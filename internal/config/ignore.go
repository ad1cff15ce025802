package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// An Ignore says which findings "skills doctor" leaves out: those that match each of its lists.
// Only doctor knows the rules, so it reports unknown ones: a program must not stop because a
// newer one has more rules.
type Ignore struct {
	Rules   []string     // IDs of rules; nil means all
	Skills  []string     // patterns for names; nil means all, and findings about no skill
	Sources []string     // labels; nil means all, and findings about no source
	Within  []string     // the only kinds of sources in which it holds; nil means all
	Place   search.Place // where a file has it
}

// ignore reads what doctor leaves out: a list of rules, and of mappings. What a project's file
// ignores holds only for the project's own skills.
func (p *parser) ignore() value {
	inside := func(to *Ignore) keys {
		return keys{
			"rules":   list(&to.Rules).doc("rules, see \"skills doctor --rules\"", nil),
			"skills":  list(&to.Skills).doc("patterns for whole names: * ? [a-z] and \\ are special", nil),
			"sources": list(&to.Sources).doc("labels of sources", nil),
		}
	}
	return value{
		schema: func() schema {
			return anyOf(textSchema(), arrayOf(anyOf(textSchema(), objectSchema(inside(new(Ignore))))))
		},
		read: func(n *yaml.Node) error {
			items := []*yaml.Node{n}
			if n.Kind == yaml.SequenceNode {
				items = n.Content
			}
			for _, item := range items {
				entry := Ignore{Place: p.place(item)}
				if !p.user {
					entry.Within = []string{source.KindProject}
				}
				if item.Kind == yaml.MappingNode && item != n {
					if err := mapping(item, "ignore", inside(&entry)); err != nil {
						return err
					}
				} else {
					rule, err := scalar(item, "a rule, or rules, skills and sources")
					if err != nil {
						return err
					}
					entry.Rules = []string{rule}
				}
				if err := checkIgnore(item, entry); err != nil {
					return err
				}
				p.settings.Ignore = append(p.settings.Ignore, entry)
			}
			return nil
		},
	}
}

// checkIgnore returns an error for an entry that names nothing, or has a malformed pattern.
func checkIgnore(n *yaml.Node, entry Ignore) error {
	all := slices.Concat(entry.Rules, entry.Skills, entry.Sources)
	if len(all) == 0 {
		return errorf(n, "ignore: name rules, skills or sources")
	}
	for _, text := range all {
		if strings.TrimSpace(text) == "" {
			return errorf(n, "ignore: a name is missing")
		}
	}
	return checkNames(n, "ignore", search.Rules{Names: entry.Skills})
}

func (p *parser) shownIgnores() (shown []Shown) {
	for _, entry := range p.settings.Ignore {
		set := at(entry.Place)
		value := make(map[string][]string)
		for key, names := range map[string][]string{"rules": entry.Rules, "skills": entry.Skills, "sources": entry.Sources} {
			if len(names) > 0 {
				value[key] = names
			}
		}
		set.Key, set.Value = "ignore", value
		shown = append(shown, set)
	}
	return shown
}
