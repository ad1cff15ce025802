package snapshot

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// Write writes a snapshot to path: to a temporary file beside it, which then
// takes its place, so that readers see the old one or the whole new one. The same
// input makes the same bytes. On Windows nothing can take the place of a file
// that is mapped.
func Write(path string, m Meta, docs []Document) error {
	if err := check(m, docs); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	head, data := encode(m, docs)
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing snapshot: %w", err)
	}
	err = writeAll(f, head, data)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// writeAll writes and closes f.
func writeAll(f *os.File, parts ...[]byte) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			return err
		}
	}
	return f.Sync()
}

// check reports the first thing that a snapshot cannot hold.
func check(m Meta, docs []Document) error {
	for _, w := range m.Weights.list() {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("weights %v: they are numbers from 0 up", m.Weights)
		}
	}
	switch {
	case m.Dim < 0 || m.Dim > maxDim:
		return fmt.Errorf("dimension %d, want 0 to %d", m.Dim, maxDim)
	case len(m.Model) > math.MaxUint16:
		return fmt.Errorf("the name of the model has %d bytes", len(m.Model))
	case len(docs) > math.MaxInt32:
		return fmt.Errorf("%d documents are too many", len(docs))
	}
	for i := range docs {
		d := &docs[i]
		if i > 0 && d.Key < docs[i-1].Key {
			return fmt.Errorf("document %d (%s): its key %q comes before that of the one before, %q; sort them", i, d.Ref, d.Key, docs[i-1].Key)
		}
		if d.Tokens < 0 || d.Tokens > math.MaxInt32 {
			return fmt.Errorf("document %d (%s): %d tokens", i, d.Ref, d.Tokens)
		}
		if err := checkVectors(d.Vectors, m.Dim); err != nil {
			return fmt.Errorf("document %d (%s): %w", i, d.Ref, err)
		}
	}
	return nil
}

// encode returns the header and the data of a snapshot.
func encode(m Meta, docs []Document) (head, data []byte) {
	h := header{meta: m, docs: len(docs)}
	var parts [sections][]byte
	in := invert(docs, m.Weights)
	h.terms = len(in.terms)
	parts[dictSection], parts[postingSection], parts[groupSection] = in.encode()
	ids := in.sortedIDs()
	tags, sources := make(map[string][]int), make(map[string][]int)
	for i := range docs {
		d := &docs[i]
		parts[docIndexSection] = appendSpan(parts[docIndexSection], len(parts[docSection]), len(parts[docTermSection]))
		parts[docSection] = appendDocument(parts[docSection], d)
		parts[docTermSection] = appendDocTerms(parts[docTermSection], d, ids)
		parts[vectorSection] = appendRow(parts[vectorSection], d.Vectors, m.Dim)
		parts[codeSection] = appendCode(parts[codeSection], d.Vectors, m.Dim)
		sources[d.Source] = append(sources[d.Source], i)
		for _, tag := range d.Tags {
			tags[fold(tag)] = append(tags[fold(tag)], i) // twice is harmless
		}
	}
	parts[docIndexSection] = appendSpan(parts[docIndexSection], len(parts[docSection]), len(parts[docTermSection]))
	parts[tagSection], parts[sourceSection] = encodeSets(tags), encodeSets(sources)
	for i, p := range parts {
		h.sizes[i] = len(p)
		data = append(data, make([]byte, roundUp(len(data))-len(data))...)
		data = append(data, p...)
	}
	return h.encode(data), data
}
