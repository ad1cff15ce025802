package bench

import (
	"cmp"
	"maps"
	"slices"
)

// A division divides the prompts of a set.
type division struct {
	by string
	of func(*PromptResult) string
}

var divisions = [...]division{
	{"kind", func(a *PromptResult) string { return a.Kind }},
	{"lang", func(a *PromptResult) string { return a.Lang }},
	{"style", func(a *PromptResult) string { return a.Style }},
}

// A portion holds the values of the prompts of one Part: hit@1, recall@5, nDCG@10 and, if the
// set has a curve, the coverage at a rate of 5 %.
type portion struct {
	by, of string
	values [4][]float64
}

// portions divides the prompts of a set that need a skill by kind, language and style, in no
// order. It leaves out a division that finds no difference.
func portions(s *Set) (list []*portion) {
	for _, d := range divisions {
		groups := make(map[string]*portion)
		for i := range s.Queries {
			a := &s.Queries[i]
			if a.Wanted == 0 {
				continue
			}
			of := d.of(a)
			if groups[of] == nil {
				groups[of] = &portion{by: d.by, of: of}
			}
			groups[of].add(a, s)
		}
		if len(groups) > 1 {
			list = slices.AppendSeq(list, maps.Values(groups))
		}
	}
	return list
}

func (p *portion) add(a *PromptResult, s *Set) {
	r := a.relevance()
	values := []float64{r.Hit1, r.Recall5, r.NDCG10}
	if at := s.point(.05); at != nil {
		values = append(values, float64(min(1, a.block(at.Threshold).Fitting)))
	}
	for i, v := range values {
		p.values[i] = append(p.values[i], v)
	}
}

// point returns the point of the curve with this rate; nil if there is none.
func (s *Set) point(rate float64) *Point {
	for i := range s.Curve {
		if s.Curve[i].Rate == rate {
			return &s.Curve[i]
		}
	}
	return nil
}

// part returns the means of portions, one for each set.
func part(seed uint64, list []*portion) Part {
	p := Part{By: list[0].by, Of: list[0].of}
	var means [4]Estimate
	covered := false
	for i := range means {
		var groups [][]float64
		for _, x := range list {
			groups = append(groups, x.values[i])
		}
		means[i] = bootstrap(seed, groups...)
	}
	for _, x := range list {
		p.Prompts += len(x.values[0])
		covered = covered || len(x.values[3]) > 0
	}
	p.Hit1, p.Recall5, p.NDCG10 = means[0], means[1], means[2]
	if covered {
		p.Coverage5 = &means[3]
	}
	return p
}

// breakdown returns the means over the sets that have a part, for parts that at least so many
// sets have.
func breakdown(sets []Set, least int, seed uint64) []Part {
	groups := make(map[[2]string][]*portion)
	for i := range sets {
		for _, p := range portions(&sets[i]) {
			k := [2]string{p.by, p.of}
			groups[k] = append(groups[k], p)
		}
	}
	parts := []Part{}
	for _, list := range groups {
		if len(list) >= least {
			parts = append(parts, part(seed, list))
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Of, b.Of)) })
	return parts
}
