// Package bench measures how good and how fast the catalog is, on labelled prompts.
//
// The one rule: prompts go through the same code that serves real ones.
package bench

import "math"

// Relevance says how well one ranking answers one prompt, or how well rankings do on
// average.
type Relevance struct {
	Hit1     float64 // 1 when the first skill is a wanted one
	MRR10    float64 // 1 ÷ the place of the first wanted skill, of 10 places
	Recall5  float64 // share of the wanted skills that are among the first 5
	Recall10 float64 // the same for the first 10
	Recall50 float64 // the same for the first 50
	NDCG10   float64 // discounted gain of the first 10, as a share of the gain of the best order
	Full10   float64 // 1 when all wanted skills are among the first 10
}

// measures returns the names of the fields of relevance, in their order.
func measures() []string {
	return []string{"hit@1", "mrr@10", "recall@5", "recall@10", "recall@50", "ndcg@10", "full@10"}
}

// fields returns the fields in the order of measures.
func (r *Relevance) fields() []*float64 {
	return []*float64{&r.Hit1, &r.MRR10, &r.Recall5, &r.Recall10, &r.Recall50, &r.NDCG10, &r.Full10}
}

// judge computes the relevance of a ranking. ranks are the places of the wanted skills
// in it, from 1, rising; wanted is the number of wanted skills. If that is 0, so is the
// relevance.
func judge(ranks []int, wanted int) Relevance {
	if wanted == 0 {
		return Relevance{}
	}
	share := func(k int) float64 { return float64(within(ranks, k)) / float64(wanted) }
	r := Relevance{
		Hit1: float64(within(ranks, 1)), Recall5: share(5), Recall10: share(10), Recall50: share(50),
		NDCG10: gain(ranks, 10) / ideal(wanted, 10),
	}
	if len(ranks) > 0 && ranks[0] <= 10 {
		r.MRR10 = 1 / float64(ranks[0])
	}
	if within(ranks, 10) == wanted {
		r.Full10 = 1
	}
	return r
}

// ranksOf returns the places, from 1, at which a ranking has wanted names. A name that
// occurs twice counts once.
func ranksOf(ranking, wanted []string) []int {
	fits := make(map[string]bool, len(wanted))
	for _, name := range wanted {
		fits[name] = true
	}
	ranks := []int{}
	for i, name := range ranking {
		if fits[name] {
			ranks = append(ranks, i+1)
			delete(fits, name)
		}
	}
	return ranks
}

// Metrics are the relevance of rankings, averaged over prompts.
type Metrics struct {
	Prompts int
	Relevance
}

// Measure compares rankings with what was wanted. Each ranking holds the names of
// skills, best first, and the same element of wanted the names that fit, in any order.
// Prompts that want nothing do not count.
func Measure(rankings, wanted [][]string) Metrics {
	var m Metrics
	for i, want := range wanted {
		if len(want) == 0 {
			continue
		}
		m.Prompts++
		m.add(judge(ranksOf(rankings[i], want), len(want)), 1)
	}
	mean := Metrics{Prompts: m.Prompts}
	mean.add(m.Relevance, 1/max(1, float64(m.Prompts)))
	return mean
}

func (r *Relevance) add(s Relevance, weight float64) {
	own := r.fields()
	for i, x := range s.fields() {
		*own[i] += weight * *x
	}
}

// within returns how many of the ranks are among the first k.
func within(ranks []int, k int) int {
	n := 0
	for _, rank := range ranks {
		if rank <= k {
			n++
		}
	}
	return n
}

// gain returns the discounted cumulative gain of the first k places. Each wanted skill
// counts 1 before the discount.
func gain(ranks []int, k int) float64 {
	sum := 0.0
	for _, rank := range ranks {
		if rank <= k {
			sum += 1 / math.Log2(float64(rank)+1)
		}
	}
	return sum
}

// ideal returns the gain of a ranking that begins with all n wanted skills.
func ideal(n, k int) float64 {
	sum := 0.0
	for i := range min(n, k) {
		sum += 1 / math.Log2(float64(i)+2)
	}
	return sum
}
