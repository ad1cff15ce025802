package search

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
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
	Reserved    State = "reserved"    // only the user starts it, see skill.About; who knows its name can read it
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
	// Installed are the sources whose skills Locked knows. Locked reports whether the skill in a
	// folder may have a digest to be offered. nil means none.
	Installed []string
	Locked    func(source, dir, digest string) bool
	// Switches returns what is set for skills in the settings of clients, in the order in which it
	// holds. nil means nothing.
	Switches func() []Switch
	// Version identifies what Trusted, Locked and Switches answer now. Every question to the catalog
	// calls it, so it must be fast. nil means that their answers never change.
	Version func() string
	// Lower are the sources that are trusted less: their skills rank below equals, and fill
	// at most half of a block in which others are relevant too. nil means none.
	Lower []string
	// Foreign are further sources to which strangers may write, beside those of Lower. Of the copies of
	// a skill, see Hit.Copies, those of such sources come last. nil means none.
	Foreign []string
	// Private are the sources whose skills nobody sees but the agents that use them, see
	// Agent.Uses. nil means none.
	Private []string
	// Triggers says what the triggers of the skills of a source are worth, by label or kind; a
	// label wins, and "" stands for all other sources. "certain" means that a skill is offered
	// as if the prompt named it, unless the trigger is common or a verb; "evidence" that it
	// counts beside other evidence; "off" nothing. The default is evidence, also for sources
	// of Lower that only their kind would make certain.
	Triggers map[string]string
}

// What triggers are worth, see Policy.Triggers.
const (
	triggersCertain  = "certain"
	triggersEvidence = "evidence"
	triggersOff      = "off"
)

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
	if p == nil {
		p = new(Policy)
	}
	if p.Switches == nil && len(p.Disabled)+len(p.Ask)+len(p.Installed)+len(p.Lower)+len(p.Foreign)+len(p.Private)+len(p.Triggers)+len(kinds) == 0 {
		x.policy.Store(nil)
		return
	}
	x.policy.Store(&policy{*p, kinds})
}

// lists reports whether a list of labels and kinds has the source with a label.
func (p *policy) lists(list []string, label string) bool {
	return coversAny(list, label) || p.kinds[label] != "" && slices.Contains(list, p.kinds[label])
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

// A trust says how much the skills of a set are trusted.
type trust struct {
	lower   snapshot.Skills // of sources that are trusted less, see Policy.Lower
	foreign snapshot.Skills // see Policy.Foreign
}

// of returns a number for a skill that is higher the less it is trusted.
func (t *trust) of(i int) int {
	switch {
	case t.lower.Has(i):
		return 2
	case t.foreign.Has(i):
		return 1
	}
	return 0
}

// trustIn returns how much the skills of a set are trusted.
func (x *scopes) trustIn(v *snapshot.View) (*trust, error) {
	p := x.policy.Load()
	type key struct{ *policy }
	return remember(v.Set, mostPolicies, key{p}, func() (*trust, error) {
		if p == nil {
			return new(trust), nil
		}
		return &trust{p.sources(v.Whole(), p.Lower), p.sources(v.Whole(), p.Foreign)}, v.Err()
	})
}

// triggerUse returns what the triggers of the skills of a source are worth.
func (p *policy) triggerUse(label string) string {
	if own := p.Triggers[label]; own != "" {
		return own
	}
	use := cmp.Or(p.Triggers[p.kinds[label]], p.Triggers[""], triggersEvidence)
	if use == triggersCertain && p.lists(p.Lower, label) {
		return triggersEvidence
	}
	return use
}

// triggersIn returns the skills whose triggers are certain, and those whose triggers are off.
func (x *scopes) triggersIn(v *snapshot.View) (certain, off snapshot.Skills, err error) {
	p := x.policy.Load()
	if p == nil {
		return nil, nil, nil
	}
	type key struct{ *policy }
	type uses struct{ certain, off snapshot.Skills }
	u, err := remember(v.Set, mostPolicies, key{p}, func() (u uses, err error) {
		var labels [2][]string
		for _, s := range v.Set.Sources {
			switch p.triggerUse(s.Label) {
			case triggersCertain:
				labels[0] = append(labels[0], s.Label)
			case triggersOff:
				labels[1] = append(labels[1], s.Label)
			}
		}
		u.certain, u.off = matching(v.Whole(), Rules{Sources: labels[0]}), matching(v.Whole(), Rules{Sources: labels[1]})
		return u, v.Err()
	})
	return u.certain, u.off, err
}

// triggersKey identifies what triggers are worth.
func (p *policy) triggersKey() string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(p.Triggers, p.Lower, p.kinds)
}

// banned returns the skills that a ban matches.
func (p *policy) banned(v *snapshot.View, b *Ban) snapshot.Skills {
	found := heldBy(v, b.Rules)
	if b.Within != nil {
		found = found.And(p.sources(v, b.Within))
	}
	return found
}

// isInstalled reports whether Locked knows the skills of a source.
func (p *policy) isInstalled(source string) bool {
	return p.Locked != nil && p.lists(p.Installed, source)
}

