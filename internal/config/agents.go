package config

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/search"
)

// maxProjectAgents is how many agents a project may have: a server over HTTP makes one
// server for each.
const maxProjectAgents = 64

// agentMap reads the agents by their names.
func (p *parser) agentMap() value {
	return value{
		schema: func() schema { return mapOf(objectSchema(p.agent(new(search.Agent)))) },
		read:   p.agents,
	}
}

func (p *parser) agents(n *yaml.Node) error {
	if len(n.Content)/2 > maxProjectAgents && !p.user {
		return errorf(n, "agents: %d agents; a project may have %d", len(n.Content)/2, maxProjectAgents)
	}
	return pairs(n, "agents", func(name, rules *yaml.Node) error {
		a := &search.Agent{Name: name.Value, Foreign: !p.user, Places: make(map[search.Rule]search.Place)}
		known := p.agent(a)
		if !p.user {
			known["runtime"] = personalOnly("runtime")
		}
		err := mapping(rules, "agent "+a.Name, known)
		if bad, ok := errors.AsType[*search.RuleError](a.Check()); ok && err == nil {
			err = &Error{bad.Place.File, bad.Place.Line, fmt.Errorf("agent %s: %s: %w", a.Name, bad.Rule.Key, bad.Err)}
		}
		if err != nil {
			return err
		}
		return p.addAgent(name, a)
	})
}

// agent returns the keys of an agent.
func (p *parser) agent(a *search.Agent) keys {
	known := keys{
		"include":      p.rules(a, &a.Include, "include").doc("the skills that it may see; without it, those of uses_skills, or else all", nil),
		"exclude":      p.rules(a, &a.Exclude, "exclude").doc("the skills that it may not see", nil),
		"pinned":       p.ruleList(a, "pinned", &a.Pinned).doc("names of skills that it is always offered", nil),
		"prompt":       text(&a.Prompt).doc("its role, which stands first in its system prompt", nil),
		"uses_skills":  p.usedSkills(a).doc(aboutUses(p.user), nil),
		"instructions": text(&a.Instructions).doc("what it is told after the skills that it uses", nil),
		"offer":        choice(&a.Offer, offers()).doc("how many of its skills programs list that may choose", nil),
		"script":       object(a.Name+" script", p.scriptLimits(&a.Script)).doc("bounds of the scripts that it runs", nil),
		"executor":     p.executor(&a.Script.Executor).doc("what runs scripts for it", nil),
	}
	if p.user {
		known["runtime"] = runtimeName(&a.Script.Runtime).doc("runtime of the container executor, such as runsc", nil)
	}
	return known
}

// shownAgent returns what an agent is told, and how its scripts run, by key.
func (p *parser) shownAgent(a *search.Agent) map[string]any {
	known := p.agent(a)
	shown := make(map[string]any)
	for _, key := range []string{"prompt", "instructions", "offer", "executor", "runtime"} {
		if v := known[key].show(); v != nil {
			shown[key] = v
		}
	}
	if limits := p.scriptLimits(&a.Script).shown(); len(limits) > 0 {
		shown["script"] = limits
	}
	if len(a.Uses) > 0 {
		shown["uses_skills"] = p.settings.usesOf(a)
	}
	return shown
}

// addAgent adds an agent. A later file of the user may replace an agent of the same
// name. The file of a project must not, since it could widen what the agent sees.
func (p *parser) addAgent(n *yaml.Node, a *search.Agent) error {
	s := p.settings
	p.note("agents."+a.Name, n)
	i := slices.IndexFunc(s.Agents, func(b *search.Agent) bool { return a.Name == b.Name })
	switch {
	case i < 0:
		s.Agents = append(s.Agents, a)
	case p.user:
		s.Agents[i] = a
	default:
		return errorf(n, "agent %s: your own configuration has an agent of this name, which a project's cannot replace", a.Name)
	}
	return nil
}

// rules reads the rules of an agent. An include that names nothing is an error: it would
// let everything through.
func (p *parser) rules(a *search.Agent, r *search.Rules, key string) value {
	what := a.Name + " " + key
	v := object(what, keys{
		"names":   p.ruleList(a, key+".names", &r.Names).doc("patterns for whole names: * ? [a-z] and \\ are special", nil),
		"tags":    p.ruleList(a, key+".tags", &r.Tags).doc("tags", nil),
		"sources": p.ruleList(a, key+".sources", &r.Sources).doc("labels of sources", nil),
	})
	return v.check(func(n *yaml.Node) error {
		if len(r.Names)+len(r.Tags)+len(r.Sources) == 0 && key == "include" {
			return errorf(n, "%s names nothing; leave it out or say what", what)
		}
		return nil
	})
}

// ruleList reads the rules of an agent that stand under a key, and notes their places.
func (p *parser) ruleList(a *search.Agent, key string, to *[]string) value {
	v := list(to)
	return v.check(func(n *yaml.Node) error {
		items, err := items(n)
		for _, item := range items {
			a.Places[search.Rule{Key: key, Text: item.Value}] = p.place(item)
		}
		return err
	})
}
