package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

const (
	suffix     = ".json"
	expired    = 24 * time.Hour // how long a session without any event is remembered
	sweepEvery = time.Hour      // how often one process removes expired sessions
	swept      = "swept"        // the file whose modification time is the time of the last sweep
	maxFile    = 1 << 20        // the size in bytes of the largest file that is read
)

// turn returns a hash of a prompt and its turn; "" means that the turn is unknown.
func turn(p Prompt) string {
	if p.Turn == "" {
		return ""
	}
	return hash(fmt.Sprintf("%q %s", p.Turn, p.Text))
}

// hash returns a name for a text that is valid on any file system.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// open locks a session and returns its state, and a function that unlocks it. If the
// session cannot be locked, the state is empty and will not be saved.
func (m *Memory) open(ctx context.Context, session string) (*state, func()) {
	if m.dir == "" || session == "" {
		return new(state), func() {}
	}
	name := filepath.Join(m.dir, hash(session)+suffix)
	if m.frozen {
		return m.read(name), func() {}
	}
	lock, err := m.lock(ctx, session)
	if err != nil {
		m.log.Warn("session is not remembered", "error", err)
		return new(state), func() {}
	}
	s := m.read(name)
	s.write = func(data []byte) error { return atomicfile.Write(m.disk, name, data) }
	return s, func() { lock.Close() }
}

// openPrompt opens the session of a prompt.
func (m *Memory) openPrompt(ctx context.Context, p Prompt) (*state, func()) {
	if p.Client != "" {
		return m.openServed(ctx, p)
	}
	return m.open(ctx, p.Session)
}

// patience returns how long a prompt waits for another one of its session: half of the
// time until the deadline, or a second.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline) / 2
	}
	return time.Second
}

// lock waits for the lock of a session. All sessions share 16 lock files, so that no
// session leaves a lock file behind.
func (m *Memory) lock(ctx context.Context, session string) (*flock.Flock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience(ctx))
	defer cancel()
	lock := flock.New(filepath.Join(m.dir, hash(session)[:1]+".lock"), flock.SetPermissions(0o600))
	err := os.MkdirAll(m.dir, 0o700)
	if err == nil {
		_, err = lock.TryLockContext(ctx, time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	return lock, nil
}

// read reads the file of a session. A damaged or too large file counts as absent.
func (m *Memory) read(name string) *state {
	s, err := m.load(name)
	if err != nil {
		return new(state)
	}
	return s
}

// olderThan reports whether a file was written longer ago than that. A file that was
// written that long in the future counts as old too: the clock was wrong then, or is wrong
// now.
func (m *Memory) olderThan(age time.Duration, info fs.FileInfo) bool {
	return m.now().Sub(info.ModTime()).Abs() > age
}

// save remembers the state of a session.
func (m *Memory) save(s *state) {
	if s.write == nil {
		return
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = s.write(data)
	}
	if err != nil {
		m.log.Warn("session is not remembered", "error", err)
	}
}

// Sweep removes expired sessions, unless some process did so within the last hour.
func (m *Memory) Sweep() {
	if m.dir == "" || m.frozen {
		return
	}
	mark, now := filepath.Join(m.dir, swept), m.now()
	if info, err := os.Stat(mark); err == nil && !m.olderThan(sweepEvery, info) {
		return
	}
	if os.WriteFile(mark, nil, 0o600) != nil || os.Chtimes(mark, now, now) != nil {
		return // there is no such folder, or it cannot be written
	}
	files, _ := os.ReadDir(m.dir) // nothing is swept that cannot be listed
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) && !strings.HasSuffix(f.Name(), atomicfile.Suffix) {
			continue
		}
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && m.olderThan(expired, info) {
			m.disk.Remove(filepath.Join(m.dir, f.Name()))
		}
	}
}
