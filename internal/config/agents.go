package config

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// maxProjectAgents is how many agents a project may have: a server over HTTP makes one
// server for each.
const maxProjectAgents = 64

func (p *parser) agents(n *yaml.Node) error {
	if len(n.Content)/2 > maxProjectAgents && !p.user {
		return p.errorf(n, "agents: %d agents; a project may have %d", len(n.Content)/2, maxProjectAgents)
	}
	return p.pairs(n, "agents", func(name, rules *yaml.Node) error {
		a := &search.Agent{Name: name.Value}
		var pinned *yaml.Node
		err := p.mapping(rules, "agent "+a.Name, keys{
			"include": p.rules(&a.Include, a.Name+" include"),
			"exclude": p.rules(&a.Exclude, a.Name+" exclude"),
			"pinned":  func(n *yaml.Node) error { pinned = n; return p.list(&a.Pinned)(n) },
		})
		if err == nil {
			err = p.checkPins(pinned, a)
		}
		if err != nil {
			return err
		}
		return p.addAgent(name, a)
	})
}

// addAgent adds an agent. A later file of the user may replace an agent of the same
// name. The file of a project must not, since it could widen what the agent sees.
func (p *parser) addAgent(n *yaml.Node, a *search.Agent) error {
	s := p.settings
	i := slices.IndexFunc(s.Agents, func(b *search.Agent) bool { return a.Name == b.Name })
	switch {
	case i < 0:
		s.Agents = append(s.Agents, a)
	case p.user:
		s.Agents[i] = a
	default:
		return p.errorf(n, "agent %s: your own configuration has an agent of this name, which a project's cannot replace", a.Name)
	}
	return nil
}

// rules reads the rules of an agent. Rules that name nothing are an error: an
// empty include would let everything through.
func (p *parser) rules(r *search.Rules, what string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		err := p.mapping(n, what, keys{"names": p.globs(&r.Names, what), "tags": p.list(&r.Tags), "sources": p.list(&r.Sources)})
		if err == nil && len(r.Names)+len(r.Tags)+len(r.Sources) == 0 {
			err = p.errorf(n, "%s names nothing; leave it out or say what", what)
		}
		return err
	}
}

// globs reads a list of patterns.
func (p *parser) globs(to *[]string, what string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := p.list(to)(n); err != nil {
			return err
		}
		for i, glob := range *to {
			if _, err := path.Match(words.NameKey(glob), ""); err != nil {
				return p.errorf(itemOf(n, i), "%s names: %q is not a pattern (* ? [a-z] and \\ are special)", what, glob)
			}
		}
		return nil
	}
}

// checkPins returns an error for a pinned skill that the agent's own rules keep out.
func (p *parser) checkPins(pinned *yaml.Node, a *search.Agent) error {
	for i, name := range a.Pinned {
		if strings.Contains(name, "/") {
			continue // with a source, which only the catalog knows
		}
		if slices.ContainsFunc(a.Exclude.Names, matches(name)) {
			return p.errorf(itemOf(pinned, i), "agent %s: pinned skill %q is excluded too; remove one of the two", a.Name, name)
		}
		in := a.Include
		if len(in.Names) > 0 && len(in.Tags)+len(in.Sources) == 0 && !slices.ContainsFunc(in.Names, matches(name)) {
			return p.errorf(itemOf(pinned, i), "agent %s: pinned skill %q is not included; add it to the names of include, or remove the pin", a.Name, name)
		}
	}
	return nil
}

// matches returns a function that reports whether a pattern matches a name.
func matches(name string) func(glob string) bool {
	return func(glob string) bool {
		ok, err := path.Match(words.NameKey(glob), words.NameKey(name))
		return ok && err == nil
	}
}

// itemOf returns the node of item i of a list; a single text is a list of one.
func itemOf(n *yaml.Node, i int) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		return n.Content[i]
	}
	return n
}
