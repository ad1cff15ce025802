package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/repertoire-skills/repertoire/rank"
)

// priorRates are the rates of a rank.Prior.
var priorRates = []float64{.01, .02, .03, .05, .07, .1, .15, .2, .25, .3, .4, .5}

// mostOffered is how many skills a context offers by default.
const mostOffered = 8

// report fits the weights for one field of rank.Gate to groups. It prints
// the weights, what a catalog that knows nothing of itself takes as thresholds, and what is offered in
// the groups that measure.
func (in *input) report(out io.Writer, k kind, fitted, measured []group, words int) error {
	in.ask(k, words, fitted, measured)
	w, err := fit(pointsOf(fitted))
	if err != nil {
		return err
	}
	l := logitOf(w, spreadOf(fitted))
	fmt.Fprintf(out, "%s: %s\n", k.name, literal(l))
	for _, of := range [2]struct{ class, name string }{{isNeedless, "Needless"}, {isAbsent, "Unfit"}} {
		fmt.Fprintf(out, "%s: Prior{", of.name)
		for i, rate := range priorRates {
			if i > 0 {
				fmt.Fprint(out, ", ")
			}
			fmt.Fprintf(out, "{%g, %.3f}", rate, logistic(typical(fitted, l, of.class, rate)))
		}
		fmt.Fprintln(out, "}")
	}
	if len(measured) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "catalog\tarea under the curve\tthreshold\tunfit\tdisturbed\tcoverage\tentries\tright share")
	for _, g := range measured {
		o := g.offers(l, logistic(typical(measured, l, isAbsent, rank.DefaultUnfit)), rank.DefaultGate().Least)
		exact := g.offers(l, logistic(quantile(g.odds(l, isAbsent), rank.DefaultUnfit)), rank.DefaultGate().Least)
		fmt.Fprintf(t, "%s\t%s\t%s\n\t at its own\t%s\n", g.name, ratio(auc(g.oddsOf(l, isThere, true), g.odds(l, isAbsent))), o, exact)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// typical returns the mean over the groups of the log odds that only a share of a class exceeds.
func typical(groups []group, l rank.Logit, class string, rate float64) float64 {
	sum, n := 0.0, 0.0
	for i := range groups {
		if list := groups[i].odds(l, class); len(list) > 0 {
			sum, n = sum+max(-20, quantile(list, rate)), n+1
		}
	}
	return sum / n
}

// ask sets how likely each prompt asks for a task.
func (in *input) ask(k kind, words int, lists ...[]group) {
	classes := in.classes()
	odds := newRequestModel(classes, words).requestOdds(classes)
	if k.encoder != nil {
		odds = newMeaningModel(in.encoder, odds).requestOdds(classes)
	}
	at := figure("request")
	for _, g := range slices.Concat(lists...) {
		for i := range g.samples {
			if s := &g.samples[i]; s.usable {
				s.x[at] = odds(s.text)
			}
		}
	}
}

// logitOf returns the weights rounded to hundredths, with those of the default gate that are set by
// hand.
func logitOf(w features, spread float64) rank.Logit {
	l := rank.Logit{Spread: spread}
	for i, f := range rank.Figures {
		*f.Weight(&l) = math.Round(w[i]*100) / 100
	}
	hand := rank.DefaultGate().Contextual
	l.Trigger, l.Example, l.Read = hand.Trigger, hand.Example, hand.Read
	return l
}

// literal returns a Logit as a Go literal, without the fields that are 0.
func literal(l rank.Logit) string {
	fields := strings.Fields(strings.Trim(fmt.Sprintf("%+v", l), "{}"))
	fields = slices.DeleteFunc(fields, func(f string) bool { return strings.HasSuffix(f, ":0") })
	for i, f := range fields {
		name, value, _ := strings.Cut(f, ":")
		x, _ := strconv.ParseFloat(value, 64)
		fields[i] = name + ": " + strconv.FormatFloat(x, 'f', -1, 64)
	}
	return "Logit{" + strings.Join(fields, ", ") + "}"
}

// odds returns the log odds of the samples of a class, in rising order.
func (g *group) odds(l rank.Logit, class string) []float64 { return g.oddsOf(l, class, false) }

// oddsOf is odds, if right only of those whose best hit is right.
func (g *group) oddsOf(l rank.Logit, class string, right bool) (list []float64) {
	for i := range g.samples {
		if s := &g.samples[i]; s.class == class && (!right || s.right()) {
			list = append(list, s.odds(l))
		}
	}
	slices.Sort(list)
	return list
}

// quantile returns the log odds, of those in rising order, that only the share rate exceeds.
func quantile(odds []float64, rate float64) float64 {
	return odds[max(0, len(odds)-1-int(rate*float64(len(odds))))]
}

// odds returns the log odds that the best hit is right; a kind that needs no skill has none.
func (s *sample) odds(l rank.Logit) float64 {
	switch {
	case slices.ContainsFunc(s.hits, func(h hit) bool { return h.named }):
		return math.Inf(1)
	case !s.usable:
		return math.Inf(-1)
	}
	sum := 0.0
	for i, f := range rank.Figures {
		sum += *f.Weight(&l) * s.x[i]
	}
	return sum
}

// offers are what a group gets above a threshold: the shares of the prompts of each class that are
// offered anything, of those whose skill is there the share that is offered it, and what is in a list.
type offers struct {
	threshold, unfit, disturbed, coverage, entries, right float64
}

func (o offers) String() string {
	return strings.Join([]string{ratio(o.threshold), ratio(o.unfit), ratio(o.disturbed), ratio(o.coverage), ratio(o.entries), ratio(o.right)}, "\t")
}

// offers returns what is offered above a threshold, and beside the best from the probability least on.
func (g *group) offers(l rank.Logit, threshold, least float64) offers {
	o := offers{threshold: threshold}
	count, offered := make(map[string]float64), make(map[string]float64)
	for i := range g.samples {
		s := &g.samples[i]
		count[s.class]++
		p := logistic(s.odds(l))
		if p <= threshold || len(s.hits) == 0 {
			continue
		}
		offered[s.class]++
		wanted, listed := 0.0, 0.0
		for n, h := range s.hits[:min(mostOffered, len(s.hits))] {
			if n == 0 || p*math.Exp((h.score-s.hits[0].score)/l.Spread) >= least {
				listed++
				if h.wanted {
					wanted++
				}
			}
		}
		if s.class == isThere {
			o.coverage += min(1, wanted)
			o.entries += listed
			o.right += wanted / listed
		}
	}
	there := offered[isThere]
	o.unfit, o.disturbed = offered[isAbsent]/count[isAbsent], offered[isNeedless]/count[isNeedless]
	o.coverage, o.entries, o.right = o.coverage/count[isThere], o.entries/there, o.right/there
	return o
}

// ratio formats a share; NaN is a dash.
func ratio(f float64) string {
	if math.IsNaN(f) {
		return "–"
	}
	return fmt.Sprintf("%.3f", f)
}
