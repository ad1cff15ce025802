package snapshot

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// survivors returns how many documents Nearest compares by their vectors, and before that
// by both their bits. With these numbers it finds .99 of the hundred nearest of 20,101
// skills, and .999 of the ten nearest.
func survivors(k, docs int) (byVectors, byBits int) {
	n := 2*k + 2*int(math.Sqrt(float64(docs)))
	return n, 4 * n
}

// A sieve selects, step by step, the documents whose codes are nearest to a prompt's.
// Distances are small integers, so counting them finds the limit.
type sieve struct {
	eligible  Skills   // documents that are allowed and have vectors
	distances []uint32 // by document
	counts    []uint32 // number of documents, by distance

	docs          []uint32 // the selected documents, ascending
	keptDistances []uint32 // their distances
}

// start finds the eligible documents among the first docs and returns their number.
func (v *sieve) start(docs int, allowed Skills, vectored []byte) int {
	v.eligible = v.eligible[:0]
	n := 0
	for i := 0; len(vectored) >= 8; i++ {
		w := binary.LittleEndian.Uint64(vectored)
		vectored = vectored[8:]
		if i >= len(allowed) {
			w = 0
		} else {
			w &= allowed[i]
		}
		if left := docs - 64*i; left < 64 {
			w &= 1<<left - 1
		}
		v.eligible = append(v.eligible, w)
		n += bits.OnesCount64(w)
	}
	return n
}

// keepAll selects all eligible documents, without distances.
func (v *sieve) keepAll() {
	v.docs = v.docs[:0]
	for i := range v.eligible.All() {
		v.docs = append(v.docs, uint32(i))
	}
}

// keepByFirstBits selects the n eligible documents that are nearest by their first bits.
func (v *sieve) keepByFirstBits(p promptCode, codes []byte, n int) {
	size := quadSize * len(p)
	v.distances = slices.Grow(v.distances[:0], 64*len(v.eligible))[:64*len(v.eligible)]
	v.startCounts(p.farthest())
	for i, w := range v.eligible {
		out := v.distances[64*i : 64*i+64]
		block := codes[64*i*size : min(64*(i+1)*size, len(codes))]
		if bits.OnesCount64(w) >= 16 {
			p.distances(block, out)
		} else {
			for w := w; w != 0; w &= w - 1 {
				j := bits.TrailingZeros64(w)
				p.distances(block[j*size:(j+1)*size], out[j:j+1])
			}
		}
		if w == math.MaxUint64 {
			for _, d := range out {
				v.counts[d]++
			}
			continue
		}
		for ; w != 0; w &= w - 1 {
			v.counts[out[bits.TrailingZeros64(w)]]++
		}
	}
	v.gather(v.limit(n))
}

// gather selects the eligible documents below the limit, and the first ties documents at
// the limit.
func (v *sieve) gather(limit uint32, ties int) {
	v.docs, v.keptDistances = v.docs[:0], v.keptDistances[:0]
	for i, w := range v.eligible {
		for j, d := range v.distances[64*i : 64*i+64] {
			if d > limit || w>>j&1 == 0 {
				continue
			}
			if d == limit {
				if ties == 0 {
					continue
				}
				ties--
			}
			v.docs, v.keptDistances = append(v.docs, uint32(64*i+j)), append(v.keptDistances, d)
		}
	}
}

// keepByAllBits selects, among the documents that keepByFirstBits selected, the n nearest by all bits.
func (v *sieve) keepByAllBits(p promptCode, codes []byte, n int) {
	size := quadSize * len(p)
	v.startCounts(3 * p.farthest())
	var out [1]uint32
	for i, doc := range v.docs {
		p.distances(codes[int(doc)*size:(int(doc)+1)*size], out[:])
		d := 2*v.keptDistances[i] + out[0]
		v.keptDistances[i] = d
		v.counts[d]++
	}
	limit, ties := v.limit(n)
	left := v.docs[:0]
	for i, d := range v.keptDistances {
		switch {
		case d > limit || d == limit && ties == 0:
			continue
		case d == limit:
			ties--
		}
		left = append(left, v.docs[i])
	}
	v.docs = left
}

func (v *sieve) startCounts(most int) {
	v.counts = slices.Grow(v.counts[:0], most+1)[:most+1]
	clear(v.counts)
}

// limit returns the distance of the n-th nearest document, and how many documents at this
// distance are among the n.
func (v *sieve) limit(n int) (distance uint32, ties int) {
	for d, c := range v.counts {
		if n <= int(c) {
			return uint32(d), n
		}
		n -= int(c)
	}
	return math.MaxUint32, 0
}
