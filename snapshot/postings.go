package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// The constants of BM25, as FTS5 has them.
const (
	saturation = 1.2  // k1
	lengthNorm = .75  // b
	minIDF     = 1e-6 // for a term that half of all documents have, or more
	maxImpact  = saturation + 1
)

// A posting list has, for each stretch of 65,536 documents with postings, the distance
// from the previous such stretch, the number of documents, their ordinals in the stretch
// (2 bytes each) and their impacts (1 byte each). In a snapshot of one stretch it has only
// ordinals and impacts. Fixed widths decode at the speed of memory, and the sums of one
// stretch fit into the cache.
const (
	stretch     = 1 << 16
	postingSize = 2 + 1
)

// An impact is the document's part of a term's score: everything except the inverse
// frequency. The codes from 1 to 255 mean impacts that grow by a constant ratio, so that
// each is exact to one hundredth. Code 0 means almost no impact: a term in a body that is
// dozens of times longer than the mean, or a term without weight. Such a document still
// matches.
const (
	leastImpact = .02
	noImpact    = 1e-4
)

// impactRatio is the logarithm of the ratio of two successive impacts.
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

// InverseFrequency returns the weight of a term that docs of all documents have. It is
// greater than 0.
func InverseFrequency(docs, all int) float64 {
	n := float64(docs)
	idf := math.Log((float64(all) - n + .5) / (n + .5))
	if !(idf > minIDF) { // also true for NaN, when a damaged file has a wrong count
		return minIDF
	}
	return idf
}

// A list is the postings of one term, read one stretch at a time.
type list struct {
	rest   cursor
	at     int // stretch of docs and codes; -1 after the last
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

// work is the memory of a search, kept for the next one.
type work struct {
	top   top
	sieve sieve
	lists []list
	sums  *[stretch]float32 // scores in one stretch, all zero between searches
}

// Search returns the k documents that best match any of the terms, by BM25: best first,
// ties by ordinal. It considers only documents in allowed. The terms must come from Lookup.
// Each counts as often as it occurs in terms, weighted by its IDF.
func (r *Reader) Search(terms []Term, allowed Skills, k int) ([]Hit, error) {
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
	s.works.Put(w) // only after success: otherwise the sums may not be zero
	return hits, nil
}

// startLists reads the first stretch of each term's list.
func (s *Snapshot) startLists(w *work, terms []Term) error {
	w.lists = slices.Grow(w.lists[:0], len(terms))
	for _, t := range terms {
		data, err := s.bytes(postingSection, t.at, t.size)
		if err != nil {
			return err
		}
		l := list{rest: cursor{b: data}, weight: float32(t.IDF)}
		if s.header.docs <= stretch {
			n := len(data) / postingSize
			l = list{docs: data[:2*n], codes: data[2*n:], weight: l.weight}
		} else if l.next(); l.rest.bad {
			return s.damaged(postingSection, t.at)
		}
		w.lists = append(w.lists, l)
	}
	return nil
}

// Among returns, for each term, how many documents of set have it. The terms must come from
// Lookup. The time grows with the size of set or with the
// postings, whichever is smaller.
func (r *Reader) Among(terms []Term, set Skills) ([]int, error) {
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

// stretches returns the documents of a set as offsets in each stretch.
func (s Skills) stretches() [][]uint16 {
	lists := make([][]uint16, (64*len(s)+stretch-1)/stretch)
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			doc := 64*w + bits.TrailingZeros64(x)
			lists[doc/stretch] = append(lists[doc/stretch], uint16(doc%stretch))
		}
	}
	return lists
}

// among counts the documents of the current stretch that are members of set.
func (l *list) among(members []uint16, set Skills, first int) int {
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

// stretch scores n documents from first on, and offers them to the best hits.
func (w *work) stretch(first, n int, allowed Skills, table *impacts) {
	found := 0
	for i := range w.lists {
		if l := &w.lists[i]; l.at == first/stretch {
			l.add(w.sums, table)
			found += len(l.codes)
		}
	}
	// If there are few postings, visit their documents only, else all documents.
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

// add adds a term's scores to the sums of its documents.
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

// take offers the documents of a term to the best hits and resets their sums to 0.
func (l *list) take(sums []float32, first int, allowed Skills, best *top) {
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

// takeAll offers all documents with a score to the best hits. It tests 8 at a time, because
// most are below the floor. The bits of non-negative floats sort like the floats.
func takeAll(sums []float32, first int, allowed Skills, best *top) {
	below := max(bitsOf(best.least()), 1) - 1
	for d := 0; d < len(sums); d += 8 {
		part := sums[d:min(d+8, len(sums))]
		if len(part) == 8 {
			s := (*[8]float32)(part)
			// If a number is not below the floor, its difference is negative, and so is any.
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
