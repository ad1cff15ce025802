package search

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// copyDepth is how many of the best candidates are compared.
	copyDepth = 50
	// sameBody is the share of all runs of words that the bodies of copies have in
	// common (Jaccard), as sketches estimate it. Of 20,000 skills no two with different
	// tasks reach it; releases of one program reach .83.
	sameBody = .9
	// sameDescription is the share of the words of the longer description that the
	// shorter one must have.
	sameDescription = .8
)

// distinct leaves out copies, and notes them in r. Of each group of copies one skill stays,
// see addCopy. All candidates are in the scope, so a copy outside the scope hides none. A
// skill that the prompt names for certain is never left out.
func (r *retrieval) distinct(scored []rank.Scored) []rank.Scored {
	r.copies = make(map[int][]int)
	kept := make([]rank.Scored, 0, len(scored))
	facts := make([]snapshot.Facts, 0, copyDepth) // facts[n] is of kept[n]
	for n, s := range scored {
		if n >= copyDepth {
			return append(kept, scored[n:]...)
		}
		at, own := -1, r.view.Facts(s.Key)
		for k := 0; k < len(kept) && at < 0 && !s.Exact; k++ {
			if r.isCopy(kept[k].Key, s.Key, &facts[k], &own) {
				at = k
			}
		}
		if at < 0 {
			kept, facts = append(kept, s), append(facts, own)
			continue
		}
		if r.addCopy(&kept[at], s) {
			facts[at] = own
		}
	}
	return kept
}

// addCopy notes that s is a copy of best. The one that comes first in precedence stands for
// both, whichever fits the prompt better: a fork that repeats the words of its original
// must not replace it. addCopy returns true if that is s. It takes over the place and the
// score of best. The skill that stays is relevant if either is, and its probability is
// the sum of both: that one or the other is wanted.
func (r *retrieval) addCopy(best *rank.Scored, s rank.Scored) (swapped bool) {
	i, j := best.Key, s.Key
	s.Score, s.Terms = best.Score, best.Terms
	s.Relevant, s.Probability = best.Relevant || s.Relevant, min(1, best.Probability+s.Probability)
	if !best.Exact && r.precedes(j, i) {
		*best = s
		r.copies[j] = append([]int{i}, r.copies[i]...)
		delete(r.copies, i)
		return true
	}
	best.Relevant, best.Probability = s.Relevant, s.Probability
	r.copies[i] = append(r.copies[i], j)
	return false
}

// precedes reports whether skill i comes before skill j in precedence: by the priority of
// its source, then by the source's label, then by folder: "pdf" before "pdf-fork".
func (r *retrieval) precedes(i, j int) bool {
	a, b := r.view.Doc(i), r.view.Doc(j)
	return cmp.Or(cmp.Compare(r.view.Priority(b.Source), r.view.Priority(a.Source)),
		strings.Compare(a.Source, b.Source), strings.Compare(path.Dir(a.Path), path.Dir(b.Path))) < 0
}

// copiesOf returns the copies of skill i that were left out.
func (r *retrieval) copiesOf(i int) []Entry {
	var list []Entry
	for _, j := range r.copies[i] {
		list = append(list, entryOf(r.view, j))
	}
	return list
}

// copyOf returns the skill that was kept instead of skill i; ok is false if i is no
// copy.
func (r *retrieval) copyOf(i int) (kept int, ok bool) {
	for k, list := range r.copies {
		if slices.Contains(list, i) {
			return k, true
		}
	}
	return 0, false
}

// isCopy reports whether two skills do the same: one is a copy of the other, or a
// fork with small edits. Name, description and body must all agree, because skills
// made from one template ("… for AWS", "… for Azure") agree in most of each. Bodies
// are compared last, because that is slow, and the view remembers the result.
func (r *retrieval) isCopy(i, j int, a, b *snapshot.Facts) bool {
	equal := a.Description == b.Description
	if big := max(a.Tokens, b.Tokens); a.Digest != b.Digest && big-min(a.Tokens, b.Tokens) > big/6 ||
		a.Digest != b.Digest && !equal && !maybeSameName(r.view, i, j) {
		return false
	}
	pair := [2]int64{min(a.Row, b.Row), max(a.Row, b.Row)}
	same, _ := remember(r.view.Set, mostPairs, pair, func() (bool, error) {
		same := r.compare(i, j)
		return same, r.view.Err()
	})
	return same
}

// maybeSameName is a fast first check: it returns false only if neither name has all
// words of the other.
func maybeSameName(v *snapshot.View, i, j int) bool {
	one, other, ok := v.Retriever().NameTerms(i, j)
	return !ok || overlap(one, other) > 0
}

// compare compares two skills word by word.
func (r *retrieval) compare(i, j int) bool {
	a, b := r.view.Doc(i), r.view.Doc(j)
	if a.Digest == b.Digest {
		return true
	}
	terms := r.analyzer.Terms
	one, other := words.Once(a.Description), words.Once(b.Description)
	equal, names := one == other, overlap(terms(a.Name), terms(b.Name)) > 0
	if !equal && !(names && overlap(terms(one), terms(other)) >= sameDescription) {
		return false
	}
	alike, few := r.view.Similarity(i, j)
	identical := equal && alike == 1
	return names && identical || !few && (identical || names && alike >= sameBody)
}

// overlap returns the share of the words of the longer list that the shorter list
// has. It returns 0 if the shorter list has a word that the longer one lacks: then
// each says something that the other does not.
func overlap[T comparable](a, b []T) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, w := range a {
		if !slices.Contains(b, w) {
			return 0
		}
	}
	shared := 0
	for _, w := range b {
		if slices.Contains(a, w) {
			shared++
		}
	}
	return float64(shared) / max(1, float64(len(b)))
}
