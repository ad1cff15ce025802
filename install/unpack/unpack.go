// Package unpack writes the skills of a tree of files that somebody else made, a folder or
// an archive, into an empty folder, or refuses the tree.
//
// A skill is a folder with a SKILL.md; what is in it belongs to it, skills inside of it too,
// unless Limits.Shared says otherwise. Files outside of every skill are not written, nor is
// what is never part of one, see skill.IsExcluded.
//
// The one rule: every entry passes the same gate, wherever it comes from, and nothing is
// written before all entries have passed it.
package unpack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Limits bound what is written and what is read for it. nil means all zero values.
type Limits struct {
	// Of each skill.
	Files     int   // 0 means 512
	Bytes     int64 // of all files; 0 means 16 MiB
	SkillFile int64 // bytes of a SKILL.md; 0 means 1 MiB
	Depth     int   // folders inside of each other, below the folder of the skill; 0 means 6
	Folders   int   // 0 means 2,000

	// Of the whole tree, with what is not written. An archive of one skill has the limits of
	// one skill; each further skill adds as much again, up to 100,000 members and 1 GiB.
	Members  int   // files and folders; 0 means 1,000 for each skill
	Expanded int64 // bytes after decompression; 0 means 50 MiB for each skill

	// Shared means that other skills may lie below a skill at the top, as in a source: each has
	// limits of its own. Otherwise all is part of the skill at the top.
	Shared bool

	// Refused is called for each skill that is refused because of what is in it; the other
	// skills are written. nil means that one refused skill refuses the tree. A path that could
	// lead out of the folder always refuses the tree.
	Refused func(*Error)

	Ratio int64 // bytes that one byte of an archive may become, once they are more than 1 MiB; 0 means 100
}

// The most that a tree with many skills may have unless Limits says otherwise.
const (
	maxMembers  = 100_000
	maxExpanded = 1 << 30
)

func (l *Limits) filled() Limits {
	f := *cmp.Or(l, new(Limits))
	f.Files = cmp.Or(f.Files, skill.MaxPublishedFiles)
	f.Bytes = cmp.Or(f.Bytes, skill.MaxPublishedBytes)
	f.SkillFile = cmp.Or(f.SkillFile, skill.MaxFile)
	f.Depth = cmp.Or(f.Depth, 6)
	f.Folders = cmp.Or(f.Folders, 2000)
	f.Ratio = cmp.Or(f.Ratio, 100)
	return f
}

// most returns the bounds of the tree that hold before its skills are counted.
func (l *Limits) most() (members int, expanded int64) {
	return cmp.Or(l.Members, maxMembers), l.MostBytes()
}

// MostBytes returns how many bytes a tree may have, however many skills are in it.
func (l *Limits) MostBytes() int64 {
	if l == nil {
		return maxExpanded
	}
	return cmp.Or(l.Expanded, maxExpanded)
}

// mostFor returns the bounds of a tree with a number of skills.
func (l *Limits) mostFor(skills int) (members int, expanded int64) {
	skills = min(skills, maxMembers) // more would overflow
	return cmp.Or(l.Members, min(1000*skills, maxMembers)), cmp.Or(l.Expanded, min(50<<20*int64(skills), maxExpanded))
}

// An Error says why a tree was refused.
type Error struct {
	Path   string // of the entry in the tree as its maker wrote it; "" means the tree as a whole
	Rule   string // short and stable, such as "symlink" or "too-many-files"
	Reason string // for people
}

func (e *Error) Error() string {
	at := ""
	if e.Path != "" {
		at = tidy.Shorten(e.Path, 200)
		if quoted := strconv.Quote(at); quoted != `"`+at+`"` {
			at = quoted
		}
		at += ": "
	}
	return at + e.Reason + " (" + e.Rule + ")"
}

func refuse(path, rule, format string, args ...any) *Error {
	return &Error{path, rule, fmt.Sprintf(format, args...)}
}

// An entry is one member of an archive, or one thing in a folder.
type entry struct {
	path string      // as the archive has it; folders may end in "/"
	from string      // clean path in the space of the tree, see there; "" means the one that path makes
	link string      // what a symbolic link leads to, as its maker wrote it; "" for anything else
	mode fs.FileMode // type, permissions, setuid, setgid, sticky
	size int64
	bad  *Error // what the kind of archive finds wrong with the entry; nil means nothing
	open func() (io.ReadCloser, error)
}

// isLink reports whether e is a link that may be followed.
func (e entry) isLink() bool { return e.link != "" && e.bad == nil }

// key returns the clean path of e in the space of its tree.
func (e entry) key() string {
	if e.from != "" {
		return e.from
	}
	clean, _, _ := checkPath(e.path)
	return clean
}

// A tree is where entries come from. walk calls visit for each entry; entries may be opened
// only during that call. Two walks visit the same entries in the same order unless
// somebody changes the tree meanwhile.
type tree interface {
	walk(ctx context.Context, visit func(entry) error) error
}

// Folder writes the skills of the folder from into the folder to, which it makes if it does not
// exist and which must be empty. Symbolic links in skills that stay inside of from are replaced with
// copies of the files and folders to which they lead; other links are refused. After an error, to is
// empty. An *Error in its chain means that the tree was refused.
func Folder(ctx context.Context, from, to string, l *Limits) error {
	return Part(ctx, from, ".", to, l)
}

// Part is Folder for a folder in the folder top, inside of which links may lead anywhere. The
// path of the folder may lead through such links itself.
func Part(ctx context.Context, top, dir, to string, l *Limits) error {
	err := opened(top, func(t folderTree) (err error) {
		if t.dir, err = t.folderAt(dir); err != nil {
			return err
		}
		return unpack(ctx, t, to, l.filled())
	})
	return wrap("copying", filepath.Join(top, filepath.FromSlash(dir)), err)
}

// Archive is Folder for an archive: .zip, .skill, .tar.gz, .tgz or .tar. The content tells
// which it is, not the name.
func Archive(ctx context.Context, file, to string, l *Limits) error {
	f, err := os.OpenFile(file, os.O_RDONLY|regular.Nonblock, 0)
	if err != nil {
		return fmt.Errorf("reading archive: %w", err)
	}
	defer f.Close()
	limits := l.filled()
	t, err := openArchive(f, limits)
	if err == nil {
		err = unpack(ctx, t, to, limits)
	}
	return wrap("unpacking", file, err)
}

func wrap(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, name, err)
}

// openArchive finds out what kind of archive a file is.
func openArchive(f *os.File, l Limits) (tree, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if _, most := l.most(); info.Size() > most {
		return nil, refuse("", "too-large", "the archive has %d bytes; the limit is %d", info.Size(), most)
	}
	if info.Size() == 0 {
		return nil, refuse("", "format", "it is empty")
	}
	magic := make([]byte, 4)
	n, err := f.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch magic = magic[:n]; {
	case string(magic) == "PK\x03\x04" || string(magic) == "PK\x05\x06":
		return newZip(f, info.Size(), l)
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		return tarTree{f: f, size: info.Size(), gzip: true, limits: l}, nil
	}
	return tarTree{f: f, size: info.Size(), limits: l}, nil
}

// unpack checks all entries, and then writes them.
func unpack(ctx context.Context, t tree, to string, l Limits) error {
	g := gate{limits: l}
	if err := t.walk(ctx, g.add); err != nil {
		return err
	}
	if err := g.follow(ctx, t); err != nil {
		return err
	}
	p, err := g.plan()
	if err != nil {
		return err
	}
	return write(ctx, t, p, to)
}
