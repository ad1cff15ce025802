package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A File is one file of a skill as it was just read.
type File struct {
	Path   string // slash-separated, relative to the skill's folder
	Size   int64  // bytes
	SHA256 string // hexadecimal
	Binary bool   // Data is not text: it has a NUL byte near its start or is not UTF-8
	Data   []byte
}

// Open opens a regular file of the skill whose folder in the source is dir. It takes
// names as ReadFile does. It refuses names and links that lead out of that folder, and
// any dir at which Skills would find no skill. Every error is a *FileError.
func (s *FS) Open(ctx context.Context, dir, name string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	clean, err := cleanName(name)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	folder, err := s.skillFolder(dir)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	defer folder.Close() // the file stays open when its folder is closed
	f, err := openRegular(folder, clean)
	if err != nil {
		return nil, s.fileError(folder, dir, name, err)
	}
	return f, nil
}

// skillFolder opens the folder of a skill. It refuses a folder that is not a skill
// or is part of another skill; otherwise a caller could read all files of a source
// by asking for a skill at its top. It opens the folders from the top down and checks
// each of them after it was opened: others may replace folders at any time.
func (s *FS) skillFolder(dir string) (folder, error) {
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("%w: %q is not the path of a folder", ErrRefused, dir)
	}
	at, err := s.tree.top()
	for _, p := range append(parents(dir), dir)[1:] {
		if err != nil {
			return nil, err
		}
		at, err = s.enter(at, p)
	}
	if err != nil {
		return nil, err
	}
	if skill.IsExcluded(path.Base(dir)) || !isSkill(at, ".") {
		return nil, errors.Join(errNoSkill, at.Close())
	}
	disk, onDisk := at.(diskFolder)
	if s.isShared(dir) {
		at = sharedFolder{at, s}
	}
	if onDisk && s.own {
		at = linkedFolder{at, disk}
	}
	if list := s.ignoreOf(dir); list != nil {
		at = ignoringFolder{at, list}
	}
	return at, nil
}

// enter opens the folder at path p of a source, directly below the open folder, which
// it closes.
func (s *FS) enter(above folder, p string) (folder, error) {
	defer above.Close()
	parent := path.Dir(p)
	if skill.IsExcluded(path.Base(parent)) || isSkill(above, ".") && (!s.isShared(parent) || skill.IsMaterial(p)) {
		return nil, fmt.Errorf("%w: the folder is part of %s", ErrRefused, parent)
	}
	f, err := above.enter(path.Base(p))
	if isMissing(err) {
		return nil, errNoSkill
	}
	return f, err
}

// isSkill reports whether the folder dir in an open folder holds instructions, valid or not.
func isSkill(f folder, dir string) bool { return holdsInstructions(dir, f.lstat) }

func holdsInstructions(dir string, stat func(name string) (fs.FileInfo, error)) bool {
	return slices.ContainsFunc(skill.FileNames, func(file string) bool {
		info, err := stat(join(dir, file))
		return err == nil && !info.IsDir()
	})
}

// fileError wraps err. If there is no such file, it suggests similar names.
func (s *FS) fileError(f folder, dir, name string, err error) error {
	e := &FileError{Dir: dir, Name: name, Err: err}
	if !isMissing(err) && !errors.Is(err, errOther) {
		return e
	}
	e.Err = missingError("no such file")
	entries, err := f.readDir(".")
	if err != nil {
		return e // do without suggestions
	}
	var paths []string
	for _, found := range s.listIn(f, dir, entries).entries {
		if found.mode.IsRegular() && badName(found.path) == "" {
			paths = append(paths, found.path)
		}
	}
	e.Near = words.Similar(name, paths)
	return e
}

// ReadFile reads a file of the skill in a folder of a source. The name is a path as a
// SKILL.md writes it, see skill.CleanPath; a path that is refused there is an error that
// wraps ErrRefused. A file of more than Info.MaxFile bytes is an error that wraps
// ErrTooLarge.
func ReadFile(ctx context.Context, s Source, dir, name string) (*File, error) {
	clean, err := cleanName(name)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	return readFile(ctx, s, dir, clean, cmp.Or(s.Info().MaxFile, defaultMaxFile))
}

// ReadInstructions reads the SKILL.md, or else skill.md, of the skill in a folder of
// a source. The skill has changed since it was loaded if the file's SHA256 differs
// from the skill's TextDigest.
func ReadInstructions(ctx context.Context, s Source, dir string) (*File, error) {
	f, err := readFile(ctx, s, dir, upperFile, skill.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if lower, lowerErr := readFile(ctx, s, dir, lowerFile, skill.MaxFile); lowerErr == nil {
			return lower, nil
		}
	}
	return f, err
}

func readFile(ctx context.Context, s Source, dir, name string, limit int64) (*File, error) {
	f, err := s.Open(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, limit)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	return &File{Path: name, Size: int64(len(data)), SHA256: hexSum(data), Binary: IsBinary(data), Data: data}, nil
}

// ErrChanged means that a file of a skill is not the one that was listed.
var ErrChanged = errors.New("its files changed while they were read; try again")

// ReadListed reads a file of the skill in a folder that a manifest lists with its digest. If the
// file has other bytes by now, the error wraps ErrChanged.
func ReadListed(ctx context.Context, s Source, dir string, listed skill.File) ([]byte, fs.FileMode, error) {
	f, err := s.Open(ctx, dir, listed.Path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, listed.Size+1))
	if err == nil && hexSum(data) != listed.SHA256 {
		err = ErrChanged
	}
	return data, info.Mode().Perm(), err
}

// readAll reads at most limit bytes; limit may be math.MaxInt64. It checks the size
// first only to give a better message.
func readAll(f fs.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, max(limit, limit+1)))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: it grew beyond the limit of %d bytes", ErrTooLarge, limit)
	}
	return data, nil
}

// IsBinary reports whether data is not text. A NUL byte in the first 8 KiB means
// binary, as in git, and so does invalid UTF-8, which a model cannot be shown.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 || !utf8.Valid(data)
}
