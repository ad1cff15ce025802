package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A manifest is a skill's folder as read: its instructions, its files and what
// is wrong with them.
type manifest struct {
	dir      string
	file     string // base name of the instructions
	text     []byte // the instructions, cut after skill.MaxFile+1 bytes
	files    []skill.File
	folders  []string // links to folders, which are not listed
	complete bool     // nothing was left out
	problems []skill.Problem

	hash   hash.Hash
	hashed int64 // bytes hashed so far
}

// manifest reads a skill's folder. It fails with a *skill.ParseError when the
// instructions are something that is never read.
func (s *FS) manifest(dir string) (*manifest, error) {
	entries, err := s.tree.readDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing skill folder %s: %w", dir, err)
	}
	m := &manifest{dir: dir, file: instructions(entries), hash: sha256.New()}
	if m.file == "" {
		return nil, fmt.Errorf("reading skill folder %s: no SKILL.md: %w", dir, fs.ErrNotExist)
	}
	f, err := s.tree.folder(dir)
	if err != nil {
		return nil, fmt.Errorf("opening skill folder %s: %w", dir, err)
	}
	defer f.Close()
	if err := m.readText(f); err != nil {
		return nil, err
	}
	m.add(f, s.list(dir, entries))
	m.checkCase()
	return m, nil
}

func (m *manifest) problem(sev skill.Severity, rule, path, message, hint string) {
	m.problems = append(m.problems, skill.Problem{
		Rule: rule, Severity: sev, Path: join(m.dir, path), Message: message, Hint: hint,
	})
}

// readText reads the instructions. One byte more than allowed lets the parser
// see that they are too long.
func (m *manifest) readText(f folder) error {
	file, err := f.open(m.file)
	if errors.Is(err, ErrRefused) {
		return &skill.ParseError{Problem: skill.Problem{
			Rule: "not-a-file", Severity: skill.Error, Path: join(m.dir, m.file),
			Message: err.Error(), Hint: "link the whole folder instead of its files",
		}}
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", join(m.dir, m.file), err)
	}
	defer file.Close()
	m.text, err = io.ReadAll(io.LimitReader(file, skill.MaxFile+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", join(m.dir, m.file), err)
	}
	return nil
}

// add turns a listing into files and problems.
func (m *manifest) add(f folder, l *listing) {
	m.complete = !l.more && len(l.failed) == 0
	if l.more {
		m.problem(skill.Note, "too-many-files", "", fmt.Sprintf("more than %d files or folders: the rest is ignored", maxFiles), "")
	}
	for _, e := range l.failed {
		m.problem(skill.Warning, "unreadable-folder", e.path, e.err.Error(), "")
	}
	for _, e := range l.entries {
		m.addEntry(f, e)
	}
	slices.SortFunc(m.files, func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) })
}

func (m *manifest) addEntry(f folder, e entry) {
	info, err := f.stat(e.path)
	switch {
	case errors.Is(err, ErrRefused):
		m.problem(skill.Warning, "link-outside", e.path, err.Error(), "copy what it leads to into the skill's folder")
		return
	case errors.Is(err, fs.ErrNotExist) && e.link:
		m.problem(skill.Warning, "dangling-link", e.path, "link to something that does not exist", "")
		return
	case errors.Is(err, fs.ErrNotExist):
		return // deleted since it was listed
	case err != nil:
		m.problem(skill.Warning, "unreadable-file", e.path, err.Error(), "")
		return
	case info.IsDir():
		m.folders = append(m.folders, e.path)
		return
	case !info.Mode().IsRegular():
		m.problem(skill.Warning, "not-a-regular-file", e.path, "neither a file nor a folder, but "+kindOf(info.Mode())+": it is ignored", "")
		return
	}
	if reason := badName(e.path); reason != "" {
		m.problem(skill.Warning, "unportable-name", e.path, "the file is not served: "+reason, "rename it")
	}
	m.files = append(m.files, m.hashFile(f, e.path, info.Size()))
}

// hashFile returns the entry of one file, without a hash if that would cost
// too much.
func (m *manifest) hashFile(f folder, name string, size int64) skill.File {
	file := skill.File{Path: name, Size: size}
	if name == m.file && len(m.text) <= skill.MaxFile {
		file.Size = int64(len(m.text)) // what is parsed is what is hashed
		file.SHA256 = hexSum(m.text)
		return file
	}
	if size > maxHash || m.hashed+size > maxHashAll {
		m.problem(skill.Note, "file-not-hashed", name,
			fmt.Sprintf("%d bytes are too many to hash (%d in one file, %d in a skill)", size, maxHash, maxHashAll), "")
		return file
	}
	sum, n, err := m.sum(f, name)
	if err != nil {
		m.problem(skill.Warning, "unreadable-file", name, err.Error(), "")
		return file
	}
	file.Size, file.SHA256 = n, sum
	return file
}

// sum hashes a file as it is read. One that grows meanwhile is cut, so that a
// log that is written to has an end.
func (m *manifest) sum(f folder, name string) (string, int64, error) {
	file, err := f.open(name)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	m.hash.Reset()
	n, err := io.Copy(m.hash, io.LimitReader(file, maxHash))
	m.hashed += n
	return hex.EncodeToString(m.hash.Sum(nil)), n, err
}

// checkCase warns of names that are one on a file system that ignores case.
func (m *manifest) checkCase() {
	byFold := make(map[string]string, len(m.files))
	for _, f := range m.files {
		fold := strings.ToLower(f.Path)
		first, ok := byFold[fold]
		switch {
		case !ok:
			byFold[fold] = f.Path
		case first == upperFile && f.Path == lowerFile:
			m.problem(skill.Warning, "two-skill-files", f.Path, "the skill has a SKILL.md too, which is the one that counts", "remove one of the two")
		default:
			m.problem(skill.Warning, "case-collision", f.Path, "the name differs from "+first+" by case only", "rename one of the two")
		}
	}
}

// digest identifies the contents of the folder. Paths are quoted because they
// may hold line breaks.
func (m *manifest) digest() string {
	var b bytes.Buffer
	fmt.Fprintln(&b, hexSum(m.text))
	for _, f := range m.files {
		fmt.Fprintf(&b, "%q %d %s\n", f.Path, f.Size, f.SHA256)
	}
	return "sha256:" + hexSum(b.Bytes())
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
