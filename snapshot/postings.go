package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sort"
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
	rest   cursor
	at     int // the stretch of docs and codes; -1 after the last
	docs   []byte
	codes  []byte
	weight float32
}

// next reads the next stretch.
func (l *list) next() {
	if len(l.rest.b) == 0 {
		l.at, l.docs, l.codes = -1, nil, nil
		return
	}
	l.at += l.rest.uvarint()
	n := l.rest.uvarint()
	l.docs, l.codes = l.rest.bytes(2*n), l.rest.bytes(n)
}

// work is the memory that searches need, for the next one to use again.
type work struct {
	top   top
	sieve sieve
	lists []list
	sums  *[stretch]float32 // scores of one stretch, all zero between searches
}

// Search returns the k documents that match any of the terms best, by BM25: best
// first, equal ones by ordinal. Only documents in allowed count, nil for all. The
// terms are those of Lookup; each counts as often as it is given, by its IDF.
func (r *Reader) Search(terms []Term, allowed Bitmap, k int) ([]Hit, error) {
	s := r.s
	w := s.works.Get().(*work)
	if err := s.startLists(w, terms); err != nil {
		return nil, err
	}
	if w.sums == nil {
		w.sums = new([stretch]float32)
	}
	w.top.reset(min(max(k, 0), s.header.docs))
	for first := 0; first < s.header.docs; first += stretch {
		w.stretch(first, min(stretch, s.header.docs-first), allowed, &s.impacts)
		for i := range w.lists {
			if l := &w.lists[i]; l.at == first/stretch {
				if l.next(); l.rest.bad {
					return nil, s.damaged(postingSection, terms[i].at)
				}
			}
		}
	}
	hits := w.top.sorted()
	s.works.Put(w) // not after an error: the sums may not be zero
	return hits, nil
}

// startLists reads the first stretch of each term.
func (s *Snapshot) startLists(w *work, terms []Term) error {
	w.lists = slices.Grow(w.lists[:0], len(terms))
	for _, t := range terms {
		data, err := s.bytes(postingSection, t.at, t.size)
		if err != nil {
			return err
		}
		l := list{rest: cursor{b: data}, weight: float32(t.IDF)}
		if l.next(); l.rest.bad {
			return s.damaged(postingSection, t.at)
		}
		w.lists = append(w.lists, l)
	}
	return nil
}

// Among returns how many documents of set have each of the terms, which are
// those of Lookup; set is not nil. The work grows with the set, or with the
// postings when these are fewer.
func (r *Reader) Among(terms []Term, set Bitmap) ([]int, error) {
	s := r.s
	w := s.works.Get().(*work)
	defer s.works.Put(w)
	if err := s.startLists(w, terms); err != nil {
		return nil, err
	}
	counts := make([]int, len(terms))
	members := set.stretches()
	for i := range w.lists {
		l := &w.lists[i]
		for l.at >= 0 {
			if l.at < len(members) {
				counts[i] += l.among(members[l.at], set, l.at*stretch)
			}
			if l.next(); l.rest.bad {
				return nil, s.damaged(postingSection, terms[i].at)
			}
		}
	}
	return counts, nil
}

// stretches returns the documents of a set as places in each stretch.
func (m Bitmap) stretches() [][]uint16 {
	lists := make([][]uint16, (64*len(m)+stretch-1)/stretch)
	for w, x := range m {
		for ; x != 0; x &= x - 1 {
			doc := 64*w + bits.TrailingZeros64(x)
			lists[doc/stretch] = append(lists[doc/stretch], uint16(doc%stretch))
		}
	}
	return lists
}

// among counts the documents of the present stretch that are members of a set.
func (l *list) among(members []uint16, set Bitmap, first int) int {
	n, count := len(l.docs)/2, 0
	at := func(i int) uint16 { return binary.LittleEndian.Uint16(l.docs[2*i:]) }
	if len(members)*bits.Len(uint(n)) < n {
		for _, doc := range members {
			if i := sort.Search(n, func(i int) bool { return at(i) >= doc }); i < n && at(i) == doc {
				count++
			}
		}
		return count
	}
	for i := range n {
		if set.Has(first + int(at(i))) {
			count++
		}
	}
	return count
}

// stretch offers the documents of one stretch of n.
func (w *work) stretch(first, n int, allowed Bitmap, table *impacts) {
	found := 0
	for i := range w.lists {
		if l := &w.lists[i]; l.at == first/stretch {
			l.add(w.sums, table)
			found += len(l.codes)
		}
	}
	// Few postings: visit what they touched. Many: all that there is.
	if found >= n/8 {
		takeAll(w.sums[:n], first, allowed, &w.top)
		clear(w.sums[:n])
		return
	}
	for i := range w.lists {
		if l := &w.lists[i]; l.at == first/stretch {
			l.take(w.sums[:n], first, allowed, &w.top)
		}
	}
}

// add adds the scores of a term to those of the documents that have it.
func (l *list) add(sums *[stretch]float32, table *impacts) {
	docs, codes, weight := l.docs, l.codes, l.weight
	for len(codes) >= 4 && len(docs) >= 8 {
		d, c := binary.LittleEndian.Uint64(docs), binary.LittleEndian.Uint32(codes)
		sums[uint16(d)] += weight * table[byte(c)]
		sums[uint16(d>>16)] += weight * table[byte(c>>8)]
		sums[uint16(d>>32)] += weight * table[byte(c>>16)]
		sums[uint16(d>>48)] += weight * table[byte(c>>24)]
		docs, codes = docs[8:], codes[4:]
	}
	for i, code := range codes {
		sums[binary.LittleEndian.Uint16(docs[2*i:])] += weight * table[code]
	}
}

// take offers the documents of a term, and sets their scores to 0.
func (l *list) take(sums []float32, first int, allowed Bitmap, best *top) {
	for docs := l.docs; len(docs) >= 2; docs = docs[2:] {
		d := int(binary.LittleEndian.Uint16(docs))
		if d >= len(sums) || sums[d] == 0 {
			continue
		}
		if allowed.Has(first + d) {
			best.offer(keyOf(first+d, sums[d]))
		}
		sums[d] = 0
	}
}

// takeAll offers all documents with a score. Most are below the floor of the
// best: it looks at 8 at a time. The bits of numbers from 0 up sort as they do.
func takeAll(sums []float32, first int, allowed Bitmap, best *top) {
	below := max(bitsOf(best.least()), 1) - 1
	for d := 0; d < len(sums); d += 8 {
		part := sums[d:min(d+8, len(sums))]
		if len(part) == 8 {
			s := (*[8]float32)(part)
			// A number that is not below makes its difference negative, and all of them.
			any := (below - bitsOf(s[0])) | (below - bitsOf(s[1])) | (below - bitsOf(s[2])) | (below - bitsOf(s[3])) |
				(below - bitsOf(s[4])) | (below - bitsOf(s[5])) | (below - bitsOf(s[6])) | (below - bitsOf(s[7]))
			if any >= 0 {
				continue
			}
		}
		for i, x := range part {
			if bitsOf(x) > below && allowed.Has(first+d+i) {
				best.offer(keyOf(first+d+i, x))
			}
		}
		below = max(bitsOf(best.least()), 1) - 1
	}
}

func bitsOf(x float32) int32 { return int32(math.Float32bits(x)) }
