package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/search"
)

// scripts reads how the scripts of skills run.
func (p *parser) scripts(to *[]search.ScriptRule) value {
	return value{
		schema: func() schema { return arrayOf(objectSchema(p.scriptKeys(new(search.ScriptRule))).required("skills")) },
		read: func(n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return errorf(n, "scripts must be a list of mappings with skills and what holds for them")
			}
			*to = nil
			for _, item := range n.Content {
				r := search.ScriptRule{Place: p.place(item)}
				if err := mapping(item, "scripts", p.scriptKeys(&r)); err != nil {
					return err
				}
				if len(r.Skills) == 0 {
					return errorf(item, "scripts: skills are missing; name them, or write [\"*\"] for all")
				}
				*to = append(*to, r)
			}
			return nil
		},
	}
}

// scriptKeys returns the keys of one rule about scripts.
func (p *parser) scriptKeys(r *search.ScriptRule) keys {
	known := p.scriptLimits(&r.Script)
	known["skills"] = list(&r.Skills).check(checkPatterns).doc("patterns for whole names: * ? [a-z] and \\ are special", nil)
	known["sources"] = list(&r.Sources).doc("labels of the only sources in which it holds; without it, it only narrows what skills of a project may do", nil)
	known["executor"] = p.executor(&r.Executor).doc("what runs them", nil)
	known["runtime"] = runtimeName(&r.Runtime).doc("runtime of the container executor, such as runsc", nil)
	return known
}

// checkPatterns returns an error for the first malformed pattern of a list.
func checkPatterns(n *yaml.Node) error {
	items, err := items(n)
	for _, item := range items {
		if err := checkRules(item, "skills", search.Rules{Names: []string{item.Value}}); err != nil {
			return err
		}
	}
	return err
}

// scriptLimits returns the keys that bound the runs of scripts. A project's file cannot set
// more than what holds without it.
func (p *parser) scriptLimits(s *search.Script) keys {
	most := search.DefaultScript()
	timeout := duration(&s.Timeout).check(func(n *yaml.Node) error {
		if !p.user && s.Timeout > most.Timeout {
			return errorf(n, "timeout: a project's configuration can only shorten it, to at most %s", most.Timeout)
		}
		return nil
	})
	output := number(&s.Output).check(func(n *yaml.Node) error {
		switch {
		case s.Output == 0:
			return errorf(n, "output: expected at least 1 byte")
		case !p.user && s.Output > most.Output:
			return errorf(n, "output: a project's configuration can only lower it, to at most %d", most.Output)
		}
		return nil
	})
	return keys{
		"timeout": timeout.doc("of one run; 1m unless something sets it", nil),
		"output":  output.doc("bytes of what a run writes to each of its outputs; 1 MiB unless something sets it", nil),
		"network": p.ports(&s.Network).doc("TCP ports that it may connect to; none unless something sets them", nil),
	}
}

// ports reads a list of TCP ports; a single port is a list of one. That of a project is empty.
func (p *parser) ports(to *[]int) value {
	return value{
		schema: func() schema {
			port := schema{"type": "integer", "minimum": 1, "maximum": 65535}
			list := arrayOf(port)
			if list["uniqueItems"] = true; !p.user {
				list["maxItems"] = 0
				return list
			}
			return anyOf(port, list)
		},
		show: func() any {
			if *to == nil {
				return nil
			}
			return *to
		},
		read: func(n *yaml.Node) error {
			items, err := items(n)
			if err != nil {
				return err
			}
			if !p.user && len(items) > 0 {
				return errorf(n, "network: a project's configuration cannot open ports; write [] to close all, or move it to your own")
			}
			*to = []int{}
			seen := make(map[int]int) // to lines
			for _, item := range items {
				port, err := strconv.Atoi(item.Value)
				switch {
				case err != nil || port < 1 || port > 65535:
					return errorf(item, "network: expected a port from 1 to 65535, not %q", item.Value)
				case seen[port] > 0:
					return errorf(item, "network: port %d stands here twice", port)
				}
				seen[port] = item.Line
				*to = append(*to, port)
			}
			return nil
		},
	}
}

// executor reads the name of an executor. A project can only choose the one that can harm
// nothing.
func (p *parser) executor(to *string) value {
	if p.user {
		return choice(to, search.Executors())
	}
	const only = "virtual"
	return parsed(to, only+" (a project's configuration cannot choose another executor; your own can)",
		func() schema { return enumSchema([]string{only}) },
		func(s string) (string, bool) { return s, s == only })
}

// runtimeName reads the name or path of a program, which is an argument of another one.
func runtimeName(to *string) value {
	return parsed(to, "the name or path of a program", textSchema, func(s string) (string, bool) {
		return s, s != "" && s[0] != '-' && !strings.ContainsAny(s, " \t\n")
	})
}
