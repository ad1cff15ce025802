package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// Write writes a snapshot of the documents, which must be sorted by Key, to path. It writes
// a temporary file next to path and then renames it, so that readers see either the old
// file or the complete new one. It does not keep a document after asking for the next. The
// same input gives the same bytes.
//
// Write needs memory for 16,384 documents and about 50 bytes for each document, and 1 KB more for
// each of up to 131,072, among which it looks for copies; the rest is in temporary files next to path. All their names begin with path's and end in ".tmp", and
// Write removes them; files left by a killed process may be removed. On Windows, Write
// cannot replace a file that is mapped.
func Write(d atomicfile.Disk, path string, m Meta, docs iter.Seq2[*Document, error]) error {
	if err := regular.Check(path); err != nil {
		return err
	}
	if err := writeOn(d, path, m, docs); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func writeOn(d atomicfile.Disk, path string, m Meta, docs iter.Seq2[*Document, error]) (err error) {
	w := newWriter(d, path, m)
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.build(docs); err != nil {
		return err
	}
	f, err := createTemp(d, path)
	if err != nil {
		return err
	}
	if err := w.writeFile(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.MoveTo(path)
}

// Encode returns in memory what Write would write.
func Encode(m Meta, docs iter.Seq2[*Document, error]) ([]byte, error) {
	w := newWriter(nil, "", m)
	if err := w.build(docs); err != nil {
		return nil, fmt.Errorf("encoding snapshot: %w", err)
	}
	var b bytes.Buffer
	b.Grow(w.h.end)
	b.Write(make([]byte, w.h.data))
	if err := w.assemble(&b); err != nil {
		return nil, fmt.Errorf("encoding snapshot: %w", err)
	}
	copy(b.Bytes(), w.h.encode())
	return b.Bytes(), nil
}

// A writer collects the sections of a snapshot.
type writer struct {
	h     header
	extra []byte
	parts [sections]spool
	in    *inverter
	runs  spool
	terms spool // terms of documents, with the IDs of runs

	last     string     // key of the last document
	docEnds  []int      // end of each document in docSection
	rows     []rowEntry // rows of all documents
	hidden   set
	reserved set
	sources  map[string]*set
	tags     map[string]*set
	places   map[string]int // first document of each place, see appendPlace
	triggers triggerTable
	vectored [Spaces]Skills
	kin      []*kin // of all documents, unless there are more than maxKin
	analyzer words.Analyzer
}

func newWriter(d atomicfile.Disk, path string, m Meta) *writer {
	w := &writer{extra: m.Extra, sources: make(map[string]*set), tags: make(map[string]*set), places: make(map[string]int)}
	w.triggers.phrases = make(map[string]*set)
	w.h.meta = m
	w.h.meta.Extra = nil
	for i := range w.parts {
		w.parts[i].disk, w.parts[i].path = d, path
	}
	w.runs = spool{disk: d, path: path}
	w.terms = w.runs
	w.in = &inverter{weights: m.Weights, runs: &w.runs, codes: make(map[float64]uint32), ids: make(map[string]uint32)}
	return w
}

// close removes the temporary files.
func (w *writer) close() error {
	err := errors.Join(w.runs.remove(), w.terms.remove())
	for i := range w.parts {
		err = errors.Join(err, w.parts[i].remove())
	}
	return err
}

// build fills all sections and computes their offsets.
func (w *writer) build(docs iter.Seq2[*Document, error]) error {
	if err := checkMeta(&w.h.meta); err != nil {
		return err
	}
	for d, err := range docs {
		if err != nil {
			return err
		}
		if err := w.add(d); err != nil {
			return fmt.Errorf("document %d (%s): %w", w.h.docs, d.ID, err)
		}
		w.h.docs++
	}
	if err := w.in.endRun(&w.terms); err != nil {
		return err
	}
	if w.h.meta.MeanLength == 0 {
		w.h.meta.MeanLength = w.in.mean(w.h.docs)
	}
	d := dict{terms: &w.parts[dictSection], postings: &w.parts[postingSection], groups: &w.parts[groupSection], stretches: w.h.docs > stretch}
	if err := w.in.merge(&d, w.h.meta.MeanLength); err != nil {
		return err
	}
	w.h.terms = d.n
	if err := w.runs.remove(); err != nil {
		return err
	}
	if err := w.addDocTerms(); err != nil {
		return err
	}
	w.parts[rowSection].buf = appendRows(nil, w.rows)
	w.parts[hiddenSection].buf, w.parts[reservedSection].buf = w.hidden.entries, w.reserved.entries
	w.parts[tagSection].buf, w.parts[sourceSection].buf = encodeSets(w.tags), encodeSets(w.sources)
	for s, skills := range w.vectored {
		out := &w.parts[Space(s).vectored()]
		for _, word := range skills {
			out.buf = binary.LittleEndian.AppendUint64(out.buf, word)
		}
	}
	w.parts[triggerSection].buf, w.parts[patternSection].buf = w.triggers.encode()
	if err := w.addFamilies(); err != nil {
		return err
	}
	w.parts[extraSection].buf = w.extra
	for i := range w.parts {
		w.h.sizes[i] = w.parts[i].size()
	}
	w.h.place()
	return nil
}

// add adds a document to the sections that can be written document by document.
func (w *writer) add(d *Document) error {
	if err := w.check(d); err != nil {
		return err
	}
	w.last = d.Key
	doc := w.h.docs
	w.rows = append(w.rows, rowEntry{d.Row, uint32(doc)})
	if d.Hidden {
		w.hidden.add(doc)
	}
	if d.InvokedBy == skill.InvokedByUser {
		w.reserved.add(doc)
	}
	addTo(w.sources, d.Source, doc)
	for _, tag := range d.Tags {
		addTo(w.tags, words.NameKey(tag), doc)
	}
	w.triggers.add(doc, &d.Triggers)
	if w.in.full() {
		if err := w.in.endRun(&w.terms); err != nil {
			return err
		}
	}
	if err := w.in.add(d.Terms); err != nil {
		return err
	}
	docs, facts, sketches := &w.parts[docSection], &w.parts[factSection], &w.parts[sketchSection]
	sketches.buf = appendSketch(sketches.buf, d.Sketch)
	docs.buf = w.appendDocument(docs.buf, d)
	w.docEnds = append(w.docEnds, docs.size())
	own := factsOf(d)
	facts.buf = appendFacts(facts.buf, &own)
	if doc < maxKin {
		w.kin = append(w.kin, newKin(d, own, &w.analyzer))
	}
	err := errors.Join(docs.spill(), facts.spill(), sketches.spill(), w.addExamples(doc, d.Examples))
	for s := range Spaces {
		err = errors.Join(err, w.addVectors(s, doc, d.Vectors.of(s)))
	}
	return err
}

// addVectors adds the vectors of a document in a space.
func (w *writer) addVectors(s Space, doc int, vectors [][]float32) error {
	dim := w.h.meta.Models[s].Dim
	rows, first, second := &w.parts[s.rows()], &w.parts[s.firstCodes()], &w.parts[s.secondCodes()]
	rows.buf = appendRow(rows.buf, vectors, dim)
	first.buf, second.buf = appendCode(first.buf, second.buf, vectors, dim)
	if doc%64 == 0 {
		w.vectored[s] = append(w.vectored[s], 0)
	}
	if vectors[0] != nil {
		w.vectored[s].Add(doc)
	}
	return errors.Join(rows.spill(), first.spill(), second.spill())
}

// addDocTerms copies the terms of documents and replaces the IDs of runs by global IDs. Each
// document has three ascending lists: the terms of its name, with repetitions, of the
// visible part of its description, and of its tags. The IDs of the last two lists are
// encoded as the differences between them.
func (w *writer) addDocTerms() error {
	src, err := w.terms.all()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(src, 1<<16)
	b := make([]byte, 4)
	next := func(below int) int {
		_, e := io.ReadFull(r, b)
		n := int(binary.LittleEndian.Uint32(b))
		if err = cmp.Or(err, e); err == nil && n >= below {
			err = fmt.Errorf("term %d of %d", n, below)
		}
		return n
	}
	out, index := &w.parts[docTermSection], &w.parts[docIndexSection]
	start := 0
	for doc, end := range w.docEnds {
		index.buf = appendSpan(index.buf, start, out.size())
		globals := w.in.ends[doc/runDocs].globals
		for list := range 3 {
			n, last := next(math.MaxInt32), uint32(0)
			for out.buf = appendInt(out.buf, n); n > 0; n-- {
				i := next(len(globals))
				if err != nil {
					return fmt.Errorf("a temporary file has changed since it was written: %w", err)
				}
				id := globals[i]
				out.buf = appendInt(out.buf, int(id-last))
				if list > 0 {
					last = id
				}
			}
		}
		if err := errors.Join(err, index.spill(), out.spill()); err != nil {
			return err
		}
		start = end
	}
	index.buf = appendSpan(index.buf, start, out.size())
	return w.terms.remove()
}

// checkMeta returns an error for the first value that a snapshot cannot hold.
func checkMeta(m *Meta) error {
	w := &m.Weights
	switch {
	case !finite(w.Name, w.Description, w.Tags, w.Body):
		return fmt.Errorf("weights %v: they must be finite and at least 0", m.Weights)
	case !finite(m.MeanLength):
		return fmt.Errorf("mean length %v: it must be finite and at least 0", m.MeanLength)
	}
	for _, m := range m.Models {
		switch {
		case m.Dim < 0 || m.Dim > maxDim:
			return fmt.Errorf("dimension %d, want 0 to %d", m.Dim, maxDim)
		case len(m.Name) > math.MaxUint16:
			return fmt.Errorf("the name of the model has %d bytes", len(m.Name))
		}
	}
	return nil
}

// finite reports whether all numbers are finite and at least 0.
func finite(list ...float64) bool {
	return !slices.ContainsFunc(list, func(x float64) bool { return !(x >= 0) || math.IsInf(x, 0) })
}

// check returns an error for the first value of a document that a snapshot cannot hold.
func (w *writer) check(d *Document) error {
	switch {
	case w.h.docs == math.MaxInt32:
		return errors.New("too many documents")
	case d.Key < w.last:
		return fmt.Errorf("its key %q sorts before the previous document's key %q", d.Key, w.last)
	case d.Tokens < 0 || d.Tokens > math.MaxInt32:
		return fmt.Errorf("%d tokens", d.Tokens)
	}
	for s := range Spaces {
		if err := checkVectors(d.Vectors.of(s), w.h.meta.Models[s].Dim); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes the built snapshot to an empty file.
func (w *writer) writeFile(f atomicfile.File) error {
	if err := w.assemble(io.NewOffsetWriter(f, int64(w.h.data))); err != nil {
		return err
	}
	if _, err := f.WriteAt(w.h.encode(), 0); err != nil {
		return err
	}
	return f.Sync()
}

// assemble writes the sections one after the other and computes their checksums.
func (w *writer) assemble(dst io.Writer) error {
	sums := &summer{w: dst}
	out := bufio.NewWriterSize(sums, blockSize)
	at := w.h.data
	for i := range w.parts {
		p := &w.parts[i]
		if _, err := out.Write(make([]byte, w.h.starts[i]-at)); err != nil {
			return err
		}
		at = w.h.starts[i] + w.h.sizes[i]
		src, err := p.all()
		if err != nil {
			return err
		}
		if _, err := io.Copy(out, src); err != nil {
			return err
		}
		if err := p.remove(); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	w.h.sums = sums.end()
	return nil
}

// A summer passes bytes on and computes a checksum for each block.
type summer struct {
	w    io.Writer
	n    int // bytes in the current block
	crc  uint32
	sums []byte
}

func (s *summer) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), blockSize-s.n)]
		s.crc = crc32.Update(s.crc, crcTable, part)
		if s.n += len(part); s.n == blockSize {
			s.end()
		}
		rest = rest[len(part):]
	}
	return s.w.Write(b)
}

// end ends the current block, if there is one, and returns all checksums.
func (s *summer) end() []byte {
	if s.n > 0 {
		s.sums = binary.LittleEndian.AppendUint32(s.sums, s.crc)
		s.n, s.crc = 0, 0
	}
	return s.sums
}
