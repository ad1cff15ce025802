package source

import (
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

var (
	// ErrRefused says that a file is not served, whether it exists or not:
	// its name is not the plain relative path of a file, it leads out of the
	// skill's folder, or it is not a regular file.
	ErrRefused = errors.New("refused")

	// ErrTooLarge says that a file exceeds Options.MaxFile.
	ErrTooLarge = errors.New("file too large")
)

// A FileError says why a file of a skill could not be opened or read. It
// wraps ErrRefused, ErrTooLarge, fs.ErrNotExist or an error of the system.
type FileError struct {
	Dir  string   // the skill's folder in the source
	Name string   // the file, as asked for
	Near []string // for a file that does not exist: up to three that do, best first
	Err  error
}

func (e *FileError) Error() string {
	name := words.Cut(e.Name, maxName)
	if name != e.Name {
		name += "…"
	}
	msg := fmt.Sprintf("opening %q of skill folder %s: %v", name, e.Dir, e.Err)
	if len(e.Near) > 0 {
		msg += "; " + words.DidYouMean(e.Near)
	}
	return msg
}

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// A WalkError is something that a walk met besides skills.
type WalkError struct {
	Path string // slash-separated path in the source
	Err  error

	rule    string
	hint    string
	partial bool
}

func (e *WalkError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *WalkError) Unwrap() error { return e.Err }

// Incomplete reports whether the walk may have missed skills because of e.
// After such a walk a skill that was not found must not be taken for deleted.
func (e *WalkError) Incomplete() bool { return e.partial }

// Problem returns e for a report: a warning when the walk is incomplete, else
// a note.
func (e *WalkError) Problem() skill.Problem {
	p := skill.Problem{Rule: e.rule, Severity: skill.Note, Path: e.Path, Message: e.Err.Error(), Hint: e.hint}
	if e.partial {
		p.Severity = skill.Warning
	}
	return p
}
