package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds on what is hashed.
const (
	maxHash    = 16 << 20 // bytes of one file
	maxHashAll = 64 << 20 // bytes of one skill
	maxKept    = 1 << 20  // bytes of a file of which more is kept than the hash
)

// A Manifest is the contents of a skill's folder after all files were read: a
// Listing with the digest of each file.
type Manifest struct {
	Listing
	Dir    string // the folder in the source
	File   string // base name of the instructions: SKILL.md or skill.md
	Text   []byte // the instructions, cut after skill.MaxFile+1 bytes
	Digest string // over the instructions and the list of files, see skill.Meta.Digest

	textDigest string
	kept       map[string][]byte // the files that say more of the skill, by path
}

// TextDigest returns the digest of Text, see skill.Meta.TextDigest.
func (m *Manifest) TextDigest() string { return m.textDigest }

// path returns the path of the instructions in the source.
func (m *Manifest) path() string { return join(m.Dir, m.File) }

// A manifester is an FS, or a source that embeds one.
type manifester interface {
	manifest(dir string) (*Manifest, error)
}

// ReadManifest reads all files of the skill in a folder. It returns a
// *skill.ParseError when the instructions are not a file that may be read.
func ReadManifest(ctx context.Context, s Source, dir string) (*Manifest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s, ok := s.(manifester); ok {
		return s.manifest(dir)
	}
	l, err := s.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Listing: l, Dir: dir, File: upperFile}
	if isListed(l.Files, lowerFile) && !isListed(l.Files, upperFile) {
		m.File = lowerFile
	}
	return m, m.read(func(name string) (fs.File, error) { return s.Open(ctx, dir, name) })
}

func isListed(files []skill.File, name string) bool {
	return slices.ContainsFunc(files, func(f skill.File) bool { return f.Path == name })
}

// manifest reads the skill in a folder. It opens the folder once, not once for each file,
// so that all of them are files of one folder.
func (s *FS) manifest(dir string) (*Manifest, error) {
	f, err := s.skillFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("opening skill folder %s: %w", dir, err)
	}
	defer f.Close()
	entries, err := f.readDir(".")
	if err != nil {
		return nil, fmt.Errorf("listing skill folder %s: %w", dir, err)
	}
	m := &Manifest{Dir: dir, File: instructions(entries)}
	if m.File == "" {
		return nil, fmt.Errorf("reading skill folder %s: no SKILL.md: %w", dir, fs.ErrNotExist)
	}
	m.Listing = s.listing(f, dir, entries)
	return m, m.read(func(name string) (fs.File, error) { return openRegular(f, name) })
}

// read reads the instructions and hashes all files.
func (m *Manifest) read(open func(name string) (fs.File, error)) error {
	if err := m.readText(open); err != nil {
		return err
	}
	m.kept = make(map[string][]byte)
	h := hasher{open: open, kept: m.kept}
	files := make([]skill.File, 0, len(m.Files))
	for _, f := range m.Files {
		if f.SHA256 != "" && f.Path != m.File {
			// Open checks this digest.
		} else if f.Path == m.File && len(m.Text) <= skill.MaxFile {
			f.Size, f.SHA256 = int64(len(m.Text)), m.textDigest // what is parsed is what is hashed
		} else if err := h.hash(&f); errors.Is(err, fs.ErrNotExist) {
			continue // deleted after it was listed
		} else if err != nil {
			m.Problems = append(m.Problems, hashProblem(err, join(m.Dir, f.Path)))
		} else {
			m.Problems = append(m.Problems, oddFile(string(h.head), join(m.Dir, f.Path))...)
		}
		if f.SHA256 == "" && !m.Partial {
			m.Unserved = fmt.Sprintf("%q cannot be read, or is too large to hash", f.Path)
		}
		files = append(files, f)
	}
	m.Files = files
	m.Digest = skill.DigestOf(m.TextDigest(), files)
	return nil
}

