package search

import (
	"slices"
	"strings"
)

// Admits reports whether the agent would see a skill with this name and these tags that is in
// no source yet. A malformed pattern matches nothing.
func (a *Agent) Admits(name string, tags []string) bool {
	match := func(r Rules) bool {
		return r.matchName(name) || slices.ContainsFunc(r.Tags, func(tag string) bool {
			return slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
		})
	}
	return a == nil || (a.Include.empty() || match(a.Include)) && !match(a.Exclude)
}
