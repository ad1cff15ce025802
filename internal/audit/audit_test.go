package audit

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/usage"
)

// read returns the lines of a file.
func read(t *testing.T, name string) (lines []line) {
	t.Helper()
	data := must.Read(t, name)
	for text := range strings.Lines(data) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestLog: lines are appended; prompts only if they are wanted.
func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.log")
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	given := usage.Event{Time: at, Kind: usage.Offered, Client: "mcp", Caller: "ci", Address: "10.0.0.1", Agent: "clerk", Call: "suggest_skills", Skills: usage.Named("a", "b"), Session: "s", Prompt: "the\nprompt"}
	one := line{Time: at, Caller: "ci", Agent: "clerk", Call: "suggest_skills", Skills: []string{"a", "b"}, Session: "s", Prompt: "the\nprompt"}
	want := []line{one, one}
	want[0].Prompt = ""
	for _, prompts := range []bool{false, true} {
		l, err := Open(name, &Options{Prompts: prompts})
		must.Do(t, err)
		l.Add(given)
		l.Add(usage.Event{Call: "ping"}) // which is about no skill
		must.Do(t, l.Close())
		l.Add(given) // too late
		must.Do(t, l.Close())
	}
	if diff := cmp.Diff(want, read(t, name)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	var none *Log
	none.Add(given)
	must.Do(t, none.Close())
}

// TestBounds: whatever clients send, a line is one line of a bounded length.
func TestBounds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(name, &Options{Prompts: true})
	must.Do(t, err)
	long := strings.Repeat("\u2028\n\x00\xff\"", 1<<18)
	many := make([]usage.Skill, 10_000)
	for i := range many {
		many[i].ID = long
	}
	l.Add(usage.Event{Kind: usage.Read, Caller: long, Address: long, Agent: long, Call: long, Skills: many, What: long, Proposal: long, Session: long, Prompt: long})
	l.Add(usage.Event{Kind: usage.Listed, Call: "next"})
	must.Do(t, l.Close())
	if lines := read(t, name); len(lines) != 2 || lines[1].Call != "next" {
		t.Errorf("%d lines", len(lines))
	}
	if info, _ := os.Stat(name); info.Size() > 128<<10 {
		t.Errorf("a line has %d bytes", info.Size())
	}
}

// TestAtOnce: two processes that append to a file, as two Logs do, mix no lines.
func TestAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.log")
	var all sync.WaitGroup
	for _, caller := range []string{"a", "b"} {
		l, err := Open(name, nil)
		must.Do(t, err)
		all.Go(func() {
			for range 300 {
				l.Add(usage.Event{Kind: usage.Read, Caller: caller, Call: strings.Repeat(caller, 200)})
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(read(t, name)); n != 600 {
		t.Errorf("%d lines", n)
	}
}

// TestRotated: a file that was renamed gets no more lines.
func TestRotated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed here")
	}
	name := filepath.Join(t.TempDir(), "audit.log")
	l, err := Open(name, nil)
	must.Do(t, err)
	must.Do(t, l.Close())
	old, err := l.open()
	must.Do(t, err)
	if l.current(old) != old {
		t.Error("the file is opened again for nothing")
	}
	must.Do(t, os.Rename(name, name+".1"))
	f := l.current(old)
	defer f.Close()
	_, err = f.WriteString("{}\n")
	must.Do(t, err)
	if n := len(read(t, name)); n != 1 {
		t.Errorf("%d lines in the new file", n)
	}
}

// TestSlow: a disk that takes nothing delays nobody; lines are lost, and Close gives up.
func TestSlow(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	l := &Log{name: filepath.Join(t.TempDir(), "absent", "pipe"), opts: Options{Logger: discard()}, lines: newQueue[[]byte]()}
	go l.write(w)
	for range 10 * room {
		l.Add(usage.Event{Kind: usage.Read, Call: strings.Repeat("x", maxText)})
	}
	if l.lost.Load() == 0 {
		t.Error("no line is lost")
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "slow") {
		t.Errorf("closing: %v", err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(t.TempDir()+"/absent/audit.log", nil); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Error(err)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
