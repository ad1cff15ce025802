package repertoire

import "github.com/repertoire-skills/repertoire/source"

// policy returns the policy of the catalog. Unless it says otherwise, the triggers of the
// skills in the user's own folders are certain.
func (c *Config) policy() *Policy {
	var p Policy
	if c.Policy != nil {
		p = *c.Policy
	}
	if p.Triggers == nil {
		p.Triggers = map[string]string{source.KindRoot: "certain", source.KindUser: "certain"}
	}
	return &p
}
