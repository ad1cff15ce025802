package index

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// headed returns a list of stamps of sources with odd names.
func headed(t testing.TB, path string) (*stampFile, []source.Info) {
	t.Helper()
	f := &stampFile{disk: atomicfile.OS{}, path: path}
	var want []source.Info
	for i, label := range []string{"plain", "with \"quotes\" and a\nline", "ünï 世界", ""} {
		s, err := source.New(fstest.MapFS{}, &source.Options{Label: label, Priority: i - 1})
		must.Do(t, err)
		f.sources = append(f.sources, s)
		info := s.Info()
		want = append(want, source.Info{Label: info.Label, Root: info.Root, Priority: info.Priority, Settings: info.Settings})
	}
	return f, want
}

// TestScanned: the sources of another catalog are read without its database.
func TestScanned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	if list, err := Scanned(path); err == nil {
		t.Errorf("without a list of stamps: %v", list)
	}
	f, want := headed(t, path)
	must.Do(t, f.write(&scan{generation: store.Generation{Number: 3, Token: 4}}))
	if list, err := Scanned(path); err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v; want %+v", list, err, want)
	}
	for _, data := range []string{"", "something else", stampMagic, stampMagic + "\xff\xff\xff\xff\x7f", stampMagic + "\x05\"a\" x\n"} {
		must.Do(t, os.WriteFile(path+stampSuffix, []byte(data), 0o600))
		if list, err := Scanned(path); err == nil {
			t.Errorf("%q: %v", data, list)
		}
	}
}

// FuzzReadHeader: damaged heads of lists are errors, and what is read is what was written.
func FuzzReadHeader(f *testing.F) {
	file, _ := headed(f, "")
	f.Add(file.header())
	f.Add([]byte(stampMagic + "\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := readHeader(bufio.NewReader(bytes.NewReader(data)))
		if err != nil && list != nil {
			t.Errorf("%v with %v", list, err)
		}
	})
}
