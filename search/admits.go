package search

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// Admits reports whether the agent would see a skill with this name and these tags that is in
// no source yet. A malformed pattern matches nothing.
func (a *Agent) Admits(name string, tags []string) bool {
	match := func(r Rules) bool {
		return r.MatchName(name) || slices.ContainsFunc(r.Tags, func(tag string) bool {
			return slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
		})
	}
	uses := func() bool {
		same := func(id string) bool { return words.NameKey(id) == words.NameKey(name) }
		return len(a.Uses) == 0 || slices.ContainsFunc(a.Uses, same)
	}
	return a == nil || (match(a.Include) || a.Include.empty() && uses()) && !match(a.Exclude)
}