// readText reads the instructions. It reads one byte more than allowed, so that the
// parser notices a file that is too long.
func (m *Manifest) readText(open func(name string) (fs.File, error)) error {
	file, err := open(m.File)
	if bad, ok := errors.AsType[*skill.ParseError](err); ok { // of a link, which is followed to skills only
		bad.Problem.Path = m.path()
		return bad
	}
	if errors.Is(err, ErrRefused) {
		return &skill.ParseError{Problem: skill.Problem{
			Rule: "not-a-file", Severity: skill.Error, Path: m.path(),
			Message: err.Error(), Hint: "link the whole folder instead of its files",
		}}
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", m.path(), err)
	}
	defer file.Close()
	text := new(bytes.Buffer)
	if i := slices.IndexFunc(m.Files, func(f skill.File) bool { return f.Path == m.File }); i >= 0 {
		text.Grow(int(min(max(m.Files[i].Size, 0), skill.MaxFile)) + bytes.MinRead)
	}
	if _, err = text.ReadFrom(io.LimitReader(file, skill.MaxFile+1)); err != nil {
		return fmt.Errorf("reading %s: %w", m.path(), err)
	}
	m.Text = text.Bytes()
	m.textDigest = hexSum(m.Text)
	return nil
}

// leastRead and mostRead bound how much of a file is read at once.
const (
	leastRead = 512 // the size that was listed may be too small, or -1
	mostRead  = 32 << 10
)

// A hasher hashes the files of one skill, up to maxHashAll bytes.
type hasher struct {
	open   func(name string) (fs.File, error)
	hashed int64 // bytes so far
	buf    []byte
	head   []byte            // the first bytes of the last file
	kept   map[string][]byte // gets the files that say more of the skill
}

// Write keeps the first bytes of a file.
func (h *hasher) Write(data []byte) (int, error) {
	const most = 64
	h.head = append(h.head, data[:min(len(data), most-min(most, len(h.head)))]...)
	return len(data), nil
}

var errTooLargeToHash = fmt.Errorf("too many to hash; the limits are %d in a file and %d in a skill", maxHash, maxHashAll)

// hash sets the digest and size of a file. It reads at most maxHash bytes, so that
// it comes to an end even if a log grows while it is read.
func (h *hasher) hash(f *skill.File) error {
	if f.Size > maxHash || h.hashed+f.Size > maxHashAll {
		return fmt.Errorf("%d bytes are %w", f.Size, errTooLargeToHash)
	}
	file, err := h.open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	h.buf = slices.Grow(h.buf[:0], int(min(max(f.Size+1, leastRead), mostRead)))
	sum := sha256.New()
	h.head = h.head[:0]
	to, text := io.MultiWriter(sum, h), new(bytes.Buffer)
	if (skill.IsEvals(f.Path) || f.Path == skill.InterfaceFile) && f.Size <= maxKept {
		to = io.MultiWriter(to, text)
	}
	n, err := io.CopyBuffer(to, io.LimitReader(file, maxHash), h.buf[:cap(h.buf)])
	h.hashed += n
	if err == nil && text.Len() > 0 {
		h.kept[f.Path] = text.Bytes()
	}
	if err == nil {
		f.Size, f.SHA256 = n, hex.EncodeToString(sum.Sum(nil))
	}
	return err
}

func hashProblem(err error, path string) skill.Problem {
	p := skill.Problem{Rule: "unreadable-file", Severity: skill.Warning, Path: path, Message: err.Error()}
	if errors.Is(err, errTooLargeToHash) {
		p.Rule, p.Severity = "file-not-hashed", skill.Note
	}
	return p
}

// oddFile says of a file that begins with head what keeps a model from reading it.
func oddFile(head, path string) []skill.Problem {
	switch {
	case skill.IsLFSPointer(head):
		return []skill.Problem{{Rule: "lfs-pointer", Severity: skill.Warning, Path: path,
			Message: "a pointer of Git LFS instead of the file", Hint: "run \"git lfs pull\" where it was checked out, and install the skill again"}}
	case skill.IsUTF16(head):
		return []skill.Problem{{Rule: "utf-16", Severity: skill.Warning, Path: path,
			Message: "text in UTF-16, which models are not shown", Hint: "save it as UTF-8"}}
	}
	return nil
}

func hexSum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
