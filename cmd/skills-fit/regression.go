package main

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/rank"
)

const requestTerm = "request"

// features are the values of the terms of a rank.Demand; a missing term is 0. The
// first feature is always 1.
type features [8]float64

var terms = [len(features{})]string{"base", "nearness", "strength", "coverage", "head", "size", requestTerm, "sentence nearness"}

func (x *features) set(t rank.Term) {
	if i := slices.Index(terms[:], t.Name); i >= 0 {
		x[i] = t.Value
	}
}

// probability returns how likely a prompt with features x wants a skill, given the
// weights w.
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
	y      float64 // 1 if the prompt wants a skill, else 0
	weight float64
}

// These are the shares of a group's weight that its prompts without a need for a skill and
// its near misses get. Sets have few such prompts, but hosts see many.
const (
	noneShare = .4
	nearShare = .1
)

// shares returns the weight of each class of prompts that occurs in counts.
func shares(counts map[string]float64) map[string]float64 {
	s := map[string]float64{isNone: noneShare}
	if counts[isNear] > 0 {
		s[isNear] = nearShare
	}
	s[isWanting] = 1 - s[isNone] - s[isNear]
	return s
}

// pointsOf returns the usable samples that fit. All groups have the same weight; the
// average weight of a sample is 1.
func pointsOf(groups []group, fits func(*sample) bool) []point {
	var list []point
	for _, g := range groups {
		count := make(map[string]float64)
		for _, s := range g.usable() {
			if fits(s) {
				count[s.class]++
			}
		}
		share := shares(count)
		for _, s := range g.usable() {
			if fits(s) {
				p := point{x: s.x, weight: share[s.class] / count[s.class]}
				if s.class == isWanting && s.wants() {
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

// regress fits the weights of a logistic regression by Newton's method. A small
// penalty on the squares of all weights but the first gives a useless feature the
// weight 0.
func regress(points []point) (features, error) {
	const penalty, steps, enough = .5, 50, 1e-9
	var w features
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
// likeliest among all hits of their prompts.
func spreadOf(groups []group) float64 {
	best, spread := math.Inf(-1), 0.0
	for hundredths := 1; hundredths <= 200; hundredths++ {
		tau, sum := float64(hundredths)/100, 0.0
		for _, g := range groups {
			for _, s := range g.usable() {
				if s.class == isWanting && s.wants() {
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
	for _, h := range s.hits[:min(rank.GateDepth, len(s.hits))] {
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
