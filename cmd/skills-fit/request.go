package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/intent"
)

// A class of prompts has a weight of its own, however many prompts it has.
type class struct {
	weight float64
	task   bool // the prompts ask for a task for which instructions can help
	texts  []string
}

// A requestModel weighs figures of a prompt.
type requestModel struct {
	names   []string // of the figures; the first is the constant "(base)"
	row     func(text string) sparse
	weights []float64
}

const (
	requestScale   = 3000 // sum of the weights of the points of a class of weight 1
	requestPenalty = 5
	meaningScale   = 2 // of the numbers of a vector, which are small beside a word's 1
	crossParts     = 3
)

// newRequestModel weighs the figures of intent.RequestFigures that occur most often in the
// classes.
func newRequestModel(classes []class, n int) *requestModel {
	counts := make(map[string]float64)
	for _, c := range classes {
		for _, text := range c.texts {
			intent.RequestFigures(text, func(name string, _ float64) { counts[name] += c.weight / float64(len(c.texts)) })
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	m := &requestModel{names: append([]string{"(base)"}, names[:min(n, len(names))]...)}
	index := make(map[string]int)
	for i, name := range m.names {
		index[name] = i
	}
	m.row = func(text string) sparse {
		r := sparse{{0, 1}}
		intent.RequestFigures(text, func(name string, value float64) {
			if i, ok := index[name]; ok {
				r = append(r, cell{i, value})
			}
		})
		return r
	}
	return m
}

// newMeaningModel weighs the vectors of an encoder, and the odds by words.
func newMeaningModel(e *memory, words func(text string) float64) *requestModel {
	m := &requestModel{names: []string{"(base)", "(words)"}}
	for range e.Dim() {
		m.names = append(m.names, "(number)")
	}
	m.row = func(text string) sparse {
		r := sparse{{0, 1}, {1, words(text)}}
		for i, x := range e.vector(text) {
			r = append(r, cell{i + 2, meaningScale * float64(x)})
		}
		return r
	}
	return m
}

// fit fits the weights to the classes without the texts that skip names.
func (m *requestModel) fit(classes []class, skip func(text string) bool) {
	var list []sparsePoint
	for _, c := range classes {
		start := len(list)
		for _, text := range c.texts {
			if !skip(text) {
				list = append(list, sparsePoint{m.row(text), c.task, 0})
			}
		}
		for i := start; i < len(list); i++ {
			list[i].weight = requestScale * c.weight / float64(len(list)-start)
		}
	}
	m.weights = regressSparse(list, len(m.names), requestPenalty)
}

// odds returns what a search knows with these weights.
func (m *requestModel) odds(text string) float64 {
	return max(-intent.MostRequest, min(intent.MostRequest, m.row(text).times(m.weights)))
}

// requestOdds fits a model to the classes. The odds of a text of the classes come from
// weights that were fitted to the others: with its own it would look clearer than a prompt
// of a user does.
func (m *requestModel) requestOdds(classes []class) (odds func(text string) float64) {
	part := make(map[string]int)
	for _, c := range classes {
		for i, text := range c.texts {
			part[text] = i % crossParts
		}
	}
	known := make(map[string]float64)
	for n := range crossParts {
		m.fit(classes, func(text string) bool { return part[text] == n })
		for text, p := range part {
			if p == n {
				known[text] = m.odds(text)
			}
		}
	}
	m.fit(classes, func(string) bool { return false })
	return func(text string) float64 {
		if x, ok := known[text]; ok {
			return x
		}
		return m.odds(text)
	}
}

// write writes the weights in the form that package intent reads, without those that are 0.
func (m *requestModel) write(w io.Writer) error {
	lines := make([]string, 0, len(m.names))
	for i, name := range m.names {
		if line := fmt.Sprintf("%s\t%.2f\n", name, m.weights[i]); !strings.HasSuffix(line, "0.00\n") {
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		x, _, _ := strings.Cut(a, "\t")
		y, _, _ := strings.Cut(b, "\t")
		return strings.Compare(x, y)
	})
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}
