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
	bans   [][]snapshot.Bitmap // the skills that each of policy.Disabled matches, by segment
	// The skills by state, by segment. No skill is in two of them.
	disabled, changed, untrusted []snapshot.Bitmap
	all                          []snapshot.Bitmap // the skills of these three
	private                      []snapshot.Bitmap // the skills that only agents that use them see
	released                     *held             // the same, but only private skills are kept out of scopes; nil means that none is private
	key                          string            // identifies all and private for a calibration
}

// heldIn returns the skills of a set that are held back; nil means none.
func (x *Searcher) heldIn(v *snapshot.View) (*held, error) {
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
	h := &held{policy: p, disabled: p.sources(v, nil), private: p.sources(v, p.Private)}
	for i := range p.Disabled {
		sets := p.banned(v, &p.Disabled[i])
		h.bans = append(h.bans, sets)
		for n := range sets {
			h.disabled[n] = h.disabled[n].Or(sets[n])
		}
	}
	h.changed = p.filter(v, p.Installed, h.disabled, func(d *snapshot.Document) bool {
		want := p.locked(d.Source, d.Dir())
		return want != "" && want != d.Digest
	})
	h.all = join(h.disabled, h.changed)
	h.untrusted = p.filter(v, p.Ask, h.all, func(d *snapshot.Document) bool { return p.Trusted == nil || !p.Trusted(d.Digest) })
	h.all = join(h.all, h.untrusted)
	if !slices.ContainsFunc(h.all, anything) && !slices.ContainsFunc(h.private, anything) {
		return nil
	}
	if slices.ContainsFunc(h.private, anything) {
		h.released = &held{policy: p, all: p.sources(v, nil), private: h.private}
	}
	h.key = identify(v, join(h.all, h.private))
	return h
}

// filter returns the skills of the listed sources that are not in the sets of before, and
// for which is returns true.
func (p *policy) filter(v *snapshot.View, sources []string, before []snapshot.Bitmap, is func(*snapshot.Document) bool) []snapshot.Bitmap {
	found, own := p.sources(v, nil), p.sources(v, sources)
	v.Segments(func(n int, r *snapshot.Reader, _ snapshot.Bitmap) error {
		for doc := range own[n].AndNot(before[n]).All() {
			d, err := r.Doc(doc)
			if err != nil {
				return err
			}
			if is(&d) {
				found[n].Set(doc)
			}
		}
		return nil
	})
	return found
}

// join returns the skills that are in one of two sets, by segment.
func join(a, b []snapshot.Bitmap) []snapshot.Bitmap {
	all := make([]snapshot.Bitmap, len(a))
	for n := range a {
		all[n] = a[n].Or(b[n])
	}
	return all
}

// identify returns a hash of the rows of those of some skills that the base of the set has: as
// long as they are the same, a calibration of that base holds.
func identify(v *snapshot.View, skills []snapshot.Bitmap) string {
	var rows []int64
	var base *snapshot.Reader
	v.Segments(func(n int, r *snapshot.Reader, _ snapshot.Bitmap) error {
		if n == 0 {
			base = r
		}
		for doc := range skills[n].All() {
			f, err := r.Facts(doc)
			if err != nil {
				return err
			}
			known := n == 0
			if !known {
				if _, known, err = base.Ordinal(f.Row); err != nil {
					return err
				}
			}
			if known {
				rows = append(rows, f.Row)
			}
		}
		return nil
	})
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
func (h *held) has(v *snapshot.View, i int) bool { return h != nil && within(v, h.all, i) }

// within reports whether a skill is in one of the sets, which are ordered by segment.
func within(v *snapshot.View, sets []snapshot.Bitmap, i int) bool {
	n, doc := v.At(i)
	return sets[n].Has(doc)
}

// why returns the state of a skill that is held back, and the reason.
func (h *held) why(v *snapshot.View, i int, d *snapshot.Document) (State, string) {
	switch {
	case within(v, h.disabled, i):
		at := slices.IndexFunc(h.bans, func(sets []snapshot.Bitmap) bool { return within(v, sets, i) })
		if place := h.policy.Disabled[at].Place; place.Line > 0 {
			return Disabled, "disabled by " + place.String()
		}
		return Disabled, "disabled by the configuration"
	case within(v, h.changed, i):
		return Changed, reasonFor(Changed, d.Name)
	}
	return Untrusted, reasonFor(Untrusted, d.Name)
}

// reasonFor says why a skill is in a state that follows from its digest.
func reasonFor(s State, name string) string {
	if s == Changed {
		return `changed since it was installed; "skills verify ` + name + `" shows what`
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
