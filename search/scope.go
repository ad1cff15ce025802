package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// An Agent sees a part of the catalog: its scope. A nil *Agent sees all of it. In its
// scope, skills outside do not exist: they shadow nothing, and no answer names them.
type Agent struct {
	Name    string
	Include Rules    // empty means everything
	Exclude Rules    // wins over Include
	Pinned  []string // names of skills that the agent always has if its scope has them, in this order

	// What the agent is told, by whoever runs it; see package agent.
	Prompt       string   // its role; "" means none
	Uses         []string // IDs of skills that it always has with all their instructions, in this order
	Instructions string   // that stand after these skills; "" means none
	Script       Script   // how scripts of skills run for it

	// Held lets Lookup, and so whatever reads a skill by its ID, find skills that are held
	// back. It is for the owner of the catalog, never for a model.
	Held bool

	// Places says where a configuration has the rules; nil means that nobody knows.
	Places map[Rule]Place
}

// A Script says how scripts of skills run. Zero values mean what a more general one says, and
// then the defaults of package sandbox.
type Script struct {
	Executor string        // see sandbox/executors
	Timeout  time.Duration // of one run
	Output   int64         // bytes of what a run writes to each of its outputs
	Network  []int         // TCP ports that it may connect to; nil means none
	Runtime  string        // of the container executor, such as "runsc"
}

// Rules match a skill if one of them matches it. A rule that matches nothing does nothing:
// as an Include it lets nothing in, as an Exclude it leaves nothing out.
type Rules struct {
	Names   []string // patterns for whole names: * ? [a-z] and \ are special
	Tags    []string
	Sources []string // labels
}

// A Rule is one rule of an agent.
type Rule struct {
	Key  string // "include.names", "exclude.tags", "pinned" and so on
	Text string
}

// A Place is a line of a configuration file.
type Place struct {
	File string
	Line int
}

func (r Rules) empty() bool { return len(r.Names)+len(r.Tags)+len(r.Sources) == 0 }

// match reports whether a rule matches skill i.
func (r Rules) match(v *snapshot.View, i int) bool {
	n, doc := v.At(i)
	return matching(v, r)[n].Has(doc)
}

// matchName reports whether a pattern for names matches a name.
func (r Rules) matchName(name string) bool {
	return slices.ContainsFunc(r.Names, func(pattern string) bool {
		g, err := parseGlob(pattern)
		return err == nil && g.match(words.NameKey(name))
	})
}

// Check returns a *RuleError for the first mistake that shows without a catalog: a malformed
// pattern, or a pinned skill that the agent's own rules keep out by its name.
func (a *Agent) Check() error {
	if err := a.checkPatterns(); err != nil {
		return err
	}
	onlyNames := len(a.Include.Names) > 0 && len(a.Include.Tags)+len(a.Include.Sources) == 0
	for _, name := range a.Pinned {
		pin := Rule{"pinned", name}
		switch {
		case a.Exclude.matchName(name):
			return a.errorf(pin, "skill %q is excluded too; remove one of the two", name)
		case onlyNames && !a.Include.matchName(name):
			return a.errorf(pin, "skill %q is not included; add it to include.names, or do not pin it", name)
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
	type rest struct {
		*Agent
		*held
	}
	var key any = a
	switch {
	case h != nil:
		key = rest{a, h}
	case a == nil:
		return v.Whole().Scope(), nil
	}
	s, err := v.Cached(key, func() (any, error) {
		s, err := newScope(v, a, h)
		return s, cmp.Or(err, v.Err())
	})
	if err != nil {
		return nil, err
	}
	return s.(*snapshot.Scope), nil
}

// newScope works out a scope. Only malformed patterns are errors: rules and pinned skills
// that match nothing may match skills that are added later.
func newScope(v *snapshot.View, a *Agent, h *held) (*snapshot.Scope, error) {
	if a == nil {
		a = new(Agent)
	}
	if err := a.checkPatterns(); err != nil {
		return nil, err
	}
	include, exclude := matching(v, a.Include), matching(v, a.Exclude)
	s := v.NewScope(func(n int, _ *snapshot.Reader, live snapshot.Bitmap) snapshot.Bitmap {
		set := live
		if !a.Include.empty() {
			set = set.And(include[n])
		}
		if h != nil {
			set = set.AndNot(h.all[n])
		}
		return set.AndNot(exclude[n])
	})
	own := v.In(s)
	for _, name := range a.Pinned {
		if i, ok := own.Find(words.NameKey(name)); ok && !slices.Contains(s.Pinned, i) {
			s.Pinned = append(s.Pinned, i)
		}
	}
	return s, nil
}

// matching returns the documents of each segment that the rules match, whatever the scope
// of the view.
func matching(v *snapshot.View, rules Rules) []snapshot.Bitmap {
	var sets []snapshot.Bitmap
	v.Segments(func(n int, r *snapshot.Reader, live snapshot.Bitmap) error {
		set := make(snapshot.Bitmap, len(live))
		add := func(names []string, find func(string) (snapshot.Bitmap, bool, error)) error {
			for _, name := range names {
				found, ok, err := find(name)
				if err != nil {
					return err
				}
				if ok {
					set = set.Or(found)
				}
			}
			return nil
		}
		err := cmp.Or(add(rules.Sources, r.Source), add(rules.Tags, r.Tag))
		err = cmp.Or(err, matchNames(r, rules.Names, set))
		sets = append(sets, set.And(live))
		return err
	})
	return sets
}

// matchNames adds to a set the documents whose names match a pattern. Malformed patterns
// match nothing; checkPatterns refuses them.
func matchNames(r *snapshot.Reader, patterns []string, set snapshot.Bitmap) error {
	for _, pattern := range patterns {
		g, err := parseGlob(pattern)
		if err != nil {
			continue
		}
		first, last, err := r.Prefixed(g.prefix())
		if err != nil {
			return err
		}
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			if err != nil {
				return err
			}
			if g.match(key) {
				set.Set(doc)
			}
		}
	}
	return nil
}
