package hook

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// pause is how long no further index is started after one, which may fail each time.
const pause = 10 * time.Second

// lockFile returns the file that a process locks while it indexes into db in the background.
func lockFile(state, db string) string {
	sum := sha256.Sum256([]byte(db))
	return filepath.Join(state, fmt.Sprintf("index-%x.lock", sum[:6]))
}

// Indexing reports whether a process that a hook started indexes into db now.
func Indexing(state, db string) bool {
	name := lockFile(state, db)
	if _, err := os.Stat(name); err != nil {
		return false
	}
	lock := flock.New(name, flock.SetPermissions(0o600))
	ok, err := lock.TryRLock()
	lock.Close()
	return !ok && err == nil
}

// A Background is how a process is started that indexes a catalog.
type Background struct {
	State string // folder of the lock and of the log
	Dir   string // of the project; "" means the working folder
	DB    string // file of the catalog
	// Args returns the arguments with which this program indexes the catalog in the file db while
	// it holds a lock.
	Args func(db, lock string) ([]string, error)
	Log  *slog.Logger // nil means the log of hooks
}

// Start starts the process, unless one indexes or did a moment ago. The process does not get the
// pipes that the client gave this one: the client waits until all processes have closed them.
func (b *Background) Start() error {
	if b.State == "" {
		return errors.New("there is no state folder")
	}
	logger := cmp.Or(b.Log, slog.New(slog.NewTextHandler(logIn(b.State), nil)))
	name := lockFile(b.State, b.DB)
	if err := os.MkdirAll(b.State, 0o700); err != nil {
		return err
	}
	before, statErr := os.Stat(name)
	lock := flock.New(name, flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); !ok || err != nil {
		return err // a process is at it
	}
	defer lock.Close()
	now := time.Now()
	// A clock that was put back leaves a time in the future: that was not a moment ago.
	if statErr == nil && now.Sub(before.ModTime()).Abs() < pause {
		return nil
	}
	if err := os.Chtimes(name, now, now); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := logIn(b.State).open()
	if err != nil {
		return err
	}
	defer log.Close()
	args, err := b.Args(b.DB, name)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stderr = b.Dir, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := yield(cmd); err != nil {
		logger.Debug("the index keeps its priority", "error", err)
	}
	logger.Info("index started in the background", "process", cmd.Process.Pid)
	return cmd.Process.Release()
}
