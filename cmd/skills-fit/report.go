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

// thresholds are the thresholds that a report compares.
var thresholds = []float64{.3, .4, .5, .6, .7, .8}

// mostOffered is how many skills a context offers by default.
const mostOffered = 8

// writeReport fits the weights for one field of rank.Gate to the groups of the sets.
// It prints the weights and their effect on the sets and on catalogs of growing size.
func writeReport(out io.Writer, name string, sets, grown []group) error {
	w, err := regress(pointsOf(sets))
	if err != nil {
		return err
	}
	l := logitOf(w, spreadOf(sets))
	fmt.Fprintf(out, "%s: %s\n\n", name, literal(l))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if err := writeLeftOut(t, sets); err != nil {
		return err
	}
	writeOffers(t, l, slices.Concat(sets, grown))
	return t.Flush()
}

// logitOf returns the weights rounded to hundredths.
func logitOf(w features, spread float64) rank.Logit {
	for i := range w {
		w[i] = math.Round(w[i]*100) / 100
	}
	return rank.Logit{Base: w[0], Nearness: w[1], Strength: w[2], Coverage: w[3], Size: w[4], Spread: spread}
}

// literal returns a Logit as a Go literal, without the fields that are 0.
func literal(l rank.Logit) string {
	var fields []string
	for _, f := range []struct {
		name  string
		value float64
	}{{"Base", l.Base}, {"Nearness", l.Nearness}, {"Strength", l.Strength}, {"Coverage", l.Coverage}, {"Size", l.Size}, {"Spread", l.Spread}} {
		if f.value != 0 {
			fields = append(fields, f.name+": "+strconv.FormatFloat(f.value, 'f', -1, 64))
		}
	}
	return "Logit{" + strings.Join(fields, ", ") + "}"
}

// writeLeftOut prints, for each set, how well weights fitted to the other sets predict
// its demand. The other sets share the prompts of --none with it, but ask them in
// other catalogs.
func writeLeftOut(out io.Writer, sets []group) error {
	fmt.Fprintln(out, "left out\tothers\tprompts\tAUC\tpredicted\tobserved\tcalibration error")
	var all []bench.Outcome
	for _, g := range sets {
		w, err := regress(pointsOf(slices.DeleteFunc(slices.Clone(sets), func(other group) bool { return other.set == g.set })))
		if err != nil {
			return fmt.Errorf("without %s: %w", g.set, err)
		}
		probabilities := make(map[bool][]float64) // key: the prompt needs no skill
		var outcomes []bench.Outcome
		predicted, observed := 0.0, 0.0
		for _, s := range g.usable() {
			p := w.probability(s.x)
			probabilities[s.none] = append(probabilities[s.none], p)
			outcomes = append(outcomes, bench.Outcome{Probability: p, Wanted: s.wants()})
			predicted += p
			if s.wants() {
				observed++
			}
		}
		n := float64(len(outcomes))
		fmt.Fprintf(out, "%s\t%d\t%.0f\t%s\t%s\t%s\t%.3f\n", g.set, g.others, n, ratio(auc(probabilities[false], probabilities[true])),
			ratio(predicted/n), ratio(observed/n), bench.Reliability(outcomes).Error)
		all = append(all, outcomes...)
	}
	fmt.Fprintf(out, "all\t\t%d\t\t\t\t%.3f\n\n", len(all), bench.Reliability(all).Error)
	return nil
}

// writeOffers prints the effect of each threshold on the groups. Of the prompts that
// need a skill, it prints the share whose offer has a wanted skill; of the others, the
// share that is offered any skill.
func writeOffers(out io.Writer, l rank.Logit, groups []group) {
	fmt.Fprint(out, "coverage/false injection\tothers")
	for _, threshold := range thresholds {
		fmt.Fprintf(out, "\t%g", threshold)
	}
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s\t%d", g.set, g.others)
		for _, threshold := range thresholds {
			coverage, injection := g.offers(l, threshold)
			fmt.Fprintf(out, "\t%s/%s", ratio(coverage), ratio(injection))
		}
	}
	fmt.Fprint(out, "\n\n")
}

// offers returns the two shares of writeOffers; NaN if there are no such prompts.
func (g *group) offers(l rank.Logit, threshold float64) (coverage, injection float64) {
	need, none := 0.0, 0.0
	for i := range g.samples {
		s := &g.samples[i]
		offered := s.offer(l, threshold)
		if s.none {
			none++
			injection += float64(min(1, len(offered)))
			continue
		}
		need++
		if slices.ContainsFunc(offered, func(h hit) bool { return h.wanted }) {
			coverage++
		}
	}
	return coverage / need, injection / none
}

// offer returns the hits that a gate with weights l would offer, as rank.Gate does.
func (s *sample) offer(l rank.Logit, threshold float64) []hit {
	w := features{l.Base, l.Nearness, l.Strength, l.Coverage, l.Size}
	demanded := s.x != features{} && w.probability(s.x) >= threshold // without features, the prompt's kind decides
	best := slices.IndexFunc(s.hits, func(h hit) bool { return !h.named })
	var list []hit
	for _, h := range s.hits {
		if h.named || demanded && math.Exp((h.score-s.hits[best].score)/l.Spread) >= rank.DefaultGate().Rival {
			list = append(list, h)
		}
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
