package repertoire

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Agent returns the agent of that name, nil for "". A name that the
// configuration does not have is an error: it must not mean everything.
func (c *Catalog) Agent(name string) (*Agent, error) {
	if name == "" {
		return nil, nil
	}
	if a, ok := c.agents[name]; ok {
		return a, nil
	}
	known := slices.Sorted(maps.Keys(c.agents))
	if len(known) == 0 {
		return nil, fmt.Errorf("no agent %q: the configuration names none", name)
	}
	return nil, fmt.Errorf("no agent %q%s", name, words.Suggest(name, known))
}

// agentsByName checks the agents, and that all have names and that the names differ.
func agentsByName(agents []*Agent) (map[string]*Agent, error) {
	m := make(map[string]*Agent)
	for i, a := range agents {
		if a == nil {
			return nil, fmt.Errorf("agent %d of %d is nil", i+1, len(agents))
		}
		if a.Name == "" {
			return nil, errors.New("an agent has no name")
		}
		if m[a.Name] != nil {
			return nil, fmt.Errorf("two agents are named %q", a.Name)
		}
		if err := a.Check(); err != nil {
			return nil, err
		}
		m[a.Name] = a
	}
	return m, nil
}
