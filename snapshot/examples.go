package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/skill"
)

// exampleSection holds the examples of all documents, in the order of these: the ordinal of the
// document (4 bytes) and the vector as a row of Sentences, see vectors.go. Few skills have
// examples, so a search reads all of them.

// addExamples adds the vectors of a document's examples.
func (w *writer) addExamples(doc int, examples [][]float32) error {
	dim := w.h.meta.Models[Sentences].Dim
	if len(examples) > skill.MaxExamples {
		return fmt.Errorf("%d examples, want at most %d", len(examples), skill.MaxExamples)
	}
	out := &w.parts[exampleSection]
	for _, v := range examples {
		if err := checkVectors([][]float32{v}, dim); err != nil {
			return err
		}
		out.buf = appendRow(binary.LittleEndian.AppendUint32(out.buf, uint32(doc)), [][]float32{v}, dim)
	}
	return out.spill()
}

// Examples returns the documents in allowed of which an example has more than the least cosine
// with a prompt in Sentences, in their order, with the highest such cosine below most.
func (r *Reader) Examples(p *Prompt, allowed Skills, least, most float64) (hits []Hit, err error) {
	if p.space != Sentences {
		return nil, errors.New("the vector of the prompt is of another space")
	}
	if err := r.checkPrompt(p); err != nil {
		return nil, err
	}
	data, err := r.s.bytes(exampleSection, 0, r.s.header.sizes[exampleSection])
	if err != nil {
		return nil, err
	}
	size := 4 + Sentences.rowSize(p.dim)
	for at := 0; len(data) > 0; at += size {
		if len(data) < size || int(binary.LittleEndian.Uint32(data)) >= r.s.header.docs {
			return nil, r.s.damaged(exampleSection, at)
		}
		doc := int(binary.LittleEndian.Uint32(data))
		cosine := 0.
		if allowed.Has(doc) {
			cosine = p.sum(data[4:size])
		}
		data = data[size:]
		if cosine <= least || cosine >= most {
			continue
		}
		if n := len(hits); n == 0 || hits[n-1].Doc != doc {
			hits = append(hits, Hit{Doc: doc})
		}
		best := &hits[len(hits)-1]
		best.Score = max(best.Score, cosine)
	}
	return hits, nil
}
