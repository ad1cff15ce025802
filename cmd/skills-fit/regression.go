package main

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/rank"
)

// features are the values of rank.Figures for the best hit of a prompt; a missing term is 0. Or they are
// the weights of these.
type features []float64

// figure returns the place of a figure in features.
func figure(name string) int {
	return slices.IndexFunc(rank.Figures, func(f rank.Figure) bool { return f.Name == name })
}

// probability returns how likely the best hit is right with features x, given the weights w.
func (w features) probability(x features) float64 { return logistic(w.sum(x)) }

// logistic returns the probability that log odds stand for.
func logistic(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// sum returns the weighted sum of x.
func (w features) sum(x features) (sum float64) {
	for i := range w {
		sum += w[i] * x[i]
	}
	return sum
}

// A point is a usable sample with its weight.
type point struct {
	x      features
	y      float64 // 1 if the best hit is what the prompt wants, else 0
	weight float64
}

// shares are those of a catalog's weight that each class of prompts gets.
var shares = map[string]float64{isThere: .4, isAbsent: .4, isNeedless: .2}

// pointsOf returns the usable samples. All groups have the same weight; the
// average weight of a sample is 1.
func pointsOf(groups []group) []point {
	var list []point
	for _, g := range groups {
		count := make(map[string]float64)
		for _, s := range g.samples {
			if s.usable {
				count[s.class]++
			}
		}
		for _, s := range g.samples {
			if s.usable {
				p := point{x: s.x, weight: shares[s.class] / count[s.class]}
				if s.right() {
					p.y = 1
				}
				list = append(list, p)
			}
		}
	}
	for i := range list {
		list[i].weight *= float64(len(list)) / float64(len(groups))
	}
	return list
}

// fit fits the weights. A weight that would be below what its figure may have is 0.
func fit(points []point) (features, error) {
	out := make([]bool, len(rank.Figures))
	for {
		w, err := regress(points, out)
		if err != nil {
			return nil, err
		}
		worst := -1
		for i, f := range rank.Figures {
			if w[i] < f.Least && (worst < 0 || w[i] < w[worst]) {
				worst = i
			}
		}
		if worst < 0 {
			return w, nil
		}
		out[worst] = true
	}
}

// regress fits the weights of a logistic regression by Newton's method. A small
// penalty on the squares of all weights but the first gives a useless feature the
// weight 0; the features that are out have it in any case.
func regress(points []point, out []bool) (features, error) {
	const penalty, steps, enough = .5, 50, 1e-9
	w := make(features, len(out))
	for range steps {
		gradient, hessian := make([]float64, len(w)), make([][]float64, len(w))
		for i := range hessian {
			hessian[i] = make([]float64, i+1) // the lower half
		}
		for _, s := range points {
			p := w.probability(s.x)
			for i, v := range s.x {
				gradient[i] += s.weight * (p - s.y) * v
				for j := range i + 1 {
					hessian[i][j] += s.weight * p * (1 - p) * v * s.x[j]
				}
			}
		}
		for i := 1; i < len(w); i++ {
			gradient[i] += penalty * w[i]
			hessian[i][i] += penalty
		}
		for i, is := range out {
			if is {
				gradient[i] = 0
				clear(hessian[i])
				for j := i; j < len(w); j++ {
					hessian[j][i] = 0
				}
				hessian[i][i] = 1
			}
		}
		factor(hessian)
		solveFactored(hessian, gradient)
		largest := 0.0
		for i, step := range gradient {
			w[i] -= step
			largest = max(largest, math.Abs(step))
		}
		if largest < enough {
			return w, nil
		}
	}
	return w, errors.New("no weights fit: either all prompts find a wanted skill or none does")
}

// spreadOf returns the spread, in steps of .01 up to 2, that makes the wanted hits
// likeliest among the first hits of their prompts.
func spreadOf(groups []group) float64 {
	best, spread := math.Inf(-1), 0.0
	for hundredths := 1; hundredths <= 200; hundredths++ {
		tau, sum := float64(hundredths)/100, 0.0
		for _, g := range groups {
			for _, s := range g.samples {
				if s.usable && slices.ContainsFunc(s.near(), func(h hit) bool { return h.wanted }) {
					sum += math.Log(s.wantedShare(tau))
				}
			}
		}
		if sum > best {
			best, spread = sum, tau
		}
	}
	return spread
}

// near returns the hits that a gate considers.
func (s *sample) near() []hit { return s.hits[:min(rank.GateDepth, len(s.hits))] }

// wantedShare returns the share of the wanted hits in the softmax of all hits.
func (s *sample) wantedShare(spread float64) float64 {
	wanted, all := 0.0, 0.0
	for _, h := range s.near() {
		e := math.Exp((h.score - s.hits[0].score) / spread)
		all += e
		if h.wanted {
			wanted += e
		}
	}
	return max(wanted, math.SmallestNonzeroFloat64) / all // a hit that is far behind may underflow to 0
}

// auc returns how often a value of high is above a value of low; a tie counts half.
// It returns NaN if one of the lists is empty.
func auc(high, low []float64) float64 {
	sum := 0.0
	for _, h := range high {
		for _, l := range low {
			sum += float64(1+cmp.Compare(h, l)) / 2
		}
	}
	return sum / float64(len(high)*len(low))
}
