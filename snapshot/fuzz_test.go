package snapshot

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// reseal corrects the checksums of a file, so that damage gets past them to the code that
// reads the data. It does not change a file whose header cannot be read.
func reseal(file []byte) {
	if len(file) < minHeader {
		return
	}
	size := int(binary.LittleEndian.Uint32(file[len(magic)+4:]))
	if size < minHeader || size > len(file) {
		return
	}
	seal := func() {
		binary.LittleEndian.PutUint32(file[size-4:], crc32.Checksum(file[:size-4], crcTable))
	}
	seal()
	var h header
	if h.decode(file) != nil {
		return
	}
	at := h.sumsAt()
	for i := range h.blocks() {
		from := h.data + i*blockSize
		binary.LittleEndian.PutUint32(file[at+4*i:], crc32.Checksum(file[from:min(from+blockSize, h.end)], crcTable))
	}
	seal()
}

// FuzzOpen: no bytes cause a panic, with right or wrong checksums, and errors match
// ErrDamaged.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed")
	for _, n := range []int{0, 1, 2, 3} {
		must.Do(f, Write(atomicfile.OS{}, path, Meta{Models: [Spaces]Model{{"m", 3}}, Extra: []byte("extra")}, few(n)))
		seed, err := os.ReadFile(path)
		must.Do(f, err)
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, file []byte, sealed bool) {
		file = append([]byte(nil), file...)
		if sealed {
			reseal(file)
		}
		path := filepath.Join(t.TempDir(), "file")
		must.Do(t, os.WriteFile(path, file, 0o600))
		if err := useAll(path); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// few returns the first n of a few documents.
func few(n int) iter.Seq2[*Document, error] {
	unit := []float32{.6, .8, 0}
	docs := []Document{
		{Row: 9, Hidden: true},
		{Row: 5, Key: "csv", Meta: skill.Meta{Name: "csv", Source: "a", Location: "/a/csv/SKILL.md", Path: "csv/SKILL.md", TextDigest: strings.Repeat("0f", 32), Tags: []string{"data"}, Needs: skill.Needs{Commands: []string{"jq"}}, Triggers: skill.Triggers{Keywords: []string{"csv table"}, Patterns: []string{"c[sz]v"}}}, Terms: packed(skill.Fields{Name: []string{"csv"}, Body: []string{"table", "csv"}}), Sketch: words.NewSketch("table csv"), Vectors: Vectors{unit, unit}},
		{Row: 7, Key: "pdf", Meta: skill.Meta{Name: "pdf", Source: "a", Location: "/a/pdf/SKILL.md", Path: "pdf/SKILL.md"}, Terms: packed(skill.Fields{Name: []string{"pdf"}, Body: []string{"form"}}), Vectors: Vectors{unit, unit}},
	}
	return func(yield func(*Document, error) bool) {
		for i := range n {
			if !yield(&docs[i], nil) {
				return
			}
		}
	}
}

func packed(f skill.Fields) skill.Terms { return f.Pack() }

// useAll calls everything on a file.
func useAll(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	return errors.Join(s.Read(readAll), s.Close())
}

func readAll(r *Reader) error {
	terms, err1 := r.Lookup(nil, []string{"csv", "form", "table", ""})
	_, err2 := r.Search(terms, r.s.All(), math.MaxInt)
	_, err3 := r.Among(terms, nil)
	begin, err4 := r.Beginning("")
	errs := []error{err1, err2, err3, err4}
	for _, t := range begin {
		errs = append(errs, r.Occurrences(make([]float32, r.s.Len()), t))
	}
	for doc := range r.s.Len() {
		_, err1 := r.Doc(doc)
		_, _, err2 := r.HeadTerms(nil, doc, 1)
		_, _, err3 := r.HeadTerms(nil, doc, 3)
		_, err4 := r.Facts(doc)
		_, err5 := r.Sketch(doc)
		errs = append(errs, err1, err2, err3, err4, err5)
	}
	_, _, err1 = r.Prefixed("p")
	_, err2 = r.Tag("data")
	_, err3 = r.Source("a")
	_, _, err4 = r.Ordinal(7)
	_, err5 := r.Hidden()
	_, err6 := r.Claims([]string{"csv", "tabl", "form"})
	_, err7 := r.Patterns()
	errs = append(errs, err1, err2, err3, err4, err5, err6, err7)
	if dim := r.s.Meta().Models[Words].Dim; dim > 0 {
		unit := make([]float32, dim)
		unit[0] = 1
		p, err1 := r.Prompt(Words, unit)
		if err1 != nil {
			return err1
		}
		_, err2 := r.Nearest(p, r.s.All(), 5)
		_, err3 := r.Nearest(p, r.s.All(), 0) // by codes, also of few documents
		errs = append(errs, err2, err3)
	}
	return errors.Join(errs...)
}

// TestReadFallback: readFile returns the same bytes as a mapping.
func TestReadFallback(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, Write(atomicfile.OS{}, path, Meta{}, few(1)))
	f, err := os.Open(path)
	must.Do(t, err)
	defer f.Close()
	want, err := os.ReadFile(path)
	must.Do(t, err)
	got, unmap, err := readFile(f, len(want))
	if err != nil || string(got) != string(want) || unmap() != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, _, err := readFile(f, len(want)+1); err == nil {
		t.Error("read more than there is")
	}
}
