package bench

import (
	"cmp"
	"slices"
)

// A division divides the prompts of a set.
type division struct {
	by string
	of func(*Answered) string
}

var divisions = [...]division{
	{"kind", func(a *Answered) string { return a.Kind }},
	{"lang", func(a *Answered) string { return a.Lang }},
	{"style", func(a *Answered) string { return a.Style }},
}

// A portion holds the values of the prompts of one Part.
type portion struct {
	by, of                          string
	hit1, recall5, ndcg10, coverage []float64
}

// portions divides the prompts of a set that need a skill by kind, language and style.
// It leaves out a division that finds no difference.
func portions(s *Set) []portion {
	var list []portion
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
		if len(groups) < 2 {
			continue
		}
		for _, p := range groups {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b portion) int { return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.of, b.of)) })
	return list
}

func (p *portion) add(a *Answered, s *Set) {
	r := a.relevance()
	p.hit1, p.recall5, p.ndcg10 = append(p.hit1, r.Hit1), append(p.recall5, r.Recall5), append(p.ndcg10, r.NDCG10)
	if at := s.point(.05); at != nil {
		p.coverage = append(p.coverage, float64(min(1, a.block(at.Threshold).Fitting)))
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
func part(seed uint64, list ...portion) Part {
	var hit1, recall5, ndcg10, coverage [][]float64
	p := Part{By: list[0].by, Of: list[0].of}
	for _, x := range list {
		p.Prompts += len(x.hit1)
		hit1, recall5, ndcg10 = append(hit1, x.hit1), append(recall5, x.recall5), append(ndcg10, x.ndcg10)
		if len(x.coverage) > 0 {
			coverage = append(coverage, x.coverage)
		}
	}
	p.Hit1, p.Recall5, p.NDCG10 = Bootstrap(seed, hit1...), Bootstrap(seed, recall5...), Bootstrap(seed, ndcg10...)
	if len(coverage) > 0 {
		e := Bootstrap(seed, coverage...)
		p.Coverage5 = &e
	}
	return p
}

func breakdown(s *Set, seed uint64) []Part {
	parts := []Part{}
	for _, p := range portions(s) {
		parts = append(parts, part(seed, p))
	}
	return parts
}

// meanBreakdown returns the means over the sets that have a part, for parts that several
// sets have.
func meanBreakdown(sets []Set, seed uint64) []Part {
	type key struct{ by, of string }
	groups := make(map[key][]portion)
	for i := range sets {
		for _, p := range portions(&sets[i]) {
			k := key{p.by, p.of}
			groups[k] = append(groups[k], p)
		}
	}
	parts := []Part{}
	for _, list := range groups {
		if len(list) > 1 {
			parts = append(parts, part(seed, list...))
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Of, b.Of)) })
	return parts
}
