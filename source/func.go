package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/repertoire-skills/repertoire/skill"
)

// Func returns the source of the skills whose files a function returns, such as one that asks a
// database. The keys are paths such as "pdf/SKILL.md". The catalog calls it for each rescan and
// whenever somebody reads a skill: let it keep what it has for a moment if it is slow. While it
// returns an error, the source is away. The catalog makes its index anew at each Open, unless
// repertoire.Config.DB names a file.
//
// A source with many skills is cheaper if it implements Source: it reads one skill without the
// others, and Unchanged saves it reading what has not changed.
func Func(files func(context.Context) (map[string]string, error), opts *Options) (Source, error) {
	if files == nil {
		return nil, errors.New("source without a function")
	}
	empty, err := Files(nil, opts)
	if err != nil {
		return nil, err
	}
	return &function{empty.Info(), opts, files}, nil
}

// A function is a source that asks for all files each time.
type function struct {
	info  Info
	opts  *Options
	files func(context.Context) (map[string]string, error)
}

// now returns the source of the files as they are now.
func (s *function) now(ctx context.Context) (*FS, error) {
	files, err := s.files(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the files of %s: %w", s.info.Label, err)
	}
	return Files(files, s.opts)
}

// Info implements Source.
func (s *function) Info() Info { return s.info }

// Skills implements Source. There are no stamps: only the digests of files show a change.
func (s *function) Skills(ctx context.Context, trace func(Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		now, err := s.now(ctx)
		if err != nil {
			yield(nil, &walkError{path: ".", err: fmt.Errorf("source is away: %w", err), rule: "away", partial: true, away: ctx.Err() == nil})
			return
		}
		if tell := trace; tell != nil {
			trace = func(t Trace) {
				t.Stamp = ""
				tell(t)
			}
		}
		for ref, err := range now.Skills(ctx, trace) {
			if ref != nil {
				ref.Stamp = ""
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// Skill implements Source.
func (s *function) Skill(dir string) (ref *skill.Ref, t Trace, ok bool) {
	now, err := s.now(context.Background())
	if err != nil {
		return nil, t, false
	}
	if ref, t, ok = now.Skill(dir); ok {
		ref.Stamp, t.Stamp = "", ""
	}
	return ref, t, ok
}

// Unchanged implements Source: it is in doubt.
func (s *function) Unchanged(Trace) bool { return false }

// List implements Source.
func (s *function) List(ctx context.Context, dir string) (Listing, error) {
	now, err := s.now(ctx)
	if err != nil {
		return Listing{}, err
	}
	return now.List(ctx, dir)
}

// Open implements Source.
func (s *function) Open(ctx context.Context, dir, name string) (fs.File, error) {
	now, err := s.now(ctx)
	if err != nil {
		return nil, &FileError{Dir: dir, Name: name, Err: err}
	}
	return now.Open(ctx, dir, name)
}
