package repertoire

import (
	"errors"
	"fmt"
)

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
