package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	maxLog = 256 << 10 // bytes of a log, of which one older is kept
	// calm is how long no further index is started after one: it may fail each
	// time.
	calm = 10 * time.Second
)

// A logFile appends to a file of bounded size, which it makes at the first use.
type logFile string

func (l logFile) Write(p []byte) (int, error) {
	f, err := l.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Write(p)
}

func (l logFile) open() (*os.File, error) {
	name := string(l)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxLog {
		os.Rename(name, name+".1") // another process may have done so
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

func (h *hookRun) logFile() logFile { return logFile(filepath.Join(h.state, "hook.log")) }

func (h *hookRun) logWriter() io.Writer {
	var out []io.Writer
	if h.verbose {
		out = append(out, h.stderr)
	} else {
		h.stderr = io.Discard
	}
	if h.state != "" {
		out = append(out, h.logFile())
	}
	return io.MultiWriter(out...)
}

// indexBehind starts "skills index" for the catalog in file db, unless a process
// is at it or was a moment ago. Nothing of this process is left to the other: a
// client waits until all have closed the pipes that it gave.
func (h *hookRun) indexBehind(db string) {
	if err := h.tryIndexBehind(db); err != nil {
		h.log.Error("starting an index in the background", "error", err)
	}
}

func (h *hookRun) tryIndexBehind(db string) error {
	if h.state == "" {
		return errors.New("there is no state folder")
	}
	sum := sha256.Sum256([]byte(db))
	name := filepath.Join(h.state, fmt.Sprintf("index-%x.lock", sum[:6]))
	if err := os.MkdirAll(h.state, 0o700); err != nil {
		return err
	}
	before, statErr := os.Stat(name)
	lock := flock.New(name, flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok || err != nil {
		return err // a process is at it
	}
	defer lock.Close()
	now := time.Now()
	if statErr == nil && now.Sub(before.ModTime()) < calm {
		return nil
	}
	if err := os.Chtimes(name, now, now); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := h.logFile().open()
	if err != nil {
		return err
	}
	defer log.Close()
	flags, err := h.flags()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append(flags, "--db", db, "--quiet", "index", "--lock", name)...)
	cmd.Dir, cmd.Stderr = h.dir, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	h.log.Info("index started in the background", "process", cmd.Process.Pid)
	return cmd.Process.Release()
}

// commandLine returns how this program is called for the catalog, as a person or
// a model types it.
func (a *app) commandLine() string {
	self, err := os.Executable()
	if err != nil {
		self = "skills"
	}
	flags, err := a.flags()
	if err != nil {
		flags = nil // what it finds without them is better than nothing
	}
	words := append([]string{self}, flags...)
	if a.agent != "" {
		words = append(words, "--agent", a.agent)
	}
	for i, w := range words {
		if strings.ContainsAny(w, " '\"\\$`&|;<>()*?[]#~!") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
