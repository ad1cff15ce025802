package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
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
	heads    []uint32    // IDs for addDocTerms, of all documents; each list follows its length
	head     [3][]uint32 // IDs for addDocTerms, of the current document
}

// runDocs is the number of documents in a run, a part of a stretch. With about 400 terms
// in a document, a run has six million postings.
const runDocs = stretch / 4

// A run holds the postings of some documents. For each term, in order, it stores the
// length of the term, the number of documents, the length of the postings, the term, and
// the postings: the documents (2 bytes each) and the codes of their weighted occurrences.
type run struct {
	at, size int
	terms    int
	globals  []uint32 // ID of each term among all terms, by ID in the run
}

// posting is one term of one document.
type posting struct{ id, code uint32 }

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
	terms := slices.Sorted(maps.Keys(in.ids))
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
		b := appendInt(appendInt(appendInt(in.runs.buf, len(term)), to-from), len(block))
		in.runs.buf = append(append(b, term...), block...)
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

// endHeads writes the terms of a run's documents: three lists each, 4 bytes for each length
// and ID.
func (in *inverter) endHeads(docTerms *spool, rank []uint32) error {
	for rest := in.heads; len(rest) > 0; {
		list := rest[1 : 1+rest[0]]
		docTerms.buf = binary.LittleEndian.AppendUint32(docTerms.buf, rest[0])
		for i, id := range list {
			list[i] = rank[id]
		}
		slices.Sort(list)
		for _, id := range list {
			docTerms.buf = binary.LittleEndian.AppendUint32(docTerms.buf, id)
		}
		if err := docTerms.spill(); err != nil {
			return err
		}
		rest = rest[1+rest[0]:]
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
	var buf []byte
	var has []int // the runs that have the term
	for {
		if has = least(has[:0], readers); len(has) == 0 {
			d.finish()
			return nil
		}
		term, docs := string(readers[has[0]].term), 0
		buf, docs = in.appendPostings(buf[:0], readers, has, mean)
		for _, i := range has {
			in.ends[i].globals = append(in.ends[i].globals, uint32(d.n))
			if err := readers[i].next(); err != nil {
				return err
			}
		}
		if err := d.add(term, docs, buf); err != nil {
			return err
		}
	}
}

// least appends the readers that are at the least term to list.
func least(list []int, readers []runReader) []int {
	for i := range readers {
		if readers[i].done {
			continue
		}
		order := -1
		if len(list) > 0 {
			order = bytes.Compare(readers[i].term, readers[list[0]].term)
		}
		if order < 0 {
			list = list[:0]
		}
		if order <= 0 {
			list = append(list, i)
		}
	}
	return list
}

// appendPostings encodes a term's postings, and returns their number.
func (in *inverter) appendPostings(buf []byte, readers []runReader, has []int, mean float64) ([]byte, int) {
	const runs = stretch / runDocs
	all, last := 0, 0
	for len(has) > 0 {
		at, n, end := has[0]/runs, 0, 0
		for end < len(has) && has[end]/runs == at {
			n += readers[has[end]].docs
			end++
		}
		if len(in.lengths) > stretch {
			buf = appendInt(appendInt(buf, at-last), n)
		}
		for _, i := range has[:end] {
			for doc := range readers[i].ordinals() {
				buf = binary.LittleEndian.AppendUint16(buf, uint16(i%runs*runDocs+doc))
			}
		}
		for _, i := range has[:end] {
			codes := cursor{b: readers[i].block[2*readers[i].docs:]}
			for doc := range readers[i].ordinals() {
				length := in.lengths[i*runDocs+doc]
				buf = append(buf, impactCode(impact(in.values[codes.uvarint()], float64(length), mean)))
			}
		}
		has, all, last = has[end:], all+n, at
	}
	return buf, all
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
	var n [3]uint64 // length of the term, number of documents, length of the postings
	var err error
	for i := 0; i < len(n) && err == nil; i++ {
		n[i], err = binary.ReadUvarint(r.r)
		if r.done = i == 0 && errors.Is(err, io.EOF); r.done {
			return nil
		}
	}
	if err == nil {
		r.term, err = r.read(r.term, n[0])
	}
	if err == nil {
		r.block, err = r.read(r.block, n[2])
	}
	if r.docs = int(n[1]); err != nil || n[1] > n[2] || n[2] > math.MaxInt32 {
		return fmt.Errorf("a temporary file has changed since it was written: %w", err)
	}
	return nil
}

// ordinals yields the documents of the term, as offsets in the run.
func (r *runReader) ordinals() iter.Seq[int] {
	return func(yield func(int) bool) {
		for docs := r.block[:2*r.docs]; len(docs) > 0 && yield(int(binary.LittleEndian.Uint16(docs))); {
			docs = docs[2:]
		}
	}
}

func (r *runReader) read(buf []byte, n uint64) ([]byte, error) {
	buf = slices.Grow(buf[:0], int(n))[:n]
	_, err := io.ReadFull(r.r, buf)
	return buf, err
}
