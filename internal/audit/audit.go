// Package audit writes down who was offered, read and changed which skills, one JSON object
// a line.
//
// The one rule: it never stops or delays whoever is served. A line that cannot be written is
// lost, and counted.
package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Line is one request.
type Line struct {
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
}

// Bounds of a line. What is longer is cut, so that one write is one line.
const (
	maxText   = 256 // bytes
	maxPrompt = 4096
	maxSkills = 50
	queue     = 1024 // lines that wait for a slow disk
)

// Options of Open. A nil *Options is all zero values.
type Options struct {
	Prompts bool         // prompts are written too
	Logger  *slog.Logger // gets messages about lines that are lost; nil means no messages
}

// A Log is a file to which lines are appended. Several processes may append to the same
// file. It may be used by several goroutines.
type Log struct {
	name string
	opts Options
	lost atomic.Int64

	mu     sync.RWMutex // closed and sending to lines
	closed bool
	lines  chan []byte
	done   chan struct{} // closed when all lines are written
}

// Open opens the file of a name, and makes it if it does not exist. If the file is renamed or
// removed later, as programs that rotate logs do, lines go to a new one.
func Open(name string, o *Options) (*Log, error) {
	l := &Log{name: name, lines: make(chan []byte, queue), done: make(chan struct{})}
	if o != nil {
		l.opts = *o
	}
	l.opts.Logger = cmp.Or(l.opts.Logger, slog.New(slog.DiscardHandler))
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

// Add adds a line, and does not wait for the disk. A nil Log and a closed one do nothing.
func (l *Log) Add(line Line) {
	if l == nil {
		return
	}
	data, err := json.Marshal(l.bounded(line))
	if err != nil {
		l.lose(err)
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return
	}
	select {
	case l.lines <- append(data, '\n'):
	default:
		l.lose(fmt.Errorf("%d lines wait for the disk", queue))
	}
}

// bounded returns a line with the time, and cuts what clients chose.
func (l *Log) bounded(line Line) Line {
	if line.Time.IsZero() {
		line.Time = time.Now()
	}
	line.Time = line.Time.UTC().Truncate(time.Millisecond)
	if !l.opts.Prompts {
		line.Prompt = ""
	}
	line.Prompt = words.Clean(words.Shorten(line.Prompt, maxPrompt))
	for _, s := range []*string{&line.Caller, &line.Client, &line.Agent, &line.Call, &line.File, &line.Proposal, &line.Session} {
		*s = words.Cut(*s, maxText)
	}
	skills := line.Skills[:min(len(line.Skills), maxSkills)]
	line.Skills = nil
	for _, s := range skills {
		line.Skills = append(line.Skills, words.Cut(s, maxText))
	}
	return line
}

// lose counts a line that is lost, and tells of the first and of every thousandth.
func (l *Log) lose(err error) {
	if n := l.lost.Add(1); n%1000 == 1 {
		l.opts.Logger.Error("a line of the audit log is lost", "file", l.name, "error", err, "lost so far", n)
	}
}

// write writes the lines until there are no more.
func (l *Log) write(f *os.File) {
	defer close(l.done)
	defer func() { f.Close() }()
	looked := time.Now()
	for line := range l.lines {
		if now := time.Now(); now.Sub(looked).Abs() >= time.Second {
			looked = now
			f = l.current(f)
		}
		if _, err := f.Write(line); err != nil {
			l.lose(err)
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
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-time.After(time.Second):
		return fmt.Errorf("the audit log %s is not written to its end: the disk is slow", l.name)
	}
}
