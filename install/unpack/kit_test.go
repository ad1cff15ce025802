package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// An item is an entry of a tree to make.
type item struct {
	path string
	text string
	mode fs.FileMode // 0 means a file that its owner may write
	link string      // target of a symbolic link
}

func (it item) fileMode() fs.FileMode {
	switch {
	case it.link != "":
		return fs.ModeSymlink | 0o777
	case it.mode == 0:
		return 0o644
	}
	return it.mode
}

func file(path string) item { return item{path: path, text: "x"} }

var instructions = item{path: "pdf/SKILL.md", text: "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead.\n"}

// saved writes an archive whose name says nothing about what it is.
func saved(t testing.TB, data []byte) string {
	name := filepath.Join(t.TempDir(), "archive")
	must.Do(t, os.WriteFile(name, data, 0o600))
	return name
}

func zipOf(t testing.TB, items ...item) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, it := range items {
		h := &zip.FileHeader{Name: it.path, Method: zip.Deflate}
		h.SetMode(it.fileMode())
		f, err := w.CreateHeader(h)
		must.Do(t, err)
		if !strings.HasSuffix(it.path, "/") {
			_, err = io.WriteString(f, it.text+it.link)
			must.Do(t, err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

func tarOf(t testing.TB, items ...item) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, it := range items {
		h := &tar.Header{Name: it.path, Mode: int64(it.fileMode().Perm()), Typeflag: tar.TypeReg, Size: int64(len(it.text)), Linkname: it.link}
		for bit, c := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
			if it.mode&bit != 0 {
				h.Mode |= c
			}
		}
		for bit, flag := range map[fs.FileMode]byte{fs.ModeDir: tar.TypeDir, fs.ModeSymlink: tar.TypeSymlink, fs.ModeNamedPipe: tar.TypeFifo, fs.ModeDevice: tar.TypeBlock} {
			if it.fileMode()&bit != 0 {
				h.Typeflag, h.Size = flag, 0
			}
		}
		if it.mode&fs.ModeCharDevice != 0 {
			h.Typeflag = tar.TypeChar
		}
		must.Do(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, it.text)
			must.Do(t, err)
		}
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.Bytes()
}

// folderOf makes the tree as a folder on disk, with real links, pipes and bits.
func folderOf(t testing.TB, items ...item) string {
	top := t.TempDir()
	for _, it := range items {
		name := filepath.Join(top, it.path)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		switch {
		case it.link != "":
			must.Do(t, os.Symlink(it.link, name))
		case it.mode&fs.ModeDir != 0:
			must.Do(t, os.MkdirAll(name, 0o755))
			must.Do(t, os.Chmod(name, it.mode&^fs.ModeDir))
		case it.mode.Type() != 0:
			special(t, name, it.mode)
		default:
			must.Do(t, os.WriteFile(name, []byte(it.text), 0o600))
			must.Do(t, os.Chmod(name, it.fileMode()))
		}
	}
	return top
}

// listing describes all that is in a folder: "path mode text", folders left out.
func listing(t testing.TB, dir string) string {
	var b strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		must.Do(t, err)
		data, err := os.ReadFile(name)
		must.Do(t, err)
		rel, err := filepath.Rel(dir, name)
		must.Do(t, err)
		fmt.Fprintf(&b, "%s %v %x\n", filepath.ToSlash(rel), info.Mode(), sha256.Sum256(data))
		return nil
	}))
	return b.String()
}

func crcOf(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }

func deflated(t testing.TB, text string) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	must.Do(t, err)
	_, err = io.WriteString(w, text)
	must.Do(t, err)
	must.Do(t, w.Close())
	return b.Bytes()
}
