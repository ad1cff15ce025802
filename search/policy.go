package search

import (
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/snapshot"
)

// A State says why a skill is not offered to anybody.
type State string

// The states. Of several that a skill is in, the first of this list counts.
const (
	Offered     State = ""            // it is offered where it fits
	Disabled    State = "disabled"    // a rule of the configuration disables it
	Changed     State = "changed"     // it is not what was installed, see Policy.Locked
	Untrusted   State = "untrusted"   // its project is not trusted yet, see Policy.Ask
	Unavailable State = "unavailable" // a command that it needs is not there
)

// A Policy says which skills of a catalog are held back from everybody. A skill that is held
// back is in no scope: it shadows nothing, and no answer has it. Only List, Lookup and Why
// say that it is there, and why it is held back. nil means that all skills are offered. A
// skill of Ask, or one with a locked digest, is served only as long as all its files have the
// digest for which it is offered.
//
// Its functions may be called by several goroutines.
type Policy struct {
	// Disabled are the rules that disable skills; a skill is disabled if one matches.
	Disabled []Ban
	// Ask are the sources whose skills are offered only if Trusted has their digest. nil
	// means none.
	Ask     []string
	Trusted func(digest string) bool // nil means that no skill is trusted
	// Installed are the sources whose skills Locked knows. Locked returns the digest that
	// the skill in a folder must have to be offered; "" means any. nil means none.
	Installed []string
	Locked    func(source, dir string) string
	// Version identifies what Trusted and Locked answer now. Every question to the catalog
	// calls it, so it must be fast. nil means that their answers never change.
	Version func() string
	// Lower are the sources that are trusted less: their skills rank below equals, and fill
	// at most half of a block in which others are relevant too. nil means none.
	Lower []string
	// Private are the sources whose skills nobody sees but the agents that use them, see
	// Agent.Uses. nil means none.
	Private []string
}

// A Ban disables skills. Like all lists of sources in a Policy, Within has labels, or kinds
// of sources, which stand for all sources of the kind as they come and go.
type Ban struct {
	Rules
	Within []string // the only sources in which it holds; nil means all
	Place  Place    // where a configuration has it; zero if nobody knows
}

// Check returns an error for the first malformed pattern.
func (p *Policy) Check() error {
	if p == nil {
		return nil
	}
	for _, b := range p.Disabled {
		for _, pattern := range b.Names {
			if _, err := parseGlob(pattern); err != nil {
				return fmt.Errorf("%sdisabled: %w", b.Place.prefix(), err)
			}
		}
	}
	return nil
}

// prefix returns the place as it stands before a message; "" if nobody knows it.
func (p Place) prefix() string {
	if p.Line == 0 {
		return ""
	}
	return p.String() + ": "
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// policy is a Policy with the kinds of the sources, by label.
type policy struct {
	Policy
	kinds map[string]string
}

// SetPolicy replaces the policy; nil means none. kinds are the kinds of the sources, by
// label.
func (x *scopes) SetPolicy(p *Policy, kinds map[string]string) {
	if p == nil || len(p.Disabled)+len(p.Ask)+len(p.Installed)+len(p.Lower)+len(p.Private) == 0 {
		x.policy.Store(nil)
		return
	}
	x.policy.Store(&policy{*p, kinds})
}

// lists reports whether a list of labels and kinds has the source with a label.
func (p *policy) lists(list []string, label string) bool {
	return slices.Contains(list, label) || p.kinds[label] != "" && slices.Contains(list, p.kinds[label])
}

// sources returns the skills of the listed sources.
func (p *policy) sources(v *snapshot.View, list []string) snapshot.Skills {
	var found []string
	for _, s := range v.Set.Sources {
		if p.lists(list, s.Label) {
			found = append(found, s.Label)
		}
	}
	return matching(v, Rules{Sources: found})
}

// lowerIn returns the skills of sources that are trusted less; nil means that there is no
// such source.
func (x *scopes) lowerIn(v *snapshot.View) (snapshot.Skills, error) {
	p := x.policy.Load()
	if p == nil || len(p.Lower) == 0 {
		return nil, nil
	}
	type key struct{ *policy }
	return remember(v.Set, mostPolicies, key{p}, func() (snapshot.Skills, error) { return p.sources(v.Whole(), p.Lower), v.Err() })
}

// banned returns the skills that a ban matches.
func (p *policy) banned(v *snapshot.View, b *Ban) snapshot.Skills {
	found := matching(v, b.Rules)
	if b.Within != nil {
		found = found.And(p.sources(v, b.Within))
	}
	return found
}

// locked returns the digest that a skill must have; "" means any.
func (p *policy) locked(source, dir string) string {
	if p.Locked == nil || !p.lists(p.Installed, source) {
		return ""
	}
	return p.Locked(source, dir)
}

// sealed returns the state of a skill whose files no longer have the digest for which it is
// offered; Offered means that it needs none.
func (p *policy) sealed(source, dir string) State {
	switch {
	case p == nil:
		return Offered
	case p.locked(source, dir) != "":
		return Changed
	case p.lists(p.Ask, source):
		return Untrusted
	}
	return Offered
}

// version returns what identifies the answers of the functions of the policy.
func (p *policy) version() string {
	if p.Version == nil {
		return ""
	}
	return p.Version()
}
