package wellknown

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"unicode/utf8"
)

// archive packs files in the given order, with fixed times, owners and modes, so that
// the same files give the same bytes.
func archive(files []File) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(zip)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: int64(len(f.Data)), Mode: 0o644}
		// A name that is not ASCII would be written in full only in an extended
		// header, which small readers skip; this form has its bytes.
		if strings.ContainsFunc(f.Path, func(r rune) bool { return r >= utf8.RuneSelf }) {
			h.Format = tar.FormatGNU
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
