package snapshot

import (
	"maps"
	"slices"
)

// inverted holds the postings of all terms of some documents.
type inverted struct {
	terms  []string          // sorted
	ids    map[string]uint32 // by term, in the order in which they were met
	starts []int             // by sorted term, where its postings start, and their end
	docs   []uint32          // by posting: document and impact
	codes  []byte
}

// posting is one term of one document, while it is collected.
type posting struct {
	id   uint32
	code byte
}

// invert collects the postings document by document and then sorts them by term,
// by counting: there are hundreds of them per document.
func invert(docs []Document, w Weights) *inverted {
	in := &inverted{ids: make(map[string]uint32)}
	mean, weights := meanLength(docs), w.list()
	var postings []posting // of one document after another
	ends := make([]int, len(docs))
	var counts []int       // documents, by ID
	var weighted []float64 // occurrences in one document, by ID
	var met []uint32       // IDs in one document
	for i := range docs {
		t := &docs[i].Terms
		met = met[:0]
		for f, list := range t.lists() {
			for _, term := range list {
				id, ok := in.ids[term]
				if !ok {
					id = uint32(len(in.ids))
					in.ids[term] = id
					counts, weighted = append(counts, 0), append(weighted, -1)
				}
				if weighted[id] < 0 {
					weighted[id] = 0
					met = append(met, id)
				}
				weighted[id] += weights[f]
			}
		}
		length := float64(t.length())
		for _, id := range met {
			postings = append(postings, posting{id, impactCode(impact(weighted[id], length, mean))})
			counts[id]++
			weighted[id] = -1
		}
		ends[i] = len(postings)
	}
	in.sort(postings, ends, counts)
	return in
}

func (t *Fields) lists() [4][]string { return [4][]string{t.Name, t.Description, t.Tags, t.Body} }

func (t *Fields) length() int {
	return len(t.Name) + len(t.Description) + len(t.Tags) + len(t.Body)
}

// meanLength returns the mean number of terms.
func meanLength(docs []Document) float64 {
	sum := 0
	for i := range docs {
		sum += docs[i].Terms.length()
	}
	return float64(sum) / float64(max(len(docs), 1))
}

// sort orders the postings by sorted term and then by document.
func (in *inverted) sort(postings []posting, ends, counts []int) {
	in.terms = slices.Sorted(maps.Keys(in.ids))
	in.starts = make([]int, len(in.terms)+1)
	next := make([]int, len(in.terms)) // by ID, where its next posting goes
	for i, term := range in.terms {
		id := in.ids[term]
		next[id] = in.starts[i]
		in.starts[i+1] = in.starts[i] + counts[id]
	}
	in.docs, in.codes = make([]uint32, len(postings)), make([]byte, len(postings))
	start := 0
	for doc, end := range ends {
		for _, p := range postings[start:end] {
			in.docs[next[p.id]], in.codes[next[p.id]] = uint32(doc), p.code
			next[p.id]++
		}
		start = end
	}
}

// encode returns the sections of the dictionary.
func (in *inverted) encode() (terms, postings, groups []byte) {
	var d dict
	var buf []byte
	for i, term := range in.terms {
		from, to := in.starts[i], in.starts[i+1]
		buf = appendPostings(buf[:0], in.docs[from:to], in.codes[from:to])
		d.add(term, to-from, buf)
	}
	d.finish()
	return d.terms, d.postings, d.groups
}

// sortedIDs returns the place of each term among all, which is its ID from then
// on.
func (in *inverted) sortedIDs() map[string]uint32 {
	for i, term := range in.terms {
		in.ids[term] = uint32(i)
	}
	return in.ids
}
