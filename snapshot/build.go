package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/skill"
)

// An inverter turns documents into posting lists by term. It collects the terms of some
// documents, sorts them and stores them as a run. At the end it merges the runs, because
// impacts need the mean length of all documents. So it needs the memory of one run,
// however many documents there are.
type inverter struct {
	weights skill.Weights
	runs    *spool
	ends    []run    // position of each run
	lengths []uint32 // number of terms, by document

	// Weighted occurrences of a term in a document. Few values are different, so
	// postings hold codes.
	values []float64
	codes  map[float64]uint32 // value → index in values

	// The current run. A term's ID is the order in which it was first seen; endRun
	// replaces IDs by the order of the sorted terms.
	ids      map[string]uint32
	counts   []uint32 // number of documents, by ID
	postings []posting
	perDoc   []uint32    // number of postings, by document
	heads    []uint32    // IDs for appendDocTerms, of all documents; each list follows its length
	head     [3][]uint32 // IDs for appendDocTerms, of the current document
}

// runDocs is the number of documents in a run, a part of a stretch. With about 400 terms
// in a document, a run has six million postings.
const runDocs = stretch / 4

// A run holds the postings of some documents. For each term, in order, it stores the
// length and bytes of the term, the number of documents, the length of the rest, the
// documents (2 bytes each) and the codes of their weighted occurrences.
type run struct {
	at, size int
	terms    int
	globals  []uint32 // ID of each term among all terms, by ID in the run
}

// posting is one term of one document.
type posting struct{ id, code uint32 }

func newInverter(w skill.Weights, runs *spool) *inverter {
	return &inverter{weights: w, runs: runs, codes: make(map[float64]uint32), ids: make(map[string]uint32)}
}

// add collects one document.
func (in *inverter) add(terms skill.Terms) error {
	length, before := 0, len(in.postings)
	for i := range in.head {
		in.head[i] = in.head[i][:0]
	}
	err := terms.Each(func(t *skill.Term) {
		id, ok := in.ids[string(t.Text)]
		if !ok {
			id = uint32(len(in.ids))
			in.ids[string(t.Text)] = id
			in.counts = append(in.counts, 0)
		}
		length += t.Name + t.Description + t.Tags + t.Body
		w := &in.weights
		weighted := w.Name*float64(t.Name) + w.Description*float64(t.Description) + w.Tags*float64(t.Tags) + w.Body*float64(t.Body)
		in.postings = append(in.postings, posting{id, in.code(weighted)})
		in.counts[id]++
		for range t.Name {
			in.head[0] = append(in.head[0], id)
		}
		if t.Shown > 0 {
			in.head[1] = append(in.head[1], id)
		}
		if t.Tags > 0 {
			in.head[2] = append(in.head[2], id)
		}
	})
	in.lengths = append(in.lengths, uint32(length))
	in.perDoc = append(in.perDoc, uint32(len(in.postings)-before))
	for _, list := range in.head {
		in.heads = append(append(in.heads, uint32(len(list))), list...)
	}
	return err
}

func (in *inverter) code(weighted float64) uint32 {
	code, ok := in.codes[weighted]
	if !ok {
		code = uint32(len(in.values))
		in.codes[weighted], in.values = code, append(in.values, weighted)
	}
	return code
}

// full reports whether the run must be ended before the next document.
func (in *inverter) full() bool { return len(in.perDoc) == runDocs }

