package source_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// Files are read into one buffer, which a listed size may make too small, or leave as it was
// for the file before.
func TestManifestReadsFilesOfAllSizes(t *testing.T) {
	files := fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}}
	for i, size := range []int{0, 1, 511, 512, 513, 40_000, 32 << 10, 3} {
		files[fmt.Sprintf("a/%d.txt", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{byte('a' + i)}, size)}
	}
	m, err := source.ReadManifest(t.Context(), memory(t, files), "a")
	must.Do(t, err)
	if len(m.Files) != len(files) {
		t.Fatalf("files %v", m.Files)
	}
	for _, f := range m.Files {
		data := files["a/"+f.Path].Data
		if f.Size != int64(len(data)) || f.SHA256 != fmt.Sprintf("%x", sha256.Sum256(data)) {
			t.Errorf("%s: %d bytes with the digest %s", f.Path, f.Size, f.SHA256)
		}
	}
}

// Most of a push of what has not changed is reading: the buffers must be no larger than the
// files.
func TestManifestAllocatesLittle(t *testing.T) {
	testsize.Long(t) // the race detector drops what pools hold, such as that of regexp
	files := fstest.MapFS{"a/SKILL.md": {Data: []byte(doc("a"))}}
	for i := range 8 {
		files[fmt.Sprintf("a/%d.txt", i)] = &fstest.MapFile{Data: make([]byte, 1000)}
	}
	s := memory(t, files)
	least := uint64(math.MaxUint64) // of all rounds: goroutines of other tests may allocate meanwhile
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := source.ReadManifest(t.Context(), s, "a")
		must.Do(t, err)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 100_000 {
		t.Errorf("reading 9 small files allocates %d bytes", least)
	}
}

func memory(t *testing.T, files fstest.MapFS) source.Source {
	t.Helper()
	s, err := source.New(files, nil)
	must.Do(t, err)
	return s
}
