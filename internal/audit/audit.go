// Package audit writes down who was offered, read and changed which skills, and who was refused, one
// JSON object a line.
//
// The one rule: it never stops or delays whoever is served. A line that cannot be written is
// lost, and counted.
package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/usage"
)

// A line is one request.
type line struct {
	Time   time.Time `json:"time"`
	Caller string    `json:"caller,omitempty"` // the name of the token, or of the subject of an OpenID token
	Client string    `json:"client,omitempty"` // the address of a caller without a name
	Agent  string    `json:"agent,omitempty"`  // whose scope was asked; "" means the whole catalog
	Call   string    `json:"call"`             // the tool, or method of the protocol

	Skills   []string `json:"skills,omitempty"` // that were offered, found, read, run or changed
	File     string   `json:"file,omitempty"`   // of the skill, that was read
	Proposal string   `json:"proposal,omitempty"`
	Session  string   `json:"session,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Failed   bool     `json:"failed,omitempty"`

	Refused string `json:"refused,omitempty"` // why, see access.Refusal
	Status  int    `json:"status,omitempty"`  // of the answer
	More    int    `json:"more,omitempty"`    // how many more such requests there were within a minute; the first has a line of its own
}

// Bounds of a line. What is longer is cut, so that one write is one line.
const (
	maxText   = 256 // bytes
	maxPrompt = 4096
	maxSkills = 50
)

// Options of Open. A nil *Options is all zero values.
type Options struct {
	Prompts bool         // prompts are written too
	Stderr  io.Writer    // where lines go if the name of the file is "-"; nil means os.Stderr
	Logger  *slog.Logger // gets messages about lines that are lost; nil means no messages
}

// A Log is a file to which lines are appended, or standard error. Several processes may append to the
// same file. It may be used by several goroutines.
type Log struct {
	name  string
	opts  Options
	lost  atomic.Int64
	lines *queue[[]byte]
}

// Open opens the file of a name, and makes it if it does not exist. If the file is renamed or
// removed later, as programs that rotate logs do, lines go to a new one. The name "-" means standard
// error.
func Open(name string, o *Options) (*Log, error) {
	l := &Log{name: name, lines: newQueue[[]byte]()}
	if o != nil {
		l.opts = *o
	}
	l.opts.Logger = cmp.Or(l.opts.Logger, slog.New(slog.DiscardHandler))
	if name == "-" {
		l.opts.Stderr = cmp.Or[io.Writer](l.opts.Stderr, os.Stderr)
		go l.write(nil)
		return l, nil
	}
	f, err := l.open()
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	go l.write(f)
	return l, nil
}

func (l *Log) open() (*os.File, error) {
	return os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// Add adds the line of an event, and does not wait for the disk. Requests that are about no skill,
// such as a ping, have no kind, and no line. A nil Log and a closed one do nothing.
func (l *Log) Add(e usage.Event) {
	if l != nil && e.Kind != "" {
		l.add(l.lineOf(&e))
	}
}

func (l *Log) add(out line) {
	data, err := json.Marshal(out)
	if err != nil {
		l.drop(err)
		return
	}
	if !l.lines.add(append(data, '\n')) {
		l.drop(fmt.Errorf("%d lines wait for the disk", room))
	}
}

// lineOf returns the line of an event with a time, and cuts what clients chose.
func (l *Log) lineOf(e *usage.Event) line {
	now := cmp.Or(e.Time, time.Now()).UTC().Truncate(time.Millisecond)
	out := line{Time: now, Caller: cut(e.Caller), Agent: cut(e.Agent), Call: cut(e.Call), Proposal: cut(e.Proposal), Session: cut(e.Session), Failed: e.Failed}
	if out.Caller == "" {
		out.Client = cut(e.Address)
	}
	if e.Kind == usage.Loaded || e.Kind == usage.Read {
		out.File = cut(e.What)
	}
	if l.opts.Prompts {
		out.Prompt = tidy.Clean(tidy.Shorten(e.Prompt, maxPrompt))
	}
	for _, s := range e.Skills[:min(len(e.Skills), maxSkills)] {
		out.Skills = append(out.Skills, cut(s.ID))
	}
	return out
}

// cut bounds what clients chose. Nothing in it may command the terminal that shows standard error.
func cut(s string) string { return tidy.Cut(tidy.Clean(s), maxText) }

// drop counts a line that is lost, and tells of the first and of every thousandth.
func (l *Log) drop(err error) {
	if n := l.lost.Add(1); n%1000 == 1 {
		l.opts.Logger.Error("a line of the audit log is lost", "file", l.name, "error", err, "lost so far", n)
	}
}

// write writes the lines until there are no more; without a file, to standard error.
func (l *Log) write(f *os.File) {
	defer close(l.lines.done)
	to := l.opts.Stderr
	if f != nil {
		defer func() { f.Close() }()
		to = f
	}
	looked := time.Now()
	for line := range l.lines.in {
		if now := time.Now(); f != nil && now.Sub(looked).Abs() >= time.Second {
			looked = now
			f = l.current(f)
			to = f
		}
		if _, err := to.Write(line); err != nil {
			l.drop(err)
		}
	}
}

// current returns the file of the name, which may be another one than before. If it cannot be
// opened, lines go on to the old one.
func (l *Log) current(f *os.File) *os.File {
	there, err := os.Stat(l.name)
	if err == nil {
		if open, err := f.Stat(); err == nil && os.SameFile(there, open) {
			return f
		}
	}
	other, err := l.open()
	if err != nil {
		l.opts.Logger.Error("the audit log goes on in its old file", "error", err)
		return f
	}
	f.Close()
	return other
}

// Close writes the lines that wait, and closes the file. It waits for the disk for a second.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	if !l.lines.close() {
		return fmt.Errorf("the audit log %s is not written to its end: the disk is slow", l.name)
	}
	return nil
}
