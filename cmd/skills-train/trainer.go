package main

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/viterin/vek/vek32"

	"github.com/repertoire-skills/repertoire/embed/static"
)

// trainer holds the weights and the state of Adam for each weight. All matrices are
// stored row by row.
type trainer struct {
	o       options
	v       *vocabulary
	vectors []float32
	mean    []float32 // running mean of gradients
	square  []float32 // running mean of their squares
	grad    []float32
	touched []int   // by row: the last step in which it had a gradient
	loss    float64 // running mean
}

// newTrainer starts with small random vectors; the more common a word, the smaller.
func newTrainer(o options, v *vocabulary) *trainer {
	n := (len(v.words) + o.Buckets) * o.Dim
	t := &trainer{o: o, v: v, vectors: make([]float32, n), mean: make([]float32, n), square: make([]float32, n), grad: make([]float32, n)}
	t.touched = make([]int, len(v.words)+o.Buckets)
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	for row := range t.touched {
		t.touched[row] = -1
		norm := .3 // of a 4-gram
		if row < len(v.words) {
			const half = 1e-4 // the share of all words at which a word counts half
			norm = half / (half + v.share[row])
		}
		for j := range o.Dim {
			t.vectors[row*o.Dim+j] = float32(rng.NormFloat64() * norm / math.Sqrt(float64(o.Dim)))
		}
	}
	return t
}

// weights returns the current model.
func (t *trainer) weights() static.Weights {
	return static.Weights{Name: t.o.Name, Dim: t.o.Dim, Words: t.v.words, Vectors: t.vectors}
}

func (t *trainer) row(matrix []float32, i int) []float32 { return matrix[i*t.o.Dim:][:t.o.Dim] }

// side is the first or the second texts of a batch's pairs, as unit vectors.
type side struct {
	texts   [][]int32
	units   []float32
	lengths []float32 // lengths of the sums before scaling
	grad    []float32 // gradient of the loss with respect to units
}

func (t *trainer) newSide(texts [][]int32) *side {
	n := len(texts)
	s := &side{texts: texts, units: make([]float32, n*t.o.Dim), lengths: make([]float32, n), grad: make([]float32, n*t.o.Dim)}
	parallel(n, func(i int) {
		unit := t.row(s.units, i)
		for _, row := range texts[i] {
			vek32.Add_Inplace(unit, t.row(t.vectors, int(row)))
		}
		s.lengths[i] = max(vek32.Norm(unit), 1e-6)
		vek32.DivNumber_Inplace(unit, s.lengths[i])
	})
	return s
}

// step moves each first text nearer to its second text than to the second texts of
// other pairs, and each second text likewise (InfoNCE in both directions).
func (t *trainer) step(pairs []pair, step int) {
	a, b := make([][]int32, len(pairs)), make([][]int32, len(pairs))
	for i, p := range pairs {
		a[i], b[i] = p.a, p.b
	}
	left, right := t.newSide(a), t.newSide(b)
	p := t.errors(pairs, left, right)
	t.backward(p, left, right)
	t.update(t.scatter(step, left, right), step)
}

// errors returns, for each first and second text, how much too high their similarity
// is: the mean of the two softmaxes, minus 1 if the texts are a pair.
func (t *trainer) errors(pairs []pair, left, right *side) []float32 {
	n := len(pairs)
	similar := make([]float32, n*n)
	p := make([]float32, n*n)
	losses := make([]float64, n)
	parallel(n, func(i int) {
		row := similar[i*n:][:n]
		for j := range row {
			row[j] = float32(math.Inf(-1)) // a copy of the same skill is not a wrong answer
			if i == j || pairs[i].group != pairs[j].group {
				row[j] = vek32.Dot(t.row(left.units, i), t.row(right.units, j)) / float32(t.o.Heat)
			}
		}
		losses[i] = softmax(n, func(j int) float32 { return row[j] }, func(j int, x float64) { p[i*n+j] = float32(x / 2) }, i)
	})
	parallel(n, func(j int) {
		losses[j] += softmax(n, func(i int) float32 { return similar[i*n+j] }, func(i int, x float64) { p[i*n+j] += float32(x / 2) }, j)
	})
	sum := 0.0
	for i, l := range losses {
		p[i*n+i]--
		sum += l / 2
	}
	t.loss = .95*t.loss + .05*sum/float64(n)
	return p
}

