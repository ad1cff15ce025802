package search

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/snapshot"
)

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
		want := p.locked(d.Source, d.Dir())
		return want != "" && want != d.Digest
	})
	h.all = h.disabled.Or(h.changed)
	h.untrusted = filter(v, p.sources(v, p.Ask).AndNot(h.all), func(d *snapshot.Document) bool { return p.Trusted == nil || !p.Trusted(d.Digest) })
	h.all = h.all.Or(h.untrusted)
	if h.all.Count() == 0 && h.private.Count() == 0 {
		return nil
	}
	if h.private.Count() > 0 {
		h.onlyPrivate = &held{policy: p, private: h.private}
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

// identify returns a hash of the rows of those of some skills that the base of the set has: as
// long as they are the same, a calibration of that base holds.
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
