package snapshot

import (
	"encoding/binary"
	"math"
)

// BM25 as FTS5 computes it.
const (
	saturation = 1.2  // k1
	lengthNorm = .75  // b
	minIDF     = 1e-6 // of a term that half of all documents have, or more
	maxImpact  = saturation + 1
)

// Postings of one term: for each stretch of 65,536 documents that has any, the
// distance from the stretch before, their number, their ordinals in the stretch
// as 2 bytes each, and their impacts as 1 byte each. Fixed widths decode at the
// speed of memory, and the sums of one stretch stay in the cache.
const stretch = 1 << 16

// An impact is the part of a term's score that is the document's own, all but
// the inverse frequency. Codes from 1 up stand for impacts that rise by the same
// ratio, so that none is off by a part in a hundred; 0 stands for what is next to
// nothing: a term in a body dozens of times as long as the mean, or without
// weight. It is found all the same.
const (
	leastImpact = .02
	noImpact    = 1e-4
)

// impactRatio is the logarithm of the ratio of one impact to the one before.
var impactRatio = math.Log(maxImpact/leastImpact) / 254

func impactCode(impact float64) byte {
	if impact < leastImpact/2 {
		return 0
	}
	code := 1 + math.Round(math.Log(impact/leastImpact)/impactRatio)
	return byte(min(max(code, 1), 255))
}

func impact(weighted, length, mean float64) float64 {
	if weighted == 0 {
		return 0
	}
	return maxImpact * weighted / (weighted + saturation*(1-lengthNorm+lengthNorm*length/mean))
}

// impacts holds the impact of each code.
type impacts [256]float32

func (t *impacts) fill() {
	t[0] = noImpact
	for i := 1; i < len(t); i++ {
		t[i] = float32(leastImpact * math.Exp(float64(i-1)*impactRatio))
	}
}

// InverseFrequency returns the weight of a term that docs of all documents have,
// above 0.
func InverseFrequency(docs, all int) float64 {
	n := float64(docs)
	idf := math.Log((float64(all) - n + .5) / (n + .5))
	if !(idf > minIDF) { // not a number either, when a file lies about docs
		return minIDF
	}
	return idf
}

// A list is the postings of one term, read one stretch at a time.
type list struct {
	rest    cursor
	at      int // the stretch of docs and codes
	docs    []byte
	codes   []byte
	weight  float32
	pending bool // docs and codes are not yet added
}

// next reads the next stretch.
func (l *list) next() {
	l.pending = len(l.rest.b) > 0
	if !l.pending {
		return
	}
	l.at += l.rest.uvarint()
	n := l.rest.uvarint()
	l.docs, l.codes = l.rest.bytes(2*n), l.rest.bytes(n)
}

// Search returns the k documents that match any of the terms best, by BM25: best
// first, equal ones by ordinal. Only documents in allowed count, nil for all. The
// terms are those of Lookup; each counts as often as it is given, by its IDF.
func (r *Reader) Search(terms []Term, allowed Bitmap, k int) ([]Hit, error) {
	s := r.s
	lists, err := s.lists(terms)
	if err != nil {
		return nil, err
	}
	best := &top{k: min(max(k, 0), s.header.docs)}
	sum := s.sums.Get().(*[]float32)
	for first := 0; first < s.header.docs; first += stretch {
		live := (*sum)[:min(stretch, s.header.docs-first)]
		found := 0
		for i := range lists {
			if l := &lists[i]; l.pending && l.at == first/stretch {
				l.add(live, &s.impacts)
				found += len(l.codes)
			}
		}
		if found == 0 {
			continue
		}
		// Few postings: visit what they touched. Many: all that there is.
		if found < len(live)/8 {
			for i := range lists {
				if l := &lists[i]; l.pending && l.at == first/stretch {
					l.take(live, first, allowed, best)
				}
			}
		} else {
			takeAll(live, first, allowed, best)
		}
		for i := range lists {
			if l := &lists[i]; l.pending && l.at == first/stretch {
				if l.next(); l.rest.bad {
					return nil, s.damaged(postingSection, terms[i].at)
				}
			}
		}
	}
	s.sums.Put(sum) // all zero again
	return best.sorted(), nil
}

// lists reads the first stretch of each term that occurs.
func (s *Snapshot) lists(terms []Term) ([]list, error) {
	lists := make([]list, len(terms))
	for i, t := range terms {
		data, err := s.bytes(postingSection, t.at, t.size)
		if err != nil {
			return nil, err
		}
		l := &lists[i]
		l.rest.b = data
		l.weight = float32(t.IDF)
		if l.next(); l.rest.bad {
			return nil, s.damaged(postingSection, t.at)
		}
	}
	return lists, nil
}

// newSum returns a slice of zeros for the scores of one stretch of documents.
func (s *Snapshot) newSum() any {
	sum := make([]float32, min(stretch, s.header.docs))
	return &sum
}

// add adds the scores of a term to those of the documents that have it.
func (l *list) add(sum []float32, table *impacts) {
	docs := l.docs[:2*len(l.codes)]
	for i, code := range l.codes {
		d := int(binary.LittleEndian.Uint16(docs[2*i:]))
		if d < len(sum) {
			sum[d] += l.weight * table[code]
		}
	}
}

// take offers the documents of a term to best, and sets their scores to 0.
func (l *list) take(sum []float32, first int, allowed Bitmap, best *top) {
	floor := best.floor()
	for docs := l.docs; len(docs) >= 2; docs = docs[2:] {
		d := int(binary.LittleEndian.Uint16(docs))
		if d >= len(sum) || sum[d] == 0 {
			continue
		}
		if x := sum[d]; x >= floor && allowed.Has(first+d) {
			best.offer(Hit{first + d, float64(x)})
			floor = best.floor()
		}
		sum[d] = 0
	}
}

// takeAll offers all documents with a score to best, and sets the scores to 0.
func takeAll(sum []float32, first int, allowed Bitmap, best *top) {
	floor := best.floor()
	for d, x := range sum {
		if x >= floor && allowed.Has(first+d) {
			best.offer(Hit{first + d, float64(x)})
			floor = best.floor()
		}
	}
	clear(sum)
}

// floor returns the least score that may be among the best: any above 0 until
// there are k.
func (t *top) floor() float32 {
	if !t.full() {
		return math.SmallestNonzeroFloat32
	}
	if t.k == 0 {
		return float32(math.Inf(1))
	}
	return float32(t.hits[0].Score)
}
