package repertoire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// checkAgents checks the agents, and that all have names and that the names differ.
func checkAgents(agents []*Agent) error {
	known := make(map[string]bool)
	for i, a := range agents {
		if a == nil {
			return fmt.Errorf("agent %d of %d is nil", i+1, len(agents))
		}
		if a.Name == "" {
			return errors.New("an agent has no name")
		}
		if known[a.Name] {
			return fmt.Errorf("two agents are named %q", a.Name)
		}
		if err := a.Check(); err != nil {
			return err
		}
		known[a.Name] = true
	}
	return nil
}

// addUsed adds the folders of the skills that agents use by their paths to the sources, those of
// later too. Only these agents see such a skill, see policy.
func (cfg *Config) addUsed() error {
	var used []source.Source
	for _, a := range cfg.Agents {
		if a == nil {
			continue // checkAgents refuses it
		}
		for _, id := range a.Uses {
			label := search.Rule{Key: "uses_skills", Text: id}.Label()
			has := func(s source.Source) bool { return s != nil && s.Info().Label == label }
			if label == "" || slices.ContainsFunc(slices.Concat(cfg.Sources, used), has) {
				continue
			}
			path := id
			if rest, ok := strings.CutPrefix(filepath.ToSlash(id), "~"); ok {
				home, err := os.UserHomeDir()
				if err != nil {
					return fmt.Errorf("agent %s uses %s: %w", a.Name, id, err)
				}
				path = filepath.Join(home, rest)
			}
			s, err := source.Dir(path, &source.Options{Label: label, Kind: source.KindPreloaded, Priority: -1 - len(used)})
			if err != nil {
				return fmt.Errorf("agent %s uses %s: %w", a.Name, id, err)
			}
			used = append(used, s)
		}
	}
	if discover := cfg.Discover; discover != nil && len(used) > 0 {
		cfg.Discover = func() ([]source.Source, error) {
			sources, err := discover()
			return slices.Concat(sources, used), err
		}
	}
	if len(used) > 0 && (cfg.Store != nil || cfg.StoreURL != "") {
		return errors.New("an agent uses a skill by the path of its folder, but a shared catalog has no folders of this machine: name the skill")
	}
	cfg.Sources = slices.Concat(cfg.Sources, used)
	return nil
}
