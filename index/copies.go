package index

import (
	"context"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/snapshot"
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
	facts := make([]snapshot.Facts, 0, copyDepth) // of the first of kept
	for n, s := range scored {
		if n >= copyDepth {
			return append(kept, scored[n:]...), nil
		}
		at, own := -1, r.in.facts(s.Key)
		for k := 0; k < len(kept) && at < 0 && !s.Exact; k++ {
			same, err := x.isCopy(ctx, r, kept[k].Key, s.Key, &facts[k], &own)
			if err != nil {
				return nil, err
			}
			if same {
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
	return kept, nil
}

// addCopy notes that s is a copy of best, or the other way round when their
// scores are equal and s has the higher priority. What is relevant of one is so
// of the other, and wanted is the one or the other. It reports whether s took
// the place of best.
func (r *retrieval) addCopy(best *rank.Scored, s rank.Scored) (swapped bool) {
	i, j := best.Key, s.Key
	relevant, probability := best.Relevant || s.Relevant, min(1, best.Probability+s.Probability)
	priority := func(i int) int { return r.in.priority(r.in.document(i).Source) }
	if swapped = s.Score == best.Score && priority(j) > priority(i); swapped {
		*best = s
		r.copies[j] = append(r.copies[i], i)
		delete(r.copies, i)
	} else {
		r.copies[i] = append(r.copies[i], j)
	}
	best.Relevant, best.Probability = relevant, probability
	return swapped
}

// copiesOf returns the copies of skill i that were left out.
func (r *retrieval) copiesOf(i int) []Entry {
	var list []Entry
	for _, j := range r.copies[i] {
		list = append(list, r.in.entry(j))
	}
	return list
}

// copyOf returns the entry that was kept instead of skill i.
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
func (x *Index) isCopy(ctx context.Context, r *retrieval, i, j int, a, b *snapshot.Facts) (bool, error) {
	equal := a.Description == b.Description
	if big := max(a.Tokens, b.Tokens); a.Digest != b.Digest && big-min(a.Tokens, b.Tokens) > big/6 ||
		a.Digest != b.Digest && !equal && !r.in.sameName(i, j) {
		return false, nil
	}
	pair := [2]int64{min(a.Row, b.Row), max(a.Row, b.Row)}
	if same, ok := r.in.compared.Load(pair); ok {
		return same.(bool), nil
	}
	same, err := x.compare(ctx, r, i, j)
	if err == nil {
		r.in.compared.Store(pair, same)
	}
	return same, err
}

// sameName reports whether the words of one name are among those of the other,
// as far as that is quickly told.
func (in *reading) sameName(i, j int) bool {
	m, r, a := in.at(i)
	n, _, b := in.at(j)
	if m != n {
		return true // the segments number their words differently
	}
	var buf [16]uint32
	one, err := r.NameTerms(buf[:0], a)
	in.note(err)
	in.ids, err = r.NameTerms(in.ids[:0], b)
	in.note(err)
	return overlap(one, in.ids) > 0
}

// compare compares two skills word by word.
func (x *Index) compare(ctx context.Context, r *retrieval, i, j int) (bool, error) {
	a, b := r.in.document(i), r.in.document(j)
	if a.Digest == b.Digest {
		return true, nil
	}
	words := r.analyzer.Terms
	equal, names := a.Description == b.Description, overlap(words(a.Name), words(b.Name)) > 0
	if !equal && !(names && overlap(words(a.Description), words(b.Description)) >= sameDescription) {
		return false, nil
	}
	similar, few, err := x.compareBodies(ctx, a.Row, b.Row)
	identical := equal && similar == 1
	return names && identical || !few && (identical || names && similar >= sameBody), err
}

// overlap returns the share of the words of the longer list that the shorter one
// has, 0 when the shorter one has a word that the longer one lacks: then each
// says something that the other does not.
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

// compareBodies returns the share of shingles that the bodies of two skills
// have in common, and whether they have few.
func (x *Index) compareBodies(ctx context.Context, rows ...int64) (similar float64, few bool, err error) {
	var bodies [2]string
	for n, row := range rows {
		s, ok, err := x.db.Skill(ctx, row)
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
