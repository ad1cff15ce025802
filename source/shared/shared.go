// Package shared is a source of the skills that an engine for several machines keeps, see
// store.Files: level 2 and 3 of a catalog that many nodes answer from.
//
// The one rule: it hands out no bytes but those whose digest the catalog has for the file.
package shared

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// ErrMismatch means that the shared catalog has other bytes than those that a file's digest
// is of. They are refused. Pushing the skill again from where it comes from repairs it.
var ErrMismatch = fmt.Errorf("%w: its bytes in the shared catalog do not match its digest; \"skills push --full\" replaces them", source.ErrRefused)

// A Source is one source of a shared catalog. It implements source.Source, but lists no
// skills: a catalog that has the source knows them already.
type Source struct {
	files   store.Files
	info    source.Info
	cache   *Cache                        // nil if nothing is kept
	current func(files []skill.File) bool // nil if nobody knows
	wait    time.Duration
}

// Options of New; nil means all zero values.
type Options struct {
	// Cache keeps what was read, so that it can be read again while the catalog cannot be
	// reached; nil means that nothing is kept. Sources may share a Cache.
	Cache *Cache

	// Current reports whether files are those of the skill that is read, as the node knows it.
	// If the kept list is current, the catalog is not asked. nil means that nobody knows.
	Current func(files []skill.File) bool

	// Wait is how long the list of a skill's files may take before the kept one answers;
	// 0 means 2 s. A skill without a kept list waits as long as the context allows.
	Wait time.Duration
}

// New returns the source with the label of info. Its skills are not on disk, so it has no
// Root.
func New(files store.Files, info source.Info, o *Options) (*Source, error) {
	o = cmp.Or(o, new(Options))
	switch {
	case files == nil:
		return nil, errors.New("source of a shared catalog without files")
	case info.Label == "":
		return nil, errors.New("source of a shared catalog without a label")
	case info.MaxFile < 0:
		return nil, fmt.Errorf("source %s: MaxFile is negative: %d", info.Label, info.MaxFile)
	}
	info.Root = ""
	return &Source{files, info, o.Cache, o.Current, cmp.Or(o.Wait, 2*time.Second)}, nil
}

// Info implements source.Source.
func (s *Source) Info() source.Info { return s.info }

// List implements source.Source. Its files have digests, because Open checks them.
func (s *Source) List(ctx context.Context, dir string) (source.Listing, error) {
	files, err := s.list(ctx, dir)
	if err != nil {
		return source.Listing{}, fmt.Errorf("listing skill folder %s of %s: %w", dir, s.info.Label, err)
	}
	return source.Listing{Files: slices.Clone(files)}, nil
}

// Open implements source.Source. It reads the whole file and checks it: bytes that do not
// match are an error that wraps ErrMismatch.
func (s *Source) Open(ctx context.Context, dir, name string) (fs.File, error) {
	files, err := s.list(ctx, dir)
	if err != nil {
		return nil, &source.FileError{Dir: dir, Name: name, Err: err}
	}
	i := slices.IndexFunc(files, func(f skill.File) bool { return f.Path == name })
	if i < 0 {
		return nil, missing(files, dir, name)
	}
	if limit := max(s.info.MaxFile, skill.MaxFile); files[i].Size > limit {
		err := fmt.Errorf("%w: %d bytes, the limit is %d", source.ErrTooLarge, files[i].Size, limit)
		return nil, &source.FileError{Dir: dir, Name: name, Err: err}
	}
	data, err := s.content(ctx, files[i])
	if err != nil {
		return nil, &source.FileError{Dir: dir, Name: name, Err: err}
	}
	return &file{bytes.NewReader(data), path.Base(name)}, nil
}

// missing returns the error for a name that a skill does not have.
func missing(files []skill.File, dir, name string) error {
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return &source.FileError{Dir: dir, Name: name, Near: words.Similar(name, paths), Err: fs.ErrNotExist}
}

// list returns the files of the skill in a folder. If the list that the catalog returned last
// is current, or the catalog cannot be reached, it is that list.
func (s *Source) list(ctx context.Context, dir string) ([]skill.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kept, ok := s.cache.list(s.info.Label, dir)
	if ok && s.current != nil && s.current(kept) {
		return kept, nil // the catalog would answer the same, or never
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if ok {
		bounded, cancel = context.WithTimeout(ctx, s.wait)
	}
	defer cancel()
	files, err := s.files.SkillFiles(bounded, s.info.Label, dir)
	switch {
	case err == nil:
		if !ok || !slices.Equal(kept, files) {
			s.cache.putList(s.info.Label, dir, files)
		}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		s.cache.dropList(s.info.Label, dir)
	case ok:
		return kept, nil
	}
	return files, err
}

// content returns the bytes of a file.
func (s *Source) content(ctx context.Context, f skill.File) ([]byte, error) {
	if data, ok := s.cache.content(f); ok {
		return data, nil
	}
	data, err := s.files.Content(ctx, f.SHA256)
	if errors.Is(err, store.ErrDamaged) || err == nil && sum(data) != f.SHA256 {
		return nil, ErrMismatch // not ErrDamaged: that is about the files of this node
	}
	if err == nil {
		s.cache.putContent(f.SHA256, data)
	}
	return data, err
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// errUnlisted is the error of Skills.
var errUnlisted = errors.New("the skills of a shared catalog are listed by its index")

// Skills implements source.Source. It finds none: the catalog knows its skills already.
func (s *Source) Skills(context.Context, func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) { yield(nil, errUnlisted) }
}

// Skill implements source.Source. It finds none.
func (s *Source) Skill(string) (*skill.Ref, source.Trace, bool) { return nil, source.Trace{}, false }

// Unchanged implements source.Source. There are no traces of it.
func (s *Source) Unchanged(source.Trace) bool { return false }

// A file is an open file and its fs.FileInfo.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