// endRun stores the run. It also writes the terms of the documents to docTerms, with the
// IDs of the run.
func (in *inverter) endRun(docTerms *spool) error {
	terms := make([]string, 0, len(in.ids))
	for term := range in.ids {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	starts := make([]int, len(terms)+1)
	next := make([]int, len(terms))    // by ID: index of the next posting
	rank := make([]uint32, len(terms)) // by ID: order among the sorted terms
	for i, term := range terms {
		id := in.ids[term]
		rank[id], next[id] = uint32(i), starts[i]
		starts[i+1] = starts[i] + int(in.counts[id])
	}
	docs, codes := make([]uint16, len(in.postings)), make([]uint32, len(in.postings))
	rest := in.postings
	for doc, n := range in.perDoc {
		for _, p := range rest[:n] {
			docs[next[p.id]], codes[next[p.id]] = uint16(doc), p.code
			next[p.id]++
		}
		rest = rest[n:]
	}
	at := in.runs.size()
	var block []byte
	for i, term := range terms {
		from, to := starts[i], starts[i+1]
		block = block[:0]
		for _, d := range docs[from:to] {
			block = binary.LittleEndian.AppendUint16(block, d)
		}
		for _, c := range codes[from:to] {
			block = appendInt(block, int(c))
		}
		b := appendString(in.runs.buf, term)
		b = appendInt(appendInt(b, to-from), len(block))
		in.runs.buf = append(b, block...)
		if err := in.runs.spill(); err != nil {
			return err
		}
	}
	in.ends = append(in.ends, run{at: at, size: in.runs.size() - at, terms: len(terms)})
	err := in.endHeads(docTerms, rank)
	clear(in.ids)
	in.counts = in.counts[:0]
	in.postings, in.perDoc, in.heads = in.postings[:0], in.perDoc[:0], in.heads[:0]
	return err
}

// endHeads writes the terms of a run's documents.
func (in *inverter) endHeads(docTerms *spool, rank []uint32) error {
	var lists [3][]uint32
	for rest := in.heads; len(rest) > 0; {
		for i := range lists {
			list := lists[i][:0]
			n := rest[0]
			for _, id := range rest[1 : 1+n] {
				list = append(list, rank[id])
			}
			rest = rest[1+n:]
			slices.Sort(list)
			lists[i] = list
		}
		docTerms.buf = appendDocTerms(docTerms.buf, &lists)
		if err := docTerms.spill(); err != nil {
			return err
		}
	}
	return nil
}

// mean returns the mean length of docs documents.
func (in *inverter) mean(docs int) float64 {
	sum := 0
	for _, n := range in.lengths {
		sum += int(n)
	}
	return float64(sum) / float64(max(docs, 1))
}

// merge writes the dictionary and the posting lists of all runs.
func (in *inverter) merge(d *dict, mean float64) error {
	readers := make([]runReader, len(in.ends))
	for i := range in.ends {
		src, err := in.runs.section(in.ends[i].at, in.ends[i].size)
		if err != nil {
			return err
		}
		readers[i].r = bufio.NewReaderSize(src, 1<<16)
		in.ends[i].globals = make([]uint32, 0, in.ends[i].terms)
		if err := readers[i].next(); err != nil {
			return err
		}
	}
	var term, buf []byte
	for {
		least := -1
		for i := range readers {
			if r := &readers[i]; !r.done && (least < 0 || string(r.term) < string(readers[least].term)) {
				least = i
			}
		}
		if least < 0 {
			d.finish()
			return nil
		}
		term = append(term[:0], readers[least].term...)
		buf = buf[:0]
		all, last := 0, 0
		for first := 0; first < len(readers); first += stretch / runDocs {
			n := 0
			buf, n = in.appendStretch(buf, readers, term, first, first/(stretch/runDocs)-last, mean)
			if n > 0 {
				all, last = all+n, first/(stretch/runDocs)
			}
		}
		for i := range readers {
			if r := &readers[i]; !r.done && string(r.term) == string(term) {
				in.ends[i].globals = append(in.ends[i].globals, uint32(d.n))
				if err := r.next(); err != nil {
					return err
				}
			}
		}
		if err := d.add(string(term), all, buf); err != nil {
			return err
		}
	}
}

// appendStretch encodes a term's postings in the stretch that begins with the run first,
// and returns their number. The distance is from the previous stretch with postings.
func (in *inverter) appendStretch(buf []byte, readers []runReader, term []byte, first, distance int, mean float64) ([]byte, int) {
	runs := readers[first:min(first+stretch/runDocs, len(readers))]
	n := 0
	for i := range runs {
		if r := &runs[i]; !r.done && string(r.term) == string(term) {
			n += r.docs
		}
	}
	if n == 0 {
		return buf, 0
	}
	if len(in.lengths) > stretch {
		buf = appendInt(appendInt(buf, distance), n)
	}
	for i := range runs {
		if r := &runs[i]; !r.done && string(r.term) == string(term) {
			for docs := r.block[:2*r.docs]; len(docs) > 0; docs = docs[2:] {
				buf = binary.LittleEndian.AppendUint16(buf, binary.LittleEndian.Uint16(docs)+uint16(i*runDocs))
			}
		}
	}
	for i := range runs {
		if r := &runs[i]; !r.done && string(r.term) == string(term) {
			buf = in.appendImpacts(buf, r, (first+i)*runDocs, mean)
		}
	}
	return buf, n
}

// appendImpacts encodes the impacts of one term in one run.
func (in *inverter) appendImpacts(buf []byte, r *runReader, first int, mean float64) []byte {
	docs, codes := r.block[:2*r.docs], cursor{b: r.block[2*r.docs:]}
	for ; len(docs) > 0; docs = docs[2:] {
		length := in.lengths[first+int(binary.LittleEndian.Uint16(docs))]
		buf = append(buf, impactCode(impact(in.values[codes.uvarint()], float64(length), mean)))
	}
	return buf
}

// A runReader reads a run term by term.
type runReader struct {
	r     *bufio.Reader
	term  []byte
	docs  int
	block []byte
	done  bool
}

func (r *runReader) next() error {
	n, err := binary.ReadUvarint(r.r)
	if errors.Is(err, io.EOF) {
		r.done = true
		return nil
	}
	if err == nil {
		r.term, err = r.read(r.term, n)
	}
	var docs uint64
	if err == nil {
		docs, err = binary.ReadUvarint(r.r)
	}
	if err == nil {
		n, err = binary.ReadUvarint(r.r)
	}
	if err == nil {
		r.block, err = r.read(r.block, n)
	}
	r.docs = int(docs)
	if err != nil || docs > n || n > math.MaxInt32 {
		return fmt.Errorf("a temporary file has changed since it was written: %w", err)
	}
	return nil
}

func (r *runReader) read(buf []byte, n uint64) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(n))[:n]
	_, err := io.ReadFull(r.r, buf)
	return buf, err
}
