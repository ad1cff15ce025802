package main

import "math"

// A sparse row holds the figures of a point that are not 0.
type sparse []cell

type cell struct {
	at    int
	value float64
}

func (r sparse) times(weights []float64) float64 {
	sum := 0.0
	for _, c := range r {
		sum += c.value * weights[c.at]
	}
	return sum
}

type sparsePoint struct {
	x      sparse
	y      bool
	weight float64
}

// regressSparse fits a logistic regression of n weights; the penalty is on the squares of
// all but the first. With so many weights Newton's method would factor a large matrix in
// each step. An upper bound of it, with which every step still goes down, is factored once;
// momentum makes up for the smaller steps.
func regressSparse(points []sparsePoint, n int, penalty float64) []float64 {
	const steps, enough, tiny = 150, 1e-4, 1e-9
	h := make([][]float64, n)
	for i := range h {
		h[i] = make([]float64, i+1)
		h[i][i] = penalty
	}
	h[0][0] = tiny
	for _, p := range points {
		for _, a := range p.x {
			for _, b := range p.x {
				if b.at <= a.at {
					h[a.at][b.at] += p.weight / 4 * a.value * b.value // p·(1-p) is at most 1/4
				}
			}
		}
	}
	factor(h)
	w, ahead := make([]float64, n), make([]float64, n)
	for t := 1.0; t < steps; t++ {
		gradient := make([]float64, n)
		for i := 1; i < n; i++ {
			gradient[i] = penalty * ahead[i]
		}
		for _, p := range points {
			e := logistic(p.x.times(ahead))
			if p.y {
				e--
			}
			for _, c := range p.x {
				gradient[c.at] += p.weight * e * c.value
			}
		}
		solveFactored(h, gradient)
		largest := 0.0
		for i, step := range gradient {
			next := ahead[i] - step
			moved := next - w[i]
			w[i], ahead[i] = next, next+t/(t+3)*moved
			largest = max(largest, math.Abs(moved))
		}
		if largest < enough {
			break
		}
	}
	return w
}

// factor replaces a positive definite matrix, given by its lower half, by its Cholesky
// factor.
func factor(a [][]float64) {
	for i := range a {
		for j := 0; j <= i; j++ {
			s := a[i][j]
			for k, x := range a[j][:j] {
				s -= x * a[i][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(s)
			} else {
				a[i][j] = s / a[j][j]
			}
		}
	}
}

// solveFactored replaces b by the solution of a·x = b, given the factor of a.
func solveFactored(a [][]float64, b []float64) {
	for i := range a {
		for k, x := range a[i][:i] {
			b[i] -= x * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := len(a) - 1; i >= 0; i-- {
		b[i] /= a[i][i]
		for k, x := range a[i][:i] {
			b[k] -= x * b[i]
		}
	}
}
