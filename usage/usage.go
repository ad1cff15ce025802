// Package usage keeps a log of which skills were offered, loaded, read and run, and counts what
// it says.
//
// The one rule: the log stays in its folder, and only people read it: nothing is ranked by
// it, and no answer to a model has anything of it. A log that cannot be written costs nothing but its lines.
package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Kind says what happened.
type Kind string

// The kinds.
const (
	Offered  Kind = "offered"  // a prompt got these skills, or none, without asking
	Searched Kind = "searched" // a model or a person searched and was shown these skills
	Loaded   Kind = "loaded"   // the instructions of a skill were read
	Read     Kind = "read"     // a file of a skill was read
	Ran      Kind = "ran"      // a command of a skill ran
)

// An Event is a line of the log.
type Event struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Client  string    `json:"client,omitempty"`  // "claude", "mcp", "command" and so on
	Session string    `json:"session,omitempty"` // of the client; "" means unknown
	Agent   string    `json:"agent,omitempty"`   // whose scope it was; "" means the whole catalog
	Skills  []Skill   `json:"skills,omitempty"`  // none for a prompt that got nothing
	File    string    `json:"file,omitempty"`    // that was read, relative to the skill's folder
	Prompt  string    `json:"prompt,omitempty"`  // shortened; only if the user wants prompts in the log
	Because string    `json:"because,omitempty"` // why a prompt wants no skill: "reply", "log" and so on; "" for all others

	Exit   int     `json:"exit,omitempty"`    // status of a command that ran
	Took   float64 `json:"seconds,omitempty"` // that it ran
	Tokens int     `json:"tokens,omitempty"`  // that the event added to a conversation, estimated; 0 means none, or unknown
}

// A Skill is a skill as a client named it: by ID, by the path of its SKILL.md, or both.
type Skill struct {
	ID       string `json:"id,omitempty"`
	Location string `json:"location,omitempty"`
}

const (
	suffix    = ".jsonl"
	month     = "2006-01" // the form of the files' names
	maxMonth  = 32 << 20  // bytes of the log of one month; then nothing more is noted
	maxMonths = 12        // how many months are kept
	maxPrompt = 500       // characters
	maxText   = 200       // bytes of each other text that a client chooses
	maxSkills = 50        // of one event
)

// A Log is a folder with a file of events for each month. Several goroutines and processes
// may use it. A nil *Log notes nothing.
type Log struct {
	dir     string
	prompts bool
	now     func() time.Time
}

// Options of New.
type Options struct {
	Prompts bool             // note prompts too
	Now     func() time.Time // the clock; nil means time.Now
}

// New returns the log in the folder "usage" of a state folder. It is made when the first
// event is noted.
func New(state string, o Options) *Log {
	l := &Log{dir: filepath.Join(state, "usage"), prompts: o.Prompts, now: o.Now}
	if l.now == nil {
		l.now = time.Now
	}
	return l
}

// Add notes an event. It sets the time, and leaves out the prompt unless prompts are noted.
// An error means that the event is lost.
func (l *Log) Add(e Event) error {
	if l == nil {
		return nil
	}
	e.Time = l.now().UTC().Truncate(time.Second)
	if !l.prompts {
		e.Prompt = ""
	}
	e.Prompt = words.Clean(words.Shorten(e.Prompt, maxPrompt))
	for _, s := range []*string{&e.Client, &e.Session, &e.Agent, &e.File, &e.Because} {
		*s = words.Cut(*s, maxText)
	}
	skills := e.Skills[:min(len(e.Skills), maxSkills)]
	e.Skills = nil
	for _, s := range skills {
		e.Skills = append(e.Skills, Skill{ID: words.Cut(s.ID, maxText), Location: s.Location[:min(len(s.Location), 4096)]})
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = l.write(filepath.Join(l.dir, e.Time.Format(month)+suffix), append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("noting that skills were %s: %w", e.Kind, err)
	}
	return nil
}

// write appends a line. One write is one line, also if several processes write.
func (l *Log) write(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(l.dir, 0o700); err == nil {
			l.sweep()
			f, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err == nil && info.Size() > maxMonth {
		err = fmt.Errorf("%s has more than %d bytes (skills stats --forget empties the log)", name, maxMonth)
	}
	if err == nil {
		_, err = f.Write(line)
	}
	return err
}

// files returns the files of the log, the oldest first.
func (l *Log) files() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Type().IsRegular() {
			if _, err := time.Parse(month, name); err == nil {
				names = append(names, filepath.Join(l.dir, e.Name()))
			}
		}
	}
	return names, err
}

// sweep removes the oldest files, so that with the new one there are not too many.
func (l *Log) sweep() {
	names, _ := l.files() // what cannot be listed is not removed
	for len(names) >= maxMonths {
		os.Remove(names[0])
		names = names[1:]
	}
}

// Forget removes the log.
func (l *Log) Forget() error {
	names, err := l.files()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}
