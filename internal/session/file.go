package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

const (
	suffix = ".json"
	// expired is the age at which a session is forgotten that nothing was heard
	// of.
	expired = 24 * time.Hour
	// sweepEvery is how often what has expired is looked for, by one process.
	sweepEvery = time.Hour
	swept      = "swept" // the file whose time says when that was last done
	// maxFile bounds what is read of a file, in bytes.
	maxFile = 1 << 20
)

// turn returns a hash of a prompt in its turn.
func turn(p Prompt) string { return hash(fmt.Sprintf("%q %s", p.Turn, p.Text)) }

// hash returns a name for a text that any file system takes.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func (m *Memory) path(session string) string { return filepath.Join(m.dir, hash(session)+suffix) }

// open returns what is remembered of a session, and a function that lets others
// have it. What cannot be had is a state that is not kept.
func (m *Memory) open(ctx context.Context, session string) (*state, func()) {
	if m.dir == "" || session == "" {
		return new(state), func() {}
	}
	lock, err := m.lock(ctx, session)
	if err != nil {
		m.log.Warn("session is not remembered", "error", err)
		return new(state), func() {}
	}
	return m.read(m.path(session)), func() { lock.Close() }
}

// lock waits for the lock of a session. There are 16 locks for all of them, so
// that no session leaves one behind.
func (m *Memory) lock(ctx context.Context, session string) (*flock.Flock, error) {
	wait := time.Second
	if deadline, ok := ctx.Deadline(); ok {
		wait = time.Until(deadline) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	lock := flock.New(filepath.Join(m.dir, hash(session)[:1]+".lock"), flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(ctx, time.Millisecond)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(m.dir, 0o700); err == nil {
			_, err = lock.TryLockContext(ctx, time.Millisecond)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	return lock, nil
}

// read reads the file of a session. One that is damaged is as good as absent.
func (m *Memory) read(name string) *state {
	s := &state{kept: true}
	f, err := os.Open(name)
	if err != nil {
		return s
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || m.now().Sub(info.ModTime()) > expired {
		return s
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil || json.Unmarshal(data, s) != nil {
		return &state{kept: true}
	}
	return s
}

// save keeps the state of a session.
func (m *Memory) save(session string, s *state) {
	if !s.kept {
		return
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(m.path(session), data)
	}
	if err != nil {
		m.log.Warn("session is not remembered", "error", err)
	}
}

// Sweep removes what has expired, unless some process did within the last hour.
func (m *Memory) Sweep() {
	if m.dir == "" {
		return
	}
	mark, now := filepath.Join(m.dir, swept), m.now()
	if info, err := os.Stat(mark); err == nil && now.Sub(info.ModTime()) < sweepEvery {
		return
	}
	if os.WriteFile(mark, nil, 0o600) != nil || os.Chtimes(mark, now, now) != nil {
		return // there is no such folder, or it cannot be written
	}
	files, err := os.ReadDir(m.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) && !strings.HasSuffix(f.Name(), atomicfile.Suffix) {
			continue
		}
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > expired {
			os.Remove(filepath.Join(m.dir, f.Name()))
		}
	}
}
