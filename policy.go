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
// see it, strangers write the skills of projects, and unless the policy says otherwise, the triggers
// of the skills in the user's own folders are certain.
func (r *rules) whole() *Policy {
	var p Policy
	if r.policy != nil {
		p = *r.policy
	}
	if p.Triggers == nil {
		p.Triggers = map[string]string{source.KindRoot: "certain", source.KindUser: "certain"}
	}
	p.Private, p.Foreign = with(p.Private, source.KindPreloaded), with(p.Foreign, source.KindProject)
	return &p
}

// with returns a list that has a kind too.
func with(list []string, kind string) []string {
	if slices.Contains(list, kind) {
		return list
	}
	return append(slices.Clone(list), kind)
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
