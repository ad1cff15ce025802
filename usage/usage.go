// Package usage says what happened with skills, whatever door it came through: somebody was
// offered, found, loaded, read or ran them. It keeps a log of it, and counts what that says.
//
// The one rule: the log stays in its folder or, of the nodes of a shared catalog, also in its database,
// and only people read it; no answer to a model quotes it or depends on it. A log that cannot be written
// costs nothing but its lines.
package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

const (
	suffix    = ".jsonl"
	month     = "2006-01" // the form of the files' names
	maxPrompt = 500       // characters
	maxText   = 200       // bytes of each other text that a client chooses
	maxSkills = 50        // of one event
)

// A Log is a folder with a file of events for each month, within the bounds of package store: what is
// more than one month may have is not noted. Of a node of a shared catalog, it also is the table of all
// nodes, which then is what is read and counted.
// Several goroutines and processes may use it. A nil *Log notes nothing.
type Log struct {
	dir     string
	prompts bool
	now     func() time.Time
	table   *table // nil without a shared catalog
}

// Options of New.
type Options struct {
	Prompts bool             // note prompts too
	Shared  store.UsageLog   // keeps the lines of all nodes; nil means that there is none
	Logger  *slog.Logger     // gets messages about Shared; nil means no messages
	Now     func() time.Time // the clock; nil means time.Now
}

// New returns the log in the folder "usage" of a state folder. It is made when the first
// event is noted. New removes the files in it from which older versions ranked: any client of a server could
// teach there what all others were offered.
func New(state string, o Options) *Log {
	l := &Log{dir: filepath.Join(state, "usage"), prompts: o.Prompts, now: o.Now}
	for _, old := range []string{"learned.json", "lessons.bin"} {
		_ = os.Remove(filepath.Join(l.dir, old)) // nothing reads it: the next start tries again
	}
	if l.now == nil {
		l.now = time.Now
	}
	if o.Shared != nil {
		l.table = &table{lines: o.Shared, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	}
	return l
}

// Prompts reports whether prompts are noted.
func (l *Log) Prompts() bool { return l != nil && l.prompts }

// Close writes what waits for the table of all nodes, and waits a few seconds for that. The log may
// not be used afterwards.
func (l *Log) Close() {
	if l != nil && l.table != nil {
		l.table.close()
	}
}

// Add notes an event, if it is one of the kinds that the log has: what failed, and what has no
// skill but a prompt that was looked at, is left out. It sets the time, and leaves out the prompt
// unless prompts are noted. An error means that the event is lost.
func (l *Log) Add(e Event) error {
	if l == nil || e.Failed || !e.Kind.logged() || len(e.Skills) == 0 && e.Kind != Offered && e.Kind != Searched {
		return nil
	}
	line, now := lineOf(&e), l.now().UTC()
	line.Time = now.Truncate(time.Second)
	if !l.prompts {
		line.Prompt = ""
	}
	if l.table != nil {
		l.table.add(now, line)
	}
	data, err := json.Marshal(line)
	if err == nil {
		err = l.write(filepath.Join(l.dir, line.Time.Format(month)+suffix), append(data, '\n'))
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
	if err == nil && info.Size() > store.UsageMonthBytes {
		err = fmt.Errorf("%s has more than %d bytes (skills stats --forget empties the log)", name, store.UsageMonthBytes)
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
	for len(names) >= store.UsageMonths {
		os.Remove(names[0])
		names = names[1:]
	}
}

// Forget removes the log. Of a shared catalog it empties the table of all nodes, and leaves the folder.
func (l *Log) Forget(ctx context.Context) error {
	if l.table != nil {
		return l.table.lines.ForgetUsage(ctx)
	}
	names, err := l.files()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}
