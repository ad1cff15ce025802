package snapshot

import (
	"math"
	"slices"
)

// A Hit is a document that was found.
type Hit struct {
	Doc   int // ordinal
	Score float64
}

// top keeps the best k hits of those that it is offered. A hit is one number: the greater,
// the better the hit. It orders by score, then by ordinal, the lowest first. top keeps up
// to twice as many hits and then drops the worse half, which is cheaper than keeping them
// sorted.
type top struct {
	k     int
	keys  []uint64
	floor uint64 // a lower key cannot be among the best
}

// reset empties t and sets k.
func (t *top) reset(k int) {
	t.k, t.keys, t.floor = k, t.keys[:0], 0
	if k == 0 {
		t.floor = math.MaxUint64
	}
}

// keyOf returns the key of a hit. The bits of a float32 sort like the number once the sign
// bit is flipped, and for a negative number all bits.
func keyOf(doc int, score float32) uint64 {
	return uint64(sortable(score))<<32 | uint64(^uint32(doc))
}

func sortable(x float32) uint32 {
	b := math.Float32bits(x)
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

func (t *top) offer(key uint64) {
	if key < t.floor {
		return
	}
	if t.keys = append(t.keys, key); len(t.keys) >= 2*t.k+16 {
		t.prune()
	}
}

// least returns the lowest score that may still be among the best, at least 0.
func (t *top) least() float32 {
	b := uint32(t.floor >> 32)
	if b < 1<<31 {
		return 0
	}
	if t.k == 0 {
		return float32(math.Inf(1))
	}
	return math.Float32frombits(b ^ 1<<31)
}

// prune drops all hits except the best k.
func (t *top) prune() {
	if len(t.keys) <= t.k {
		return
	}
	selectGreatest(t.keys, t.k)
	t.keys = t.keys[:t.k]
	t.floor = slices.Min(t.keys)
}

// selectGreatest moves the k greatest keys to the front. All keys must differ. It is a
// quicksort that continues on one side only.
func selectGreatest(keys []uint64, k int) {
	for len(keys) > 1 && 0 < k && k < len(keys) {
		a, b, c := keys[0], keys[len(keys)/2], keys[len(keys)-1]
		pivot := max(min(a, b), min(max(a, b), c)) // the median
		i, j := 0, len(keys)-1
		for i <= j {
			for keys[i] > pivot {
				i++
			}
			for keys[j] < pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			keys = keys[:j+1]
		case k >= i:
			keys, k = keys[i:], k-i
		default:
			return
		}
	}
}

// sorted returns the hits, best first.
func (t *top) sorted() []Hit {
	t.prune()
	slices.Sort(t.keys)
	hits := make([]Hit, len(t.keys))
	for i, key := range t.keys {
		b := uint32(key >> 32)
		b ^= ^uint32(int32(b)>>31) | 1<<31
		hits[len(hits)-1-i] = Hit{int(^uint32(key)), float64(math.Float32frombits(b))}
	}
	return hits
}
