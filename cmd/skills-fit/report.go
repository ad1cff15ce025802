package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/rank"
)

// rates are the shares of prompts that need no skill and are offered one all the same,
// which a report compares.
var rates = []float64{.01, .03, .05, .1}

// priorRates are the rates of rank.Gate.Prior.
var priorRates = []float64{.01, .02, .03, .05, .07, .1, .15, .2, .3, .5}

// mostOffered is how many skills a context offers by default.
const mostOffered = 8

// report fits the weights for one field of rank.Gate to the groups of the sets. It prints
// the weights, their effect on the sets and on catalogs of growing size, and what a catalog
// that knows nothing of itself takes as thresholds.
func (in *input) report(out io.Writer, k kind, sets, grown []group, words int) error {
	all := slices.Concat(sets, grown)
	ask(all, in.odds(k, words))
	w, err := regress(pointsOf(sets, in.fits))
	if err != nil {
		return err
	}
	l := logitOf(w, spreadOf(sets))
	fmt.Fprintf(out, "%s: %s\n", k.name, literal(l))
	fmt.Fprint(out, "Prior:")
	held := in.held(grown)
	for _, rate := range priorRates {
		fmt.Fprintf(out, " {%g, %.3f}", rate, logistic(quantile(held, l, rate)))
	}
	fmt.Fprint(out, "\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if err := in.writeLeftOut(t, sets); err != nil {
		return err
	}
	in.writeOffers(t, l, all)
	in.writeCuts(t, l, sets)
	if err := in.writeRotation(t, k, sets, all, words); err != nil {
		return err
	}
	return t.Flush()
}

// odds returns the function that says how likely a prompt asks for a task, by what a kind of
// search knows of it.
func (in *input) odds(k kind, words int) func(text string) float64 {
	classes := in.classes(in.fitted)
	odds := newRequestModel(classes, words).requestOdds(classes)
	if k.encoder != nil {
		odds = newMeaningModel(in.encoder, odds).requestOdds(classes)
	}
	return odds
}

// ask sets how likely each prompt asks for a task.
func ask(groups []group, odds func(string) float64) {
	at := slices.Index(terms[:], requestTerm)
	for _, g := range groups {
		for i := range g.samples {
			if s := &g.samples[i]; s.usable {
				s.x[at] = odds(s.text)
			}
		}
	}
}

// fits reports whether weights may be fitted to a sample: all but prompts that measure.
func (in *input) fits(s *sample) bool {
	return s.class != isNone || in.fitted[s.text] || !in.noneTexts[s.text]
}

// held returns the samples of the prompts that need no skill and measure.
func (in *input) held(groups []group) []*sample {
	var list []*sample
	for _, g := range groups {
		for i := range g.samples {
			if s := &g.samples[i]; s.class == isNone && in.noneTexts[s.text] && !in.fitted[s.text] {
				list = append(list, s)
			}
		}
	}
	return list
}

// logitOf returns the weights rounded to hundredths.
func logitOf(w features, spread float64) rank.Logit {
	for i := range w {
		w[i] = math.Round(w[i]*100) / 100
	}
	return rank.Logit{Base: w[0], Nearness: w[1], Strength: w[2], Coverage: w[3], Head: w[4], Size: w[5], Request: w[6], Sentence: w[7], Spread: spread}
}

func featuresOf(l rank.Logit) features {
	return features{l.Base, l.Nearness, l.Strength, l.Coverage, l.Head, l.Size, l.Request, l.Sentence}
}

// literal returns a Logit as a Go literal, without the fields that are 0.
func literal(l rank.Logit) string {
	var fields []string
	for _, f := range []struct {
		name  string
		value float64
	}{{"Base", l.Base}, {"Nearness", l.Nearness}, {"Sentence", l.Sentence}, {"Strength", l.Strength}, {"Coverage", l.Coverage}, {"Head", l.Head}, {"Size", l.Size}, {"Request", l.Request}, {"Spread", l.Spread}} {
		if f.value != 0 {
			fields = append(fields, f.name+": "+strconv.FormatFloat(f.value, 'f', -1, 64))
		}
	}
	return "Logit{" + strings.Join(fields, ", ") + "}"
}

// writeLeftOut prints, for each set, how well weights fitted to the other sets predict
// its demand. The other sets share the prompts that need no skill with it, but ask them in
// other catalogs.
func (in *input) writeLeftOut(out io.Writer, sets []group) error {
	fmt.Fprintln(out, "left out\tothers\tprompts\tAUC\tpredicted\tobserved\tcalibration error")
	var all []bench.Outcome
	for _, g := range sets {
		w, err := regress(pointsOf(slices.DeleteFunc(slices.Clone(sets), func(other group) bool { return other.set == g.set }), in.fits))
		if err != nil {
			return fmt.Errorf("without %s: %w", g.set, err)
		}
		probabilities := make(map[bool][]float64) // key: the prompt needs a skill
		var outcomes []bench.Outcome
		predicted, observed := 0.0, 0.0
		for _, s := range g.usable() {
			p := w.probability(s.x)
			probabilities[s.class == isWanting] = append(probabilities[s.class == isWanting], p)
			outcomes = append(outcomes, bench.Outcome{Probability: p, Wanted: s.wants()})
			predicted += p
			if s.wants() {
				observed++
			}
		}
		n := float64(len(outcomes))
		fmt.Fprintf(out, "%s\t%d\t%.0f\t%s\t%s\t%s\t%.3f\n", g.set, g.others, n, ratio(auc(probabilities[true], probabilities[false])),
			ratio(predicted/n), ratio(observed/n), bench.Reliability(outcomes).Error)
		all = append(all, outcomes...)
	}
	fmt.Fprintf(out, "all\t\t%d\t\t\t\t%.3f\n\n", len(all), bench.Reliability(all).Error)
	return nil
}

