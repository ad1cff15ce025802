package search

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Agent sees a part of the catalog: its scope. A nil *Agent sees all of it, but for the
// sources of Policy.Private. In its scope, skills outside do not exist: they shadow nothing,
// and no answer names them.
type Agent struct {
	Name    string   // by which a configuration or Catalog.Agent finds it
	Include Rules    // empty means what it Uses, or everything if it uses nothing
	Exclude Rules    // wins over Include
	Pinned  []string // names of skills that the agent always has if its scope has them, in this order

	// Uses are IDs of skills that the agent always has with all their instructions, in this
	// order, or paths of their folders that begin with / ~ or . if the agent is one of those of the
	// catalog's configuration: no other agent sees such a skill. Without Include, they are all that it sees. Only an agent that uses a skill of a
	// source of Policy.Private sees it, whatever Include says.
	Uses []string

	// What the agent is told, by whoever runs it; see package agent.
	Prompt       string // its role; "" means none
	Instructions string // that stand after the skills that it uses; "" means none

	Offer string // how many of its skills a program lists that may choose, see contextprovider.Offer; "" means the default
	// Client is the name of the client for which it asks: what a person has switched off there does
	// not exist, see Policy.Switches. "" means none that is known.
	Client string
	// Switches are what is set in the settings of the client that asks, which the catalog cannot read
	// itself: those of another machine. Their order is as in Policy.Switches. nil means nothing.
	Switches []Switch

	Script  Script // how scripts of skills run for it
	Foreign bool   // somebody else may have written it: Script only narrows what else holds, see ScriptFor

	// Held lets Lookup, and so whatever reads a skill by its ID, find skills that are held
	// back. It is for the owner of the catalog, never for a model.
	Held bool

	// Places says where a configuration has the rules; nil means that nobody knows.
	Places map[Rule]Place
}

// Rules match a skill if one of them matches it. A rule that matches nothing does nothing:
// as an Include it lets nothing in, as an Exclude it leaves nothing out.
type Rules struct {
	Names   []string // patterns for whole names: * ? [a-z] and \ are special
	Tags    []string // without regard to case and spelling, as names
	Sources []string // labels; in rules that hold back, project:.claude means the folders .claude anywhere in the project
}

// A Rule is one rule of an agent.
type Rule struct {
	Key  string // "include.names", "exclude.tags", "pinned", "uses_skills" and so on
	Text string // the pattern, tag, label or name
}

// A Place is a line of a configuration file.
type Place struct {
	File string // name of the configuration file
	Line int    // from 1
}

// Label returns the label of the source of a skill that the rule names by the path of its folder;
// "" means that it names none so.
func (r Rule) Label() string {
	path := filepath.ToSlash(r.Text)
	first, _, _ := strings.Cut(path, "/")
	if r.Key != keyUses || path == "" || !filepath.IsAbs(r.Text) && !slices.Contains([]string{"", "~", ".", ".."}, first) {
		return ""
	}
	return "preloaded:" + filepath.ToSlash(filepath.Clean(r.Text))
}

func (r Rules) empty() bool { return len(r.Names)+len(r.Tags)+len(r.Sources) == 0 }

// MatchName reports whether a pattern for names matches a name. A malformed pattern matches
// nothing.
func (r Rules) MatchName(name string) bool {
	return slices.ContainsFunc(r.Names, func(pattern string) bool {
		g, err := parseGlob(pattern)
		return err == nil && g.matchName(name)
	})
}

// Check returns a *RuleError for the first mistake that shows without a catalog: a malformed
// pattern, or a skill that is pinned or used and that the agent's own rules keep out by its
// name.
func (a *Agent) Check() error {
	if err := a.checkPatterns(); err != nil {
		return err
	}
	if err := a.checkNames(keyUses, a.Uses, "do not use it"); err != nil {
		return err
	}
	if err := a.checkNames(keyPinned, a.Pinned, "do not pin it"); err != nil {
		return err
	}
	if !a.Include.empty() || len(a.Uses) == 0 || slices.ContainsFunc(a.Uses, func(id string) bool { return hasSource(id) || isFull(id) }) {
		return nil
	}
	for _, name := range a.Pinned {
		same := func(used string) bool { return words.SameName(used, name) }
		if !slices.ContainsFunc(a.Uses, same) {
			return a.errorf(Rule{keyPinned, name}, "skill %q is not in uses_skills, which is all that the agent sees; add it there or to include.names, or do not pin it", name)
		}
	}
	return nil
}

// The keys of rules that name single skills.
const (
	keyPinned = "pinned"
	keyUses   = "uses_skills"
)

// hasSource reports whether an ID names the source of the skill too. Then only the catalog
// shows which name the skill has.
func hasSource(id string) bool {
	return strings.Contains(id, "/") || Rule{keyUses, id}.Label() != ""
}

// checkNames returns a *RuleError for the first of some names of skills that the rules of the
// agent keep out. instead says what else the user may do.
func (a *Agent) checkNames(key string, names []string, instead string) error {
	onlyNames := len(a.Include.Names) > 0 && len(a.Include.Tags)+len(a.Include.Sources) == 0 && !slices.ContainsFunc(a.Include.Names, isFull)
	for _, name := range names {
		switch {
		case isFull(name): // only the catalog shows which name the skill has
		case a.Exclude.MatchName(name):
			return a.errorf(Rule{key, name}, "skill %q is excluded too; remove one of the two", name)
		case onlyNames && !a.Include.MatchName(name):
			return a.errorf(Rule{key, name}, "skill %q is not included; add it to include.names, or %s", name, instead)
		}
	}
	return nil
}

