package repertoire

import (
	"slices"

	"github.com/repertoire-skills/repertoire/source"
)

// policy returns the policy of the catalog. Only agents that use a skill by the path of its folder
// see it, and unless the policy says otherwise, the triggers of the skills in the user's own
// folders are certain.
func (c *Config) policy() *Policy {
	var p Policy
	if c.Policy != nil {
		p = *c.Policy
	}
	if p.Triggers == nil {
		p.Triggers = map[string]string{source.KindRoot: "certain", source.KindUser: "certain"}
	}
	if !slices.Contains(p.Private, source.KindPreloaded) {
		p.Private = append(slices.Clone(p.Private), source.KindPreloaded)
	}
	return &p
}

// setPolicy implements keeper.
func (l *local) setPolicy(p *Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg.Policy = p
	f := *l.now.Load()
	f.policy = l.cfg.policy()
	f.search.SetPolicy(f.policy, f.reader.kinds())
	l.now.Store(&f)
}

// setPolicy implements keeper.
func (m *mirror) setPolicy(p *Policy) {
	cfg := Config{Policy: p}
	m.search.SetPolicy(cfg.policy(), nil)
}
