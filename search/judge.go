package search

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// rank orders the candidates, best first, and leaves out copies.
func (x *ranker) rank(r *retrieval) {
	r.all = rank.Order(r.candidates, r.prompt.full, *x.opts.Params)
	r.scored = x.judge(r, r.distinct(r.all))
}

// judge sets the probability that each of the scored is wanted, and leaves out what Query.Fitting
// does. For a prompt of a kind that needs no skill, only the skills that it names for
// certain are relevant.
func (x *ranker) judge(r *retrieval, scored []rank.Scored) []rank.Scored {
	for i, left := 0, rank.GateDepth; i < len(scored) && left > 0; i++ {
		r.measure(&scored[i])
		if !scored[i].Exact {
			left--
		}
	}
	gate := x.opts.Params.Gate
	gate.Threshold = r.Threshold
	r.Demand = gate.Judge(scored, rank.Known{Skills: r.view.Scope.Visible, Calibrated: r.calibrated(), Request: r.request, Read: r.foreign})
	if len(r.parts) > 0 {
		r.Demand = rank.Raise(scored, r.Demand, r.parts, x.alone(r), r.Threshold)
	}
	if r.onlyFitting {
		scored = r.fitting(scored)
	}
	if r.Kind == "" {
		return scored
	}
	r.Demand = rank.Demand{}
	for i := range scored {
		if s := &scored[i]; !s.Exact {
			s.Probability, s.Relevant = 0, false
		}
	}
	return scored
}

// measure fills in the coverage, head share, evidence and strength of a candidate. Only the best
// candidates need them.
func (r *retrieval) measure(s *rank.Scored) {
	s.Coverage, s.Evidence = r.prompt.coverage(r.view, s.Key)
	s.HeadShare = r.prompt.headShare(r.view, s.Key)
	// BM25 gives no weight to a word that half of the skills have. In a catalog of
	// one or two skills nothing would match; there the evidence counts instead.
	s.Strength = max(s.Value(rank.Text)/r.prompt.rarest, s.Evidence)
}

// requestOf returns how likely the prompt asks for a task, as log odds: by its words, and by its
// vector if the encoder can tell.
func (x *ranker) requestOf(r *retrieval, sentence embed.Vector) float64 {
	odds := intent.Request(r.prompt.english)
	if f, ok := x.encoderOf(r.view.Set).(embed.Fitted); ok && sentence != nil {
		if by, ok := f.Request(sentence, odds); ok {
			odds = max(-intent.MostRequest, min(intent.MostRequest, by))
		}
	}
	return odds
}

// calibrated reports whether the cosines of the candidates are on the scale that the
// gate was fitted to.
func (r *retrieval) calibrated() bool {
	return r.vector[snapshot.Words] != nil && (r.scale.Known() || onScale(r.embedder))
}

// The limits of Query.Fitting.
const (
	// negligible is the probability below which a hit is not worth listing, unless it is not
	// far behind the best: where many skills fit alike, none has a high probability.
	negligible = .001
	// vague is the demand below which nothing fits a text that shares no word with any skill:
	// for vectors something is near to each text, even to "xyzzy".
	vague = .2
)

// WorthReading is a Query.Least for answers that a model pays for. Of the hits that are wanted
// among the first eight it loses 3 of 100 on the dev sets, and a third of all hits; of the
// requests that no skill is for, one in five gets no hit instead of one in sixty.
const WorthReading = .01

// fitting leaves out the candidates that are hardly worth listing. A candidate stays if it is
// relevant, or if the text is the start of its name: somebody may be typing it.
func (r *retrieval) fitting(scored []rank.Scored) []rank.Scored {
	nothing := r.calibrated() && r.Demand.Probability < vague && !slices.ContainsFunc(scored, sharesWord)
	least := negligible
	if best := slices.IndexFunc(scored, func(s rank.Scored) bool { return !s.Exact }); best >= 0 {
		least = min(least, scored[best].Probability/10)
	}
	least = max(least, r.least)
	start := words.NameKey(r.prompt.text)
	fits := make([]rank.Scored, 0, len(scored))
	for _, s := range scored {
		begun := start != "" && strings.HasPrefix(r.view.Doc(s.Key).Key, start)
		if s.Relevant || begun || !nothing && s.Probability >= least {
			fits = append(fits, s)
		}
	}
	r.unfit = len(scored) - len(fits)
	return fits
}

// sharesWord reports whether a candidate has a word of the text and is judged by it.
func sharesWord(s rank.Scored) bool {
	return !s.Exact && (s.Value(rank.Text) > 0 || s.Strength > 0 || s.NameMatch > 0)
}