// softmax passes the softmax of n values to put and returns the loss. The index right
// is the correct answer.
func softmax(n int, at func(int) float32, put func(int, float64), right int) float64 {
	highest := at(0)
	for i := range n {
		highest = max(highest, at(i))
	}
	sum := 0.0
	for i := range n {
		sum += math.Exp(float64(at(i) - highest))
	}
	for i := range n {
		put(i, math.Exp(float64(at(i)-highest))/sum)
	}
	return math.Log(sum) - float64(at(right)-highest)
}

// backward turns errors into the gradients of each text's sum of vectors.
func (t *trainer) backward(p []float32, left, right *side) {
	n := len(left.texts)
	scale := 1 / float32(t.o.Heat) / float32(n)
	parallel(2*n, func(k int) {
		i, part := k/2, make([]float32, t.o.Dim)
		of, other, weight := left, right, func(j int) float32 { return p[i*n+j] }
		if k%2 == 1 {
			of, other, weight = right, left, func(j int) float32 { return p[j*n+i] }
		}
		grad := t.row(of.grad, i)
		for j := range n {
			const small = 1e-6
			if w := weight(j); w > small || w < -small {
				vek32.MulNumber_Into(part, t.row(other.units, j), w)
				vek32.Add_Inplace(grad, part)
			}
		}
		// After scaling, only the part across the unit vector has an effect.
		unit := t.row(of.units, i)
		vek32.MulNumber_Into(part, unit, vek32.Dot(grad, unit))
		vek32.Sub_Inplace(grad, part)
		vek32.MulNumber_Inplace(grad, scale/of.lengths[i])
	})
}

// scatter adds the gradients of texts to their rows, in order, and returns these rows.
func (t *trainer) scatter(step int, sides ...*side) []int {
	var rows []int
	for _, s := range sides {
		for i, text := range s.texts {
			g := t.row(s.grad, i)
			for _, row := range text {
				sum := t.row(t.grad, int(row))
				if t.touched[row] != step {
					t.touched[row] = step
					rows = append(rows, int(row))
					copy(sum, g)
					continue
				}
				vek32.Add_Inplace(sum, g)
			}
		}
	}
	return rows
}

// update makes a step of Adam on rows. The rate rises for 100 steps and then falls like
// a cosine.
func (t *trainer) update(rows []int, step int) {
	const (
		warmUp  = 100
		decay1  = .9
		decay2  = .999
		epsilon = 1e-8
	)
	rate := t.o.Rate / 2 * (1 + math.Cos(math.Pi*float64(step)/float64(t.o.Steps)))
	rate *= min(1, float64(step+1)/warmUp)
	rate *= math.Sqrt(1-math.Pow(decay2, float64(step+1))) / (1 - math.Pow(decay1, float64(step+1)))
	parallel(len(rows), func(k int) {
		g, m := t.row(t.grad, rows[k]), t.row(t.mean, rows[k])
		s, w := t.row(t.square, rows[k]), t.row(t.vectors, rows[k])
		for j, x := range g {
			m[j] = decay1*m[j] + (1-decay1)*x
			s[j] = decay2*s[j] + (1-decay2)*x*x
			w[j] -= float32(rate) * m[j] / (float32(math.Sqrt(float64(s[j]))) + epsilon)
		}
	})
}

// parallel calls f for 0 to n-1 on all processors. The calls must be independent of each
// other, so that the result is the same for any number of processors.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
