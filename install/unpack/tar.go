package unpack

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// A tarTree is the tree of a tar archive, which may be compressed with gzip.
type tarTree struct {
	f      *os.File
	size   int64
	gzip   bool
	limits Limits
}

func (t tarTree) walk(ctx context.Context, visit func(entry) error) error {
	packed := &counter{r: io.NewSectionReader(t.f, 0, t.size)}
	in := bufio.NewReader(packed)
	var content io.Reader = in
	if t.gzip {
		z, err := gzip.NewReader(in)
		if err != nil {
			return asError("", err)
		}
		z.Multistream(false)
		_, most := t.limits.most()
		content = &bounded{r: z, packed: packed, most: most, ratio: t.limits.Ratio}
	}
	content = contextReader{ctx, content}
	if err := t.members(content, visit); err != nil {
		return err
	}
	if err := checkRest(content); err != nil {
		return err
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return refuse("", "trailing-data", "something follows the compressed archive, such as a second one")
	}
	return nil
}

func (t tarTree) members(content io.Reader, visit func(entry) error) error {
	r := tar.NewReader(content)
	for first := true; ; first = false {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF) && first:
			return asError("", tar.ErrHeader) // it is shorter than any tar
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return asError("", err)
		case h.Typeflag == tar.TypeXGlobalHeader:
			continue // git archive writes the commit there
		}
		e := entry{path: h.Name, mode: h.FileInfo().Mode(), bad: checkTar(h)}
		switch {
		case h.Typeflag == tar.TypeSymlink:
			e.link = short(h.Linkname)
		case h.Typeflag == tar.TypeLink: // a second name of a file: its path in the archive
			if e.link, e.mode = short(h.Linkname), fs.ModeSymlink; e.link != "" && !path.IsAbs(e.link) {
				e.link = strings.Repeat("../", strings.Count(path.Clean(h.Name), "/")) + e.link
			}
		}
		if !e.mode.IsDir() {
			e.size = h.Size
			e.open = func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// checkTar finds what a mode does not say about a member.
func checkTar(h *tar.Header) *Error {
	sparse := h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	switch {
	case sparse:
		return refuse(h.Name, "sparse", "it is a sparse file, which may be far larger than the archive")
	case strings.ContainsRune("01234567", rune(h.Typeflag)):
		return nil
	}
	return refuse(h.Name, "not-regular", "it is of type %q, which is neither a file nor a folder", h.Typeflag)
}

// checkRest refuses what some readers would take for more members: after the end of a tar
// only zeros may follow.
func checkRest(content io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := content.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return refuse("", "trailing-data", "something follows the end of the archive, such as a second one")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return asError("", err)
		}
	}
}

// A counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// A bounded reader stops a bomb while it goes off.
type bounded struct {
	r      io.Reader
	packed *counter
	n      int64
	most   int64
	ratio  int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case exceedsRatio(b.n, b.packed.n, b.ratio):
		return 0, refuse("", "ratio", "it would become more than %d times as large", b.ratio)
	case b.n > b.most:
		return 0, refuse("", "too-large", "it would become more than %s", size(b.most))
	}
	return n, err
}

// asError makes an *Error of what the standard library says about malformed archives.
func asError(path string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok || err == nil {
		return err
	}
	var flateError flate.CorruptInputError
	switch {
	case errors.Is(err, tar.ErrHeader) || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm):
		return refuse(path, "format", "it is not a .zip, .tar or .tar.gz archive, or is damaged")
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zip.ErrChecksum) || errors.As(err, &flateError):
		return refuse(path, "damaged", "it is damaged; fetch it again")
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return refuse(path, "damaged", "it ends too early; fetch it again")
	}
	return err
}
