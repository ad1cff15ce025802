package index

import (
	"context"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	// copyDepth is how many of the best candidates are compared.
	copyDepth = 50
	// sameBody is the share of all runs of shingle words that the bodies of
	// copies have in common (Jaccard). Of 20,000 skills no two with different
	// tasks reach it; releases of one program reach .83.
	sameBody = .9
	shingle  = 5
	// sameDescription is the share of the words of the longer description that
	// the shorter one has.
	sameDescription = .8
	// fewShingles are too few to tell bodies apart.
	fewShingles = 20
)

// distinct leaves out skills that are copies of better ones, and notes them in
// r. All candidates are in the scope, so a copy outside of it hides none. Of
// copies with the same score that of the source with the highest priority
// stays. A skill that the prompt names is never left out.
func (x *Index) distinct(ctx context.Context, r *retrieval, scored []rank.Scored) ([]rank.Scored, error) {
	r.copies = make(map[int][]int)
	kept := make([]rank.Scored, 0, len(scored))
	for n, s := range scored {
		at := -1
		for k := 0; k < len(kept) && n < copyDepth && at < 0 && !s.Exact; k++ {
			same, err := x.isCopy(ctx, r, r.index[kept[k].ID], r.index[s.ID])
			if err != nil {
				return nil, err
			}
			if same {
				at = k
			}
		}
		if at < 0 {
			kept = append(kept, s)
			continue
		}
		r.addCopy(&kept[at], s)
	}
	return kept, nil
}

// addCopy notes that s is a copy of best, or the other way round when their
// scores are equal and s has the higher priority. What is relevant of one is so
// of the other, and wanted is the one or the other.
func (r *retrieval) addCopy(best *rank.Scored, s rank.Scored) {
	i, j := r.index[best.ID], r.index[s.ID]
	relevant, probability := best.Relevant || s.Relevant, min(1, best.Probability+s.Probability)
	if s.Score == best.Score && r.snap.priority(j) > r.snap.priority(i) {
		*best = s
		r.copies[j] = append(r.copies[i], i)
		delete(r.copies, i)
	} else {
		r.copies[i] = append(r.copies[i], j)
	}
	best.Relevant, best.Probability = relevant, probability
}

// copiesOf returns the copies of entry i that were left out.
func (r *retrieval) copiesOf(i int) []Entry {
	var list []Entry
	for _, j := range r.copies[i] {
		list = append(list, r.snap.entry(j))
	}
	return list
}

// copyOf returns the entry that was kept instead of entry i.
func (r *retrieval) copyOf(i int) (kept int, ok bool) {
	for k, list := range r.copies {
		if slices.Contains(list, i) {
			return k, true
		}
	}
	return 0, false
}

// isCopy reports whether two skills do the same: one is a copy of the other, or
// a fork with small edits. Name, description and body must agree, because skills
// made from one template ("… for AWS", "… for Azure") agree in most of each. The
// bodies are read last and seldom, and the result is remembered.
func (x *Index) isCopy(ctx context.Context, r *retrieval, i, j int) (bool, error) {
	a, b := &r.snap.entries[i], &r.snap.entries[j]
	if a.Digest == b.Digest {
		return true, nil
	}
	if big := max(a.Tokens, b.Tokens); big-min(a.Tokens, b.Tokens) > big/6 {
		return false, nil
	}
	m, n := r.snap.names(i, r.analyzer), r.snap.names(j, r.analyzer)
	equal, names := a.Description == b.Description, overlap(m.name, n.name) > 0
	if !equal && !(names && overlap(m.description, n.description) >= sameDescription) {
		return false, nil
	}
	pair := [2]int{min(i, j), max(i, j)}
	if same, ok := r.snap.compared.Load(pair); ok {
		return same.(bool), nil
	}
	similar, few, err := x.compareBodies(ctx, a, b)
	if err != nil {
		return false, err
	}
	identical := equal && similar == 1
	same := names && identical || !few && (identical || names && similar >= sameBody)
	r.snap.compared.Store(pair, same)
	return same, nil
}

// overlap returns the share of the words of the longer list that the shorter one
// has, 0 when the shorter one has a word that the longer one lacks: then each
// says something that the other does not.
func overlap(a, b []string) float64 {
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

// compareBodies returns the share of shingles that the bodies of two skills
// have in common, and whether they have few.
func (x *Index) compareBodies(ctx context.Context, a, b *store.Entry) (similar float64, few bool, err error) {
	var bodies [2]string
	for n, e := range []*store.Entry{a, b} {
		s, ok, err := x.db.Skill(ctx, e.ID)
		if err != nil || !ok {
			return 0, false, err // removed since
		}
		bodies[n] = s.Body
	}
	one, other := shingles(bodies[0]), shingles(bodies[1])
	few = min(len(one), len(other)) < fewShingles
	both := 0
	for i, j := 0, 0; i < len(one) && j < len(other); {
		switch {
		case one[i] == other[j]:
			both++
			i++
			j++
		case one[i] < other[j]:
			i++
		default:
			j++
		}
	}
	return float64(both) / float64(len(one)+len(other)-both), few, nil
}

// shingles returns the hashes of the different runs of words of a text, at
// least one, in rising order.
func shingles(text string) []uint64 {
	var words []uint64
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		words = append(words, hashWord(word))
	}
	runs := make([]uint64, 0, len(words))
	for i := 0; i == 0 || i+shingle <= len(words); i++ {
		h := uint64(0)
		for _, w := range words[i:min(i+shingle, len(words))] {
			h = h*prime + w
		}
		runs = append(runs, h)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

const prime = 1099511628211 // of FNV-1a, whose 64 bits are enough to compare two texts

func hashWord(word string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * prime
	}
	return h
}
