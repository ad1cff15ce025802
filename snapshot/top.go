package snapshot

import "slices"

// A Hit is one document that was found.
type Hit struct {
	Doc   int // ordinal
	Score float64
}

// compareHits orders hits from the best to the worst: by score, then by ordinal.
func compareHits(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	default:
		return a.Doc - b.Doc
	}
}

// top keeps the best k of the hits that it is offered, as a heap with the worst
// in front.
type top struct {
	k    int
	hits []Hit
}

// full reports whether a hit must be better than the worst to be kept.
func (t *top) full() bool { return len(t.hits) >= t.k }

func (t *top) offer(h Hit) {
	if !t.full() {
		t.hits = append(t.hits, h)
		for i := len(t.hits) - 1; i > 0; {
			parent := (i - 1) / 2
			if compareHits(t.hits[parent], t.hits[i]) >= 0 {
				break
			}
			t.hits[parent], t.hits[i] = t.hits[i], t.hits[parent]
			i = parent
		}
		return
	}
	if t.k > 0 && compareHits(h, t.hits[0]) < 0 {
		t.hits[0] = h
		t.sink()
	}
}

// sink moves the hit in front to its place.
func (t *top) sink() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.hits); child++ {
			if compareHits(t.hits[child], t.hits[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.hits[i], t.hits[worst] = t.hits[worst], t.hits[i]
		i = worst
	}
}

// sorted returns the hits, best first.
func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, compareHits)
	return t.hits
}
