package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A File is one file of a skill as it is now.
type File struct {
	Path   string // slash-separated, relative to the skill's folder
	Size   int64  // bytes
	SHA256 string // hexadecimal
	Binary bool   // Data is not text: it holds a NUL byte early on or is not UTF-8
	Data   []byte
}

// Open opens a file of the skill whose folder in the source is dir. It opens
// regular files in that folder only, wherever name or a link claims to lead,
// and only if Skills would find a skill at dir. Errors are *FileError.
func (s *FS) Open(dir, name string) (fs.File, error) {
	if err := checkName(name); err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	folder, err := s.skillFolder(dir)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	defer folder.Close() // a file that was opened from it stays open
	f, err := folder.open(name)
	if err != nil {
		return nil, s.fileError(dir, name, err)
	}
	return f, nil
}

// skillFolder opens the folder of a skill. It refuses a folder that is no
// skill or part of another, or else the files of a whole source could be read
// as those of a skill at its top.
func (s *FS) skillFolder(dir string) (folder, error) {
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("%w: %q is not the path of a folder", ErrRefused, dir)
	}
	for _, p := range prefixes(dir) {
		if p == dir {
			break
		}
		if isSkipped(path.Base(p)) || s.isSkill(p) {
			return nil, fmt.Errorf("%w: the folder is part of %s", ErrRefused, p)
		}
	}
	if isSkipped(path.Base(dir)) || !s.isSkill(dir) {
		return nil, fmt.Errorf("no skill in the folder: %w", fs.ErrNotExist)
	}
	return s.tree.folder(dir)
}

// isSkill reports whether a folder holds instructions, of whatever kind.
func (s *FS) isSkill(dir string) bool {
	for _, file := range []string{upperFile, lowerFile} {
		if info, err := s.tree.lstat(join(dir, file)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// fileError wraps err, with the names of similar files when there is no such
// file.
func (s *FS) fileError(dir, name string, err error) error {
	e := &FileError{Dir: dir, Name: name, Err: err}
	if !errors.Is(err, fs.ErrNotExist) && !isThroughFile(err) {
		return e
	}
	e.Err = fmt.Errorf("no such file: %w", fs.ErrNotExist)
	entries, err := s.tree.readDir(dir)
	if err != nil {
		return e // the suggestion is a courtesy
	}
	var paths []string
	for _, found := range s.list(dir, entries).entries {
		if found.mode.IsRegular() && badName(found.path) == "" {
			paths = append(paths, found.path)
		}
	}
	e.Near = words.Similar(name, paths)
	return e
}

// ReadFile reads a file of the skill whose folder in the source is dir, as
// Open opens it. A file of more than Options.MaxFile bytes is refused with an
// error that wraps ErrTooLarge.
func (s *FS) ReadFile(ctx context.Context, dir, name string) (*File, error) {
	return s.readFile(ctx, dir, name, s.opts.MaxFile)
}

// Instructions reads the whole SKILL.md, or else skill.md, of the skill whose
// folder in the source is dir. Compare the SHA256 with that of the manifest
// entry to tell whether the instructions changed since the skill was loaded,
// and Manifest to tell whether anything did.
func (s *FS) Instructions(ctx context.Context, dir string) (*File, error) {
	f, err := s.readFile(ctx, dir, upperFile, skill.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if lower, lowerErr := s.readFile(ctx, dir, lowerFile, skill.MaxFile); lowerErr == nil {
			return lower, nil
		}
	}
	return f, err
}

// A Manifest lists the regular files of a skill as they are now.
type Manifest struct {
	Files    []skill.File
	Digest   string // what the skill would have if it were loaded
	Unserved string // why Files lacks a file, or has one that ReadFile refuses; "" when neither
}

// Manifest lists the files of the skill whose folder is dir. It reads all of
// them.
func (s *FS) Manifest(ctx context.Context, dir string) (Manifest, error) {
	if err := ctx.Err(); err != nil {
		return Manifest{}, err
	}
	m, err := s.manifest(dir)
	if err != nil {
		return Manifest{}, err
	}
	return Manifest{Files: m.files, Digest: m.digest(), Unserved: s.unserved(m)}, nil
}

// unserved says what of a skill cannot be read file by file. What is neither a
// file nor a folder, and links out of the folder, are no part of it.
func (s *FS) unserved(m *manifest) string {
	if !m.complete {
		return fmt.Sprintf("more than %d files or folders, or one that cannot be read", maxFiles)
	}
	if len(m.folders) > 0 {
		return m.folders[0] + " is a link to a folder"
	}
	for _, f := range m.files {
		switch {
		case badName(f.Path) != "":
			return fmt.Sprintf("%q: %s", f.Path, badName(f.Path))
		case f.SHA256 == "":
			return fmt.Sprintf("%q cannot be read, or is too large to hash", f.Path)
		case f.Size > s.opts.MaxFile && f.Path != m.file:
			return fmt.Sprintf("%q is larger than the %d bytes of max_file", f.Path, s.opts.MaxFile)
		}
	}
	return ""
}

func (s *FS) readFile(ctx context.Context, dir, name string, limit int64) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.Open(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, limit)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	return &File{Path: name, Size: int64(len(data)), SHA256: hexSum(data), Binary: isBinary(data), Data: data}, nil
}

// readAll reads at most limit bytes, which may be the largest number there is.
// The size is looked at first only for the sake of the message.
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

// isBinary takes a NUL byte in the first 8 KiB as the sign, like git, and any
// text that is not UTF-8, which no model could be shown.
func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 || !utf8.Valid(data)
}