// checkPatterns returns a *RuleError for the first malformed pattern.
func (a *Agent) checkPatterns() error {
	check := func(key string, patterns []string) error {
		for _, pattern := range patterns {
			if _, err := parseGlob(pattern); err != nil {
				return a.errorf(Rule{key, pattern}, "%w", err)
			}
		}
		return nil
	}
	return cmp.Or(check("include.names", a.Include.Names), check("exclude.names", a.Exclude.Names))
}

// A RuleError is a mistake in one rule of an agent.
type RuleError struct {
	Agent string
	Rule  Rule
	Place Place // zero if nobody knows it
	Err   error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("%sagent %s: %s: %v", e.Place.prefix(), e.Agent, e.Rule.Key, e.Err)
}

// Unwrap returns the mistake.
func (e *RuleError) Unwrap() error { return e.Err }

// errorf returns an error about a rule, with its place.
func (a *Agent) errorf(r Rule, format string, args ...any) error {
	return &RuleError{a.Name, r, a.Places[r], fmt.Errorf(format, args...)}
}

// scopeOf returns the part of the catalog that the agent sees, without what is held back.
// h may be nil.
func scopeOf(v *snapshot.View, a *Agent, h *held) (*snapshot.Scope, error) {
	key := viewKey{a.sees(), h}
	if key == (viewKey{}) {
		return v.Whole().Scope, nil
	}
	return remember(v.Set, mostScopes, key, func() (*snapshot.Scope, error) {
		s, err := newScope(v, a, h)
		return s, cmp.Or(err, v.Err())
	})
}

// viewKey identifies a scope of a set.
type viewKey struct {
	sees string // see Agent.sees
	*held
}

// newScope works out a scope. Only malformed patterns are errors: rules and pinned skills
// that match nothing may match skills that are added later.
func newScope(v *snapshot.View, a *Agent, h *held) (*snapshot.Scope, error) {
	a = cmp.Or(a, new(Agent))
	if err := a.checkPatterns(); err != nil {
		return nil, err
	}
	in, used := v.Whole().Scope.In, a.used(v, h)
	switch {
	case !a.Include.empty():
		in = matching(v, a.Include)
	case len(a.Uses) > 0:
		in = used
	}
	if h != nil {
		in = in.AndNot(h.private).Or(used.And(h.private)).AndNot(h.all)
	}
	off, reserved := h.of(a.Client)
	var elsewhere switches
	elsewhere.apply(v.Whole(), a.Switches)
	alsoOff, alsoReserved := elsewhere.decide(func(*Switch) bool { return true })
	off, reserved = off.Or(alsoOff), reserved.Or(alsoReserved)
	s := v.NewScope(in.AndNot(heldBy(v, a.Exclude)).AndNot(off))
	own := v.In(s)
	for _, name := range a.Pinned {
		for _, i := range find(own, name) {
			if s.Offered.Has(i) && !slices.Contains(s.Pinned, i) {
				s.Pinned = append(s.Pinned, i)
			}
		}
	}
	if !a.Foreign { // the user has said himself that the agent has them
		s.Reserved = s.Reserved.AndNot(used)
		for _, i := range s.Pinned {
			s.Reserved.Remove(i)
		}
	}
	s.Reserved = s.Reserved.Or(reserved.And(s.In))
	return s, nil
}

// matching returns the skills that the rules match, whatever the scope of the view.
// Malformed patterns match nothing; checkPatterns refuses them.
func matching(v *snapshot.View, rules Rules) (found snapshot.Skills) {
	for _, label := range rules.Sources {
		found = found.Or(v.Source(label))
	}
	for _, tag := range rules.Tags {
		found = found.Or(v.Tag(tag))
	}
	for _, pattern := range rules.Names {
		if g, err := parseGlob(pattern); err == nil {
			found = found.Or(g.skills(v))
			if isFull(pattern) {
				found = found.Or(g.full(v))
			}
		}
	}
	return found
}

// isFull reports whether a name, or a pattern for names, may be a full one, see skill.Meta.FullName.
func isFull(name string) bool { return strings.ContainsAny(name, ":/") }

// full returns the skills whose full names match. It reads those of the sources only whose full
// names the pattern may match.
func (g glob) full(v *snapshot.View) (found snapshot.Skills) {
	for _, src := range v.Set.Sources {
		all, start := words.NameKey((&skill.Meta{Source: src.Label}).FullName()), g.prefix()
		if strings.HasPrefix(all, start) || strings.HasPrefix(start, all) {
			found = found.Or(v.Names().Full(src.Label, g.matchName))
		}
	}
	return found
}

// MatchSkill reports whether a pattern for names matches the name of a skill or its full name.
func (r Rules) MatchSkill(m *skill.Meta) bool {
	full := Rules{Names: slices.DeleteFunc(slices.Clone(r.Names), func(pattern string) bool { return !isFull(pattern) })}
	return r.MatchName(m.Name) || full.MatchName(m.FullName())
}

// Admits reports whether the agent would see a skill with this name and these tags that is in
// no source yet. A malformed pattern matches nothing.
func (a *Agent) Admits(name string, tags []string) bool {
	match := func(r Rules) bool {
		return r.MatchName(name) || slices.ContainsFunc(r.Tags, func(tag string) bool {
			return slices.ContainsFunc(tags, func(t string) bool { return words.SameName(t, tag) })
		})
	}
	uses := func() bool {
		same := func(id string) bool { return words.SameName(id, name) }
		return len(a.Uses) == 0 || slices.ContainsFunc(a.Uses, same)
	}
	return a == nil || (match(a.Include) || a.Include.empty() && uses()) && !match(a.Exclude)
}
