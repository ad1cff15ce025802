package unpack

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/repertoire-skills/repertoire/skill"
)

// A zipTree is the tree of a zip archive. A zip says everything about its members twice: in a
// directory at the end and in a header before each. Readers differ in which they believe, so
// both must agree, and nothing may be between the members.
type zipTree struct {
	files  []*zip.File
	limits Limits
}

func newZip(r io.ReaderAt, size int64, l Limits) (*zipTree, error) {
	members, _ := l.most()
	// The reader makes the whole directory before anybody can count it. A zip inside of the
	// archive may hold signatures too.
	n, err := countSignatures(r, size)
	if err != nil {
		return nil, err
	}
	if n > 2*members {
		return nil, refuse("", "too-many-members", "it has more than %d files and folders", members)
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, asError("", err)
	}
	return &zipTree{z.File, l}, checkLayout(r, z.File)
}

// countSignatures counts what looks like entries of a directory.
func countSignatures(r io.ReaderAt, size int64) (n int, err error) {
	signature := []byte("PK\x01\x02")
	buf := make([]byte, 64<<10)
	keep := 0 // bytes of the block before, as a signature may be in two blocks
	for at := int64(0); at < size; {
		m, err := r.ReadAt(buf[keep:], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if m == 0 {
			break
		}
		at += int64(m)
		block := buf[:keep+m]
		n += bytes.Count(block, signature)
		keep = copy(buf, block[max(0, len(block)-len(signature)+1):])
	}
	return n, nil
}

func (t *zipTree) walk(ctx context.Context, visit func(entry) error) error {
	for _, f := range t.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := entry{path: f.Name, mode: f.Mode(), open: f.Open, bad: t.check(f)}
		if !e.mode.IsDir() {
			e.size = int64(f.UncompressedSize64)
		}
		if e.mode&fs.ModeSymlink != 0 && e.bad == nil {
			target, err := readLink(f)
			if err != nil {
				return asError(f.Name, err)
			}
			e.link = target
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// readLink returns what a symbolic link leads to, which is the content of the member.
func readLink(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, skill.MaxPath+1))
	return short(string(data)), err
}

const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagStrong     = 1 << 6
	flagMasked     = 1 << 13
	methodAES      = 99
)

// check finds what is wrong with one member.
func (t *zipTree) check(f *zip.File) *Error {
	switch {
	case f.Flags&(flagEncrypted|flagStrong|flagMasked) != 0 || f.Method == methodAES:
		return refuse(f.Name, "encrypted", "it is encrypted; unpack the archive yourself and install the folder")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse(f.Name, "method", "it is compressed with method %d; only the usual one (deflate) is known", f.Method)
	case f.UncompressedSize64 > 1<<40:
		return refuse(f.Name, "lying-size", "it states a size of %d bytes", f.UncompressedSize64)
	case f.Mode().IsDir() && f.UncompressedSize64 != 0:
		return refuse(f.Name, "lying-size", "it is a folder that states a size of %d bytes", f.UncompressedSize64)
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return refuse(f.Name, "lying-size", "it is not compressed, but states two sizes")
	case exceedsRatio(int64(f.UncompressedSize64), int64(f.CompressedSize64), t.limits.Ratio):
		return refuse(f.Name, "ratio", "it would become more than %d times as large", t.limits.Ratio)
	}
	return nil
}

// exceedsRatio reports whether the sizes before and after decompression show a bomb.
// A small file may consist of one repeated line.
func exceedsRatio(after, before, ratio int64) bool {
	const small = 1 << 20
	return after > small && after/ratio > before
}

// checkLayout checks that the members follow each other without gaps and overlaps from the
// start of the archive, and that the header of each says what the directory says.
func checkLayout(r io.ReaderAt, files []*zip.File) error {
	type member struct {
		*zip.File
		data int64
	}
	members := make([]member, len(files))
	for i, f := range files {
		data, err := f.DataOffset()
		if err != nil {
			return asError(f.Name, err)
		}
		members[i] = member{f, data}
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.data, b.data) })
	at := int64(0)
	for _, m := range members {
		if err := checkHeader(r, m.File, at, m.data); err != nil {
			return err
		}
		at = m.data + int64(m.CompressedSize64)
		n, err := descriptorSize(r, m.File, at)
		if err != nil {
			return err
		}
		at += n
	}
	var next [4]byte
	if _, err := r.ReadAt(next[:], at); err != nil {
		return asError("", err)
	}
	switch string(next[:]) {
	case "PK\x01\x02", "PK\x05\x06", "PK\x06\x06", "PK\x06\x08":
		return nil
	}
	return refuse("", "layout", "after its last member comes something that is no member")
}

