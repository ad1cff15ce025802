package source

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

var (
	// ErrRefused means that a file is never served, whether it exists or not:
	// its name is not a plain relative path, it is outside the skill's folder,
	// or it is not a regular file.
	ErrRefused = errors.New("refused")

	// ErrAway means that a source cannot be read at all now: its top folder does not
	// exist or cannot be listed. Its skills may come back.
	ErrAway = errors.New("away")

	// ErrTooLarge means that a file is larger than Options.MaxFile.
	ErrTooLarge = errors.New("file too large")
)

// A missingError is a message that matches fs.ErrNotExist without repeating it.
type missingError string

func (e missingError) Error() string { return string(e) }

// Is reports whether target is fs.ErrNotExist.
func (e missingError) Is(target error) bool { return target == fs.ErrNotExist }

// errNoSkill is the error for a folder in which Skills would find no skill.
var errNoSkill = fmt.Errorf("no skill in the folder: %w", fs.ErrNotExist)

// maxQuoted bounds the name that an error quotes, in characters.
const maxQuoted = 1024

// A FileError says why a file of a skill could not be opened or read. It
// matches ErrRefused, ErrTooLarge, fs.ErrNotExist or an error of the system.
type FileError struct {
	Dir  string   // the skill's folder in the source
	Name string   // the requested file
	Near []string // if the file does not exist: up to three similar names that do, best first
	Err  error
}

func (e *FileError) Error() string {
	msg := fmt.Sprintf("opening %q of skill folder %s: %v", tidy.Shorten(e.Name, maxQuoted), e.Dir, e.Err)
	if len(e.Near) > 0 {
		msg += "; " + words.DidYouMean(e.Near)
	}
	return msg
}

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// ForAsker returns what somebody is told who asks from another machine: nothing of an error of the
// system.
func (e *FileError) ForAsker() string {
	for _, why := range []error{ErrRefused, ErrTooLarge, fs.ErrNotExist} {
		if errors.Is(e.Err, why) {
			return (&FileError{Dir: e.Dir, Name: e.Name, Near: e.Near, Err: why}).Error()
		}
	}
	return ""
}

// A walkError is a problem that a walk met outside of any skill.
type walkError struct {
	path       string // slash-separated path in the source
	err        error
	rule, hint string
	partial    bool
	away       bool
	stopped    bool // the walk ended here
}

func (e *walkError) Error() string { return e.path + ": " + e.err.Error() }

func (e *walkError) Unwrap() error { return e.err }

// Is reports whether target is ErrAway and e means that the source is away.
func (e *walkError) Is(target error) bool { return target == ErrAway && e.away }

// Incomplete reports whether the walk may have missed skills because of e. If so,
// a skill in the folder Missed that was not found must not be treated as deleted.
func (e *walkError) Incomplete() bool { return e.partial }

// Missed returns the folder in which the walk may have missed skills. A walk that
// stops early may have missed them anywhere.
func (e *walkError) Missed() string {
	if e.stopped {
		return "."
	}
	return e.path
}

// Problem returns e as a finding: a warning if the walk is incomplete, else a note.
func (e *walkError) Problem() skill.Problem {
	p := skill.Problem{Rule: e.rule, Severity: skill.Note, Path: e.path, Message: e.err.Error(), Hint: e.hint}
	if e.partial {
		p.Severity = skill.Warning
	}
	return p
}

// isMissing reports whether err means that there is nothing at a path.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isThroughFile(err) }
