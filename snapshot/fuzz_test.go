package snapshot

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
)

// reseal makes the checksums of a file right, so that what checks them does not
// hide what reads the rest. It leaves a file alone whose header cannot be read.
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
	// The sums stand behind the sizes, at a place that the name of the model moves.
	at := len(magic) + 8 + 16 + 16 + len(h.meta.Model) + 32 + 8*int(sections)
	for i := range h.blocks() {
		from := h.data + i*blockSize
		binary.LittleEndian.PutUint32(file[at+4*i:], crc32.Checksum(file[from:min(from+blockSize, h.end)], crcTable))
	}
	seal()
}

// FuzzOpen: any bytes, with right checksums or without, are answered without a
// panic, and errors match ErrDamaged.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed")
	unit := []float32{.6, .8, 0}
	docs := []Document{
		{Key: "csv", Name: "csv", Tags: []string{"data"}, Requires: []string{"jq"}, Terms: Fields{Name: []string{"csv"}, Body: []string{"table", "csv"}}},
		{Key: "pdf", Name: "pdf", Source: "a", Terms: Fields{Name: []string{"pdf"}, Body: []string{"form"}}, Vectors: Vectors{unit, unit}},
	}
	for _, n := range []int{0, 1, 2} {
		if err := Write(path, Meta{Model: "m", Dim: 3}, docs[:n]); err != nil {
			f.Fatal(err)
		}
		seed, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, file []byte, sealed bool) {
		file = append([]byte(nil), file...)
		if sealed {
			reseal(file)
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := useAll(path); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// useAll calls everything on a file.
func useAll(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	terms, err1 := s.Lookup([]string{"csv", "form", "table", ""})
	_, err2 := s.Search(terms, nil, 1<<40)
	errs := []error{err1, err2}
	for doc := range s.Len() {
		_, err1 := s.Doc(doc)
		_, err2 := s.NameTerms(nil, doc)
		_, err3 := s.HeadTerms(nil, doc)
		errs = append(errs, err1, err2, err3)
	}
	_, _, err1 = s.Prefixed("p")
	_, _, err2 = s.Tag("data")
	_, _, err3 := s.Source("a")
	errs = append(errs, err1, err2, err3)
	if dim := s.Meta().Dim; dim > 0 {
		unit := make([]float32, dim)
		unit[0] = 1
		p, err1 := s.Prompt(unit)
		if err1 != nil {
			return err1
		}
		_, err2 := p.Nearest(nil, 5)
		_, err3 := p.rescore(nil, 5)
		errs = append(errs, err2, err3)
	}
	return errors.Join(append(errs, s.Close())...)
}

// TestReadFallback: where there is no mapping the bytes are the same.
func TestReadFallback(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, Meta{}, []Document{{Key: "a"}}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, unmap, err := readFile(f, len(want))
	if err != nil || string(got) != string(want) || unmap() != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, _, err := readFile(f, len(want)+1); err == nil {
		t.Error("read more than there is")
	}
}
