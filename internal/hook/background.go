package hook

import (
	"crypto/sha256"
	"errors"
	"fmt"
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

// indexInBackground starts a process that indexes the catalog in the file db, unless one
// does so or did a moment ago. The process does not get the pipes that the client gave
// this one: the client waits until all processes have closed them.
func (r *run) indexInBackground(db string) error {
	if r.Index == nil {
		return nil
	}
	if r.state == "" {
		return errors.New("there is no state folder")
	}
	name := lockFile(r.state, db)
	if err := os.MkdirAll(r.state, 0o700); err != nil {
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
	log, err := r.logFile().open()
	if err != nil {
		return err
	}
	defer log.Close()
	args, err := r.Index(db, name)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stderr = r.dir, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := yield(cmd); err != nil {
		r.log.Debug("the index keeps its priority", "error", err)
	}
	r.log.Info("index started in the background", "process", cmd.Process.Pid)
	return cmd.Process.Release()
}
