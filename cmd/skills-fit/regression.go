package main

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/rank"
)

// features are the values of the terms of a rank.Demand; a missing term is 0. The
// first feature is always 1.
type features [5]float64

var terms = [len(features{})]string{"base", "nearness", "strength", "coverage", "size"}

func (x *features) set(t rank.Term) {
	if i := slices.Index(terms[:], t.Name); i >= 0 {
		x[i] = t.Value
	}
}

// probability returns how likely a prompt with features x wants a skill, given the
// weights w.
func (w features) probability(x features) float64 {
	sum := 0.0
	for i := range w {
		sum += w[i] * x[i]
	}
	return 1 / (1 + math.Exp(-sum))
}

// A point is a usable sample with its weight.
type point struct {
	x      features
	y      float64 // 1 if the prompt wants a skill, else 0
	weight float64
}

// noneShare is the share of a group's weight that its prompts without a need for a
// skill get. Sets have few such prompts, but hosts see many.
const noneShare = .4

// pointsOf returns the usable samples. All groups have the same weight; the average
// weight of a sample is 1.
func pointsOf(groups []group) []point {
	var list []point
	for _, g := range groups {
		count := make(map[bool]float64)
		for _, s := range g.usable() {
			count[s.none]++
		}
		for _, s := range g.usable() {
			p := point{x: s.x, weight: (1 - noneShare) / count[false]}
			if s.none {
				p.weight = noneShare / count[true]
			}
			if s.wants() {
				p.y = 1
			}
			list = append(list, p)
		}
	}
	for i := range list {
		list[i].weight *= float64(len(list)) / float64(len(groups))
	}
	return list
}

// regress fits the weights of a logistic regression by Newton's method. A small
// penalty on the squares of all weights but the first gives a useless feature the
// weight 0.
func regress(points []point) (features, error) {
	const penalty, steps, enough = .5, 50, 1e-9
	var w features
	for range steps {
		var gradient features
		var hessian [len(w)]features
		for _, s := range points {
			p := w.probability(s.x)
			for i, v := range s.x {
				gradient[i] += s.weight * (p - s.y) * v
				for j := range s.x {
					hessian[i][j] += s.weight * p * (1 - p) * v * s.x[j]
				}
			}
		}
		for i := 1; i < len(w); i++ {
			gradient[i] += penalty * w[i]
			hessian[i][i] += penalty
		}
		largest := 0.0
		for i, step := range solve(hessian, gradient) {
			w[i] -= step
			largest = max(largest, math.Abs(step))
		}
		if largest < enough {
			return w, nil
		}
	}
	return w, errors.New("no weights fit: either all prompts find a wanted skill or none does")
}

// solve solves a·x = b for a positive definite matrix by elimination. The result is
// NaN if there is no solution.
func solve(a [len(features{})]features, b features) features {
	for i := range a {
		for k := i + 1; k < len(a); k++ {
			f := a[k][i] / a[i][i]
			for j := range a {
				a[k][j] -= f * a[i][j]
			}
			b[k] -= f * b[i]
		}
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := i + 1; j < len(a); j++ {
			b[i] -= a[i][j] * b[j]
		}
		b[i] /= a[i][i]
	}
	return b
}

// spreadOf returns the spread, in steps of .01 up to 2, that makes the wanted hits
// likeliest among all hits of their prompts.
func spreadOf(groups []group) float64 {
	best, spread := math.Inf(-1), 0.0
	for hundredths := 1; hundredths <= 200; hundredths++ {
		tau, sum := float64(hundredths)/100, 0.0
		for _, g := range groups {
			for _, s := range g.usable() {
				if s.rank() > 0 {
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

// wantedShare returns the share of the wanted hits in the softmax of all hits.
func (s *sample) wantedShare(spread float64) float64 {
	wanted, all := 0.0, 0.0
	for _, h := range s.hits {
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
