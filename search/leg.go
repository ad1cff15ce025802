package search

import "github.com/repertoire-skills/repertoire/snapshot"

// byText returns the k skills of a view that match a prompt best by BM25. All snapshots of a set
// use the mean length of a skill in the base, so that their scores can be compared.
func byText(v *snapshot.View, p *prompt, k int) []snapshot.Hit {
	if len(p.terms) == 0 {
		return nil
	}
	all := v.Set.Size()
	weights := func(yield func(int, float64) bool) {
		for _, t := range p.terms {
			if !yield(t.at, snapshot.InverseFrequency(t.docs, all)) {
				return
			}
		}
	}
	return v.Retriever().Search(p.found, weights, v.Scope.Offered, k)
}
