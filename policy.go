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
