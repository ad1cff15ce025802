package search

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// OnlyNamed is a rate of disturbance at which a prompt gets only the skills that it
// names. (A rate of 0 means the default.)
const OnlyNamed = -1.0

// CheckLevels returns an error if a threshold and a rate of disturbance are both set, or
// if one of them is out of its range.
func (q *Query) CheckLevels() error {
	switch {
	case q.Threshold != 0 && q.Disturb != 0:
		return errors.New("threshold and disturb are both set; leave one of them out")
	case !(q.Threshold <= 1):
		return errors.New("threshold must be a probability up to 1")
	case !(q.Disturb <= 1):
		return errors.New("disturb must be a share up to 1")
	}
	return nil
}

// A Background says what the threshold of an answer follows from.
type Background struct {
	// Disturb is the share of the prompts that need no skill that may get an offer,
	// 0 to 1; -1 means that the threshold was set instead.
	Disturb float64
	// Prompts is the number of prompts that need no skill and were ranked in this
	// catalog, and Higher how many of them reach a higher demand than this prompt.
	// With 0 of them the threshold is the threshold of a typical catalog.
	Prompts, Higher int
	Missing         string // why Prompts is 0; "" when it is not
	Due             bool   // the catalog must be calibrated, perhaps only for this agent, see Calibrator
}

// setThreshold sets from which demand on skills are relevant.
func (x *ranker) setThreshold(r *retrieval, q Query) {
	threshold, rate := q.Threshold, q.Disturb
	if threshold == 0 && rate == 0 {
		threshold, rate = x.opts.Threshold, x.opts.Disturb
	}
	x.setBackground(r, q.Agent)
	if threshold != 0 {
		r.Background.Disturb, r.Threshold = -1, max(0, threshold)
		return
	}
	b := &r.Background
	b.Disturb = max(0, cmp.Or(rate, rank.DefaultRate))
	r.Threshold = x.opts.Params.Gate.ThresholdFor(b.Disturb, r.view.Scope.Visible, r.demands)
}

// setBackground looks up the demands of the prompts that need no skill in the scope of an
// agent, or else in the whole catalog.
func (x *ranker) setBackground(r *retrieval, a *Agent) {
	b, s := &r.Background, r.view.Set
	if b.Missing = x.outdated(s); b.Missing != "" {
		b.Due = true
		return
	}
	if s.Model() != "" && r.vector[snapshot.Words] == nil {
		b.Missing = "the catalog was calibrated with vectors, but the embedder gave none for this prompt"
		return
	}
	var ok bool
	if r.demands, ok = s.Calibration.Demands[r.key(a)]; !ok {
		r.demands, b.Due = s.Calibration.Demands[""], true
	}
	b.Prompts = len(r.demands)
}

// key is the scopeKey of an agent, which takes longer to make than to look up.
func (r *retrieval) key(a *Agent) string {
	if a == nil && r.held == nil {
		return ""
	}
	key, _ := remember(r.view.Set, mostScopes, viewKey{a.sees(), r.held}, func() (string, error) { return a.scopeKey(r.held), nil })
	return key
}

// outdated says why the calibration of a set cannot be used; "" means that it can.
func (x *ranker) outdated(s *snapshot.Set) string {
	type reason struct{ *ranker }
	why, _ := remember(s, mostPolicies, reason{x}, func() (string, error) {
		switch c := s.Calibration; {
		case c == nil:
			return "the catalog has not been calibrated yet", nil
		case c.Method != x.method():
			return "another version of this program calibrated the catalog", nil
		case !c.Fits(s):
			return "the catalog has changed much since it was calibrated", nil
		}
		return "", nil
	})
	return why
}

// scaleOf returns the scale that a calibration has measured; the zero value means that it has
// measured none.
func scaleOf(c *snapshot.Calibration) (s rank.Scale) {
	for n, spread := range c.Cosines {
		s[vectorLeg(n)] = rank.Spread(spread)
	}
	return s
}

// Quiet says why a prompt gets no skill but those that it names; "" if it may get others.
func (r *Ranking) Quiet() string {
	switch {
	case r.Kind != "":
		return "the prompt is " + intent.Kind(r.Kind).Phrase()
	case r.Demand.Probability < r.Threshold:
		likely, threshold := figures.Percents(r.Demand.Probability, r.Threshold)
		return fmt.Sprintf("this prompt looks %s likely to need a skill; the threshold is %s", likely, threshold)
	}
	return ""
}

// Promise says what the threshold is good for; "" if it was set by hand.
func (b *Background) Promise() string {
	if b.Disturb < 0 {
		return ""
	}
	return fmt.Sprintf("at most %.3g %% of the prompts that need no skill get one", 100*b.Disturb)
}

// Reference says how a prompt compares with the prompts that need no skill, or why the
// threshold is an estimate; "" if there is nothing to say.
func (r *Ranking) Reference() string {
	switch b := &r.Background; {
	case b.Prompts > 0 && r.Kind == "":
		return fmt.Sprintf("of %d prompts that need no skill, %d would score higher here", b.Prompts, b.Higher)
	case b.Prompts == 0 && b.Disturb >= 0 && b.Missing != "":
		return "none, so that the threshold is an estimate: " + b.Missing
	case b.Prompts == 0 && b.Disturb >= 0:
		return "none, so that the threshold is an estimate"
	}
	return ""
}