// writeOffers prints what is offered in each group at each rate: of the prompts that need
// a skill, the share whose offer has a wanted one, the skills in an offer, and the share of
// the wanted ones among them. The prompts that measure set the threshold.
func (in *input) writeOffers(out io.Writer, l rank.Logit, groups []group) {
	fmt.Fprint(out, "coverage, entries, right share at\tothers\tthreshold at .05")
	for _, rate := range rates {
		fmt.Fprintf(out, "\t%g\t\t", rate)
	}
	for _, g := range groups {
		held := in.held([]group{g})
		fmt.Fprintf(out, "\n%s\t%d\t%.3f", g.set, g.others, logistic(quantile(held, l, .05)))
		for _, rate := range rates {
			o := g.offers(l, quantile(held, l, rate), rank.DefaultGate())
			fmt.Fprintf(out, "\t%s\t%s\t%s", ratio(o.coverage), ratio(o.entries), ratio(o.right))
		}
	}
	fmt.Fprint(out, "\n\n")
}

// quantile returns the log odds that only the share rate of samples exceeds.
func quantile(list []*sample, l rank.Logit, rate float64) float64 {
	odds := make([]float64, len(list))
	for i, s := range list {
		odds[i] = s.odds(l)
	}
	slices.Sort(odds)
	return odds[max(0, len(odds)-1-int(rate*float64(len(odds))))]
}

// odds returns the log odds that the prompt needs a skill; a kind that needs none has none.
func (s *sample) odds(l rank.Logit) float64 {
	switch {
	case s.named():
		return math.Inf(1)
	case s.x == features{}:
		return math.Inf(-1)
	}
	return featuresOf(l).sum(s.x)
}

// offers are the figures of writeOffers; NaN if there are no prompts that need a skill.
type offers struct{ coverage, entries, right float64 }

// offers returns what is offered above a threshold, given as log odds.
func (g *group) offers(l rank.Logit, threshold float64, cut rank.Gate) offers {
	var o offers
	need, blocks := 0.0, 0.0
	for i := range g.samples {
		s := &g.samples[i]
		if s.class != isWanting {
			continue
		}
		need++
		list := s.offer(l, threshold, cut)
		wanted := 0.0
		for _, h := range list {
			if h.wanted {
				wanted++
			}
		}
		o.coverage += min(1, wanted)
		o.entries += float64(len(list))
		if len(list) > 0 {
			blocks++
			o.right += wanted / float64(len(list))
		}
	}
	return offers{o.coverage / need, o.entries / need, o.right / blocks}
}

// worth is how many needless entries of a list a missed skill costs: a task done worse,
// against some 40 tokens.
const worth = 20

// writeCuts prints what the cut Least of rank.Gate does to the lists at the rate .05, over
// the sets alone, and what the lists are worth.
func (in *input) writeCuts(out io.Writer, l rank.Logit, sets []group) {
	fmt.Fprintln(out, "least\tcoverage\tentries\tright share\tworth")
	for _, least := range []float64{0, .02, .03, .04, .05, .06, .08, .1} {
		var mean offers
		n := 0.0
		for _, g := range sets {
			if g.others == 0 {
				o := g.offers(l, quantile(in.held([]group{g}), l, .05), rank.Gate{Least: least})
				mean.coverage, mean.entries, mean.right = mean.coverage+o.coverage, mean.entries+o.entries, mean.right+o.right
				n++
			}
		}
		fmt.Fprintf(out, "%g\t%.3f\t%.2f\t%.3f\t%.3f\n", least, mean.coverage/n, mean.entries/n, mean.right/n, (mean.coverage-mean.entries/worth)/n)
	}
	fmt.Fprintln(out)
}

// offer returns the hits that a gate with weights l and the cuts of gate would offer, as
// rank.Gate does.
func (s *sample) offer(l rank.Logit, threshold float64, gate rank.Gate) []hit {
	demand := featuresOf(l).probability(s.x)
	demanded := s.x != features{} && featuresOf(l).sum(s.x) > threshold // without features, the prompt's kind decides
	var rest []float64                                                  // probabilities of those that are not named
	total := 0.0
	for _, h := range s.hits {
		if !h.named {
			rest = append(rest, demand*math.Exp(h.score/l.Spread))
			if len(rest) <= rank.GateDepth {
				total += rest[len(rest)-1] / demand
			}
		}
	}
	var list []hit
	n := 0
	for _, h := range s.hits {
		if h.named {
			list = append(list, h)
			continue
		}
		best := n == 0 && !s.named()
		if demanded && (best || rest[n] >= gate.Least*total) {
			list = append(list, h)
		}
		n++
	}
	return list[:min(mostOffered, len(list))]
}

// ratio formats a share; NaN is a dash.
func ratio(f float64) string {
	if math.IsNaN(f) {
		return "–"
	}
	return fmt.Sprintf("%.3f", f)
}
