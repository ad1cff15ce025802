package repertoire

import (
	"slices"

	"github.com/repertoire-skills/repertoire/source"
)

// rules are what an owner may change while a catalog is open. They are replaced, and never changed.
type rules struct {
	policy *Policy // as it was given; nil means none
	agents []*Agent
}

// whole returns the policy of the catalog. Only agents that use a skill by the path of its folder
// see it, and unless the policy says otherwise, the triggers of the skills in the user's own
// folders are certain.
func (r *rules) whole() *Policy {
	var p Policy
	if r.policy != nil {
		p = *r.policy
	}
	if p.Triggers == nil {
		p.Triggers = map[string]string{source.KindRoot: "certain", source.KindUser: "certain"}
	}
	if !slices.Contains(p.Private, source.KindPreloaded) {
		p.Private = append(slices.Clone(p.Private), source.KindPreloaded)
	}
	return &p
}

// setRules implements keeper.
func (l *local) setRules() {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := *l.now.Load()
	f.policy = l.rules.Load().whole()
	f.search.SetPolicy(f.policy, f.reader.kinds())
	l.now.Store(&f)
}

// setRules implements keeper.
func (m *mirror) setRules() { m.search.SetPolicy(m.rules.Load().whole(), nil) }