// checkHeader compares the header at an offset with what the directory says of a member.
func checkHeader(r io.ReaderAt, f *zip.File, at, data int64) error {
	h := make([]byte, 30)
	if _, err := r.ReadAt(h, at); err != nil {
		return asError(f.Name, err)
	}
	u16 := func(i int) uint16 { return binary.LittleEndian.Uint16(h[i:]) }
	u32 := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(h[i:])) }
	nameLen, extraLen := int64(u16(26)), int64(u16(28))
	if string(h[:4]) != "PK\x03\x04" || at+30+nameLen+extraLen != data {
		return refuse(f.Name, "layout", "the members of the archive overlap, or something is between them")
	}
	more := make([]byte, nameLen+extraLen)
	if _, err := r.ReadAt(more, at+30); err != nil {
		return asError(f.Name, err)
	}
	name, extra := string(more[:nameLen]), more[nameLen:]
	full, packed := largeSizes(extra, u32(22), u32(18))
	later := f.Flags&flagDescriptor != 0 // what is 0 here stands after the data
	agrees := func(here, there uint64) bool { return here == there || later && here == 0 }
	switch {
	case name != f.Name:
		return refuse(f.Name, "lying-name", "its header calls it %q", name)
	case u16(6) != f.Flags || u16(8) != f.Method:
		return refuse(f.Name, "lying-header", "its header and the directory of the archive disagree on how it is compressed")
	case !agrees(packed, f.CompressedSize64) || !agrees(full, f.UncompressedSize64) || !agrees(u32(14), uint64(f.CRC32)):
		return refuse(f.Name, "lying-size", "its header and the directory of the archive disagree on its size or checksum")
	}
	for _, e := range [][]byte{extra, f.Extra} {
		if field := extraField(e, 0x7075); len(field) > 5 && string(field[5:]) != f.Name {
			return refuse(f.Name, "lying-name", "an extra field calls it %q", field[5:])
		}
	}
	return nil
}

// largeSizes returns the sizes before and after compression of a header. Where it has the
// largest number, the size is in an extra field.
func largeSizes(extra []byte, full, packed uint64) (uint64, uint64) {
	field := extraField(extra, 1)
	for _, size := range []*uint64{&full, &packed} {
		if *size == 0xffffffff && len(field) >= 8 {
			*size = binary.LittleEndian.Uint64(field)
			field = field[8:]
		}
	}
	return full, packed
}

// extraField returns the content of the extra field with a number; nil if there is none. Field
// 0x7075 is the name that some readers prefer to the name in the directory.
func extraField(extra []byte, want uint16) []byte {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return nil
		}
		if id == want {
			return extra[:n]
		}
		extra = extra[n:]
	}
	return nil
}

// descriptorSize returns how long the record after the data of a member is, which states the
// sizes once more if they were not known before.
func descriptorSize(r io.ReaderAt, f *zip.File, at int64) (int64, error) {
	if f.Flags&flagDescriptor == 0 {
		return 0, nil
	}
	var d [24]byte
	n, err := r.ReadAt(d[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, asError(f.Name, err)
	}
	body, head := d[:n], int64(0)
	if bytes.HasPrefix(body, []byte("PK\x07\x08")) {
		body, head = body[4:], 4
	}
	if len(body) >= 12 && matches(f, body, 4, func(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }) {
		return head + 12, nil
	}
	if len(body) >= 20 && matches(f, body, 8, binary.LittleEndian.Uint64) {
		return head + 20, nil
	}
	return 0, refuse(f.Name, "lying-size", "the record after its data and the directory of the archive disagree on its size or checksum")
}

func matches(f *zip.File, body []byte, width int, read func([]byte) uint64) bool {
	return binary.LittleEndian.Uint32(body) == f.CRC32 && read(body[4:]) == f.CompressedSize64 && read(body[4+width:]) == f.UncompressedSize64
}