// sealed returns the state of a skill of a source if its files no longer have the digest for which
// it is offered; Offered means that it needs none.
func (p *policy) sealed(source string) State {
	switch {
	case p == nil:
		return Offered
	case p.isInstalled(source):
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

// held are the skills of a set that a policy holds back.
type held struct {
	policy *policy
	bans   []snapshot.Skills // that each of policy.Disabled matches
	// The skills by state. No skill is in two of them.
	disabled, changed, untrusted snapshot.Skills
	all                          snapshot.Skills // the skills of these three
	private                      snapshot.Skills // the skills that only agents that use them see
	onlyPrivate                  *held           // the same, but only private skills are kept out of scopes; nil means that none is private
	key                          string          // identifies all and private for a calibration
	switches                     switches        // that a person has set in clients; each holds for its client alone
}

// heldIn returns the skills of a set that are held back; nil means none.
func (x *scopes) heldIn(v *snapshot.View) (*held, error) {
	p := x.policy.Load()
	if p == nil {
		return nil, nil
	}
	type key struct {
		*policy
		version string
	}
	return remember(v.Set, mostPolicies, key{p, p.version()}, func() (*held, error) {
		h := p.apply(v.Whole())
		return h, v.Err()
	})
}

// apply finds the skills that are held back; nil means none.
func (p *policy) apply(v *snapshot.View) *held {
	h := &held{policy: p, private: p.sources(v, p.Private)}
	for i := range p.Disabled {
		h.bans = append(h.bans, p.banned(v, &p.Disabled[i]))
		h.disabled = h.disabled.Or(h.bans[i])
	}
	h.changed = filter(v, p.sources(v, p.Installed).AndNot(h.disabled), func(d *snapshot.Document) bool {
		return p.isInstalled(d.Source) && !p.Locked(d.Source, d.Dir(), d.Digest)
	})
	h.all = h.disabled.Or(h.changed)
	h.untrusted = filter(v, p.sources(v, p.Ask).AndNot(h.all), func(d *snapshot.Document) bool { return p.Trusted == nil || !p.Trusted(d.Digest) })
	h.all = h.all.Or(h.untrusted)
	if p.Switches != nil {
		h.switches.apply(v, p.Switches())
	}
	if len(h.switches.list) == 0 && h.all.Count() == 0 && h.private.Count() == 0 {
		return nil
	}
	if h.private.Count() > 0 {
		h.onlyPrivate = &held{policy: p, private: h.private, switches: h.switches}
	}
	h.key = identify(v, h.all.Or(h.private))
	return h
}

// filter returns the skills for which is returns true.
func filter(v *snapshot.View, skills snapshot.Skills, is func(*snapshot.Document) bool) (found snapshot.Skills) {
	for i := range skills.All() {
		if d := v.Doc(i); is(&d) {
			found.Add(i)
		}
	}
	return found
}

// identify returns a hash of the rows of those skills that are in the base of the set. As long as
// they are the same, a calibration of that base holds.
func identify(v *snapshot.View, skills snapshot.Skills) string {
	rows := v.BaseRows(skills)
	if len(rows) == 0 {
		return ""
	}
	slices.Sort(rows)
	var b []byte
	for _, row := range rows {
		b = binary.LittleEndian.AppendUint64(b, uint64(row))
	}
	return fmt.Sprintf("%.8x", sha256.Sum256(b))
}

// has reports whether a skill is held back.
func (h *held) has(i int) bool { return h != nil && h.all.Has(i) }

// why returns the state of a skill that is held back, and the reason.
func (h *held) why(i int, d *snapshot.Document) (State, string) {
	switch {
	case h.disabled.Has(i):
		at := slices.IndexFunc(h.bans, func(skills snapshot.Skills) bool { return skills.Has(i) })
		if place := h.policy.Disabled[at].Place; place.Line > 0 {
			return Disabled, "disabled by " + place.String()
		}
		return Disabled, "disabled by the configuration"
	case h.changed.Has(i):
		return Changed, reasonFor(Changed, d.Name)
	}
	return Untrusted, reasonFor(Untrusted, d.Name)
}

// reasonFor says why a skill is in a state that follows from its digest.
func reasonFor(s State, name string) string {
	if s == Changed {
		return `changed since it was installed; "skills update --verify ` + name + `" shows what`
	}
	return `its project is not trusted yet; "skills trust" shows and trusts it`
}

// A HeldError says that a skill is held back, see Policy.
type HeldError struct {
	ID      string
	State   State
	Reason  string         // for the owner of the catalog: it may name files of the configuration
	Missing *NotFoundError // what somebody gets for whom the skill does not exist
}

func (e *HeldError) Error() string { return fmt.Sprintf("skill %s is held back: %s", e.ID, e.Reason) }

// ForAsker returns the message of ForAgent.
func (e *HeldError) ForAsker() string { return e.ForAgent().Error() }

// Unwrap returns Missing, which matches skill.ErrNotFound.
func (e *HeldError) Unwrap() error { return e.Missing }

// ForAgent returns the error for an agent, or for a model: that a skill is disabled is not
// its business, and what else holds a skill back is for the user to decide.
func (e *HeldError) ForAgent() error {
	if e.State == Disabled {
		return e.Missing
	}
	return &HeldError{ID: e.ID, State: e.State, Reason: "only the user can release it, after a review", Missing: e.Missing}
}
