package remote

import (
	"context"
	"iter"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Source is the source of the skills that were fetched into the folder of a root. It
// never fetches. That the root could not be fetched, and which of its skills were refused, are
// problems of the source.
type Source struct {
	*source.FS
	root Root
}

// Wrap returns the source of a root, given the source of its folder.
func Wrap(fs *source.FS, r Root) *Source { return &Source{fs, r} }

// Skills implements source.Source.
func (s *Source) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range s.FS.Skills(ctx, trace) {
			if !yield(ref, err) {
				return
			}
		}
		for _, p := range s.problems() {
			if !yield(nil, p) {
				return
			}
		}
	}
}

// Failure says since when the root cannot be fetched; "" means that it could be, or that
// nobody has tried.
func (s *Source) Failure() string {
	state, err := ReadState(s.root.Path)
	switch {
	case err != nil:
		return err.Error()
	case state.Error == "":
		return ""
	}
	return state.Problem()
}

func (s *Source) problems() []*fetchError {
	state, err := ReadState(s.root.Path)
	if err != nil {
		return []*fetchError{{"fetch-failed", err.Error(), ""}}
	}
	var list []*fetchError
	if text := state.Problem(); text != "" {
		list = append(list, &fetchError{"fetch-failed", s.root.origin() + ": " + text, `"skills root update" fetches it`})
	}
	for _, text := range state.Refused {
		list = append(list, &fetchError{"fetch-refused", s.root.origin() + ": a skill is left out, or stays as it was: " + text, "tell its author"})
	}
	return list
}

// A fetchError is a problem of a root. No skill is missed because of it.
type fetchError struct{ rule, message, hint string }

func (e *fetchError) Error() string { return e.message }

// Incomplete returns false: what was fetched was read completely.
func (e *fetchError) Incomplete() bool { return false }

// Problem returns e as a finding.
func (e *fetchError) Problem() skill.Problem {
	return skill.Problem{Rule: e.rule, Severity: skill.Warning, Path: ".", Message: e.message, Hint: e.hint}
}
