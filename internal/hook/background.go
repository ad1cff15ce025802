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

	"github.com/repertoire-skills/repertoire/internal/slots"
)

// lockFile returns the file that a process locks while it indexes into db in the background.
func lockFile(state, db string) string {
	sum := sha256.Sum256([]byte(db))
	return filepath.Join(state, fmt.Sprintf("index-%x.lock", sum[:6]))
}

// Indexing reports whether a process that a hook started indexes into db now. state "" means that none can.
func Indexing(state, db string) bool { return state != "" && slots.Held(lockFile(state, db)) }

// A Background is how a process is started that indexes a catalog.
type Background struct {
	State string // folder of the lock and of the log
	Dir   string // of the project; "" means the working folder
	DB    string // file of the catalog
	// Args returns the arguments with which this program indexes the catalog in the file db while
	// it holds a lock and a place.
	Args func(db, lock, place string) ([]string, error)
	Log  *slog.Logger // nil means the log of hooks
	Once func() bool  // asked last, whether to start; nil means yes
}

// Start starts the process, unless one indexes or did a moment ago: it may fail each time. It does not if too many
// wait to index other catalogs; a later prompt asks again.
func (b *Background) Start() error {
	if b.State == "" {
		return errors.New("there is no state folder")
	}
	b.Log = cmp.Or(b.Log, slog.New(slog.NewTextHandler(logIn(b.State), nil)))
	if err := os.MkdirAll(b.State, 0o700); err != nil {
		return err
	}
	lock, err := slots.New(lockFile(b.State, b.DB))
	if lock == nil {
		return err
	}
	place, err := slots.Place(b.State)
	switch {
	case place == nil:
		if err == nil {
			b.Log.Info("too many indexes wait for their turn; a later prompt starts this one")
		}
		return errors.Join(err, lock.Free())
	case b.Once != nil && !b.Once():
		return errors.Join(place.Free(), lock.Free())
	}
	if err := b.start(lock.Path(), place.Path()); err != nil {
		return errors.Join(err, place.Free(), lock.Close())
	}
	return errors.Join(place.Close(), lock.Close())
}

// start starts the process. It does not get the pipes that the client gave this one: the client
// waits until all processes have closed them.
func (b *Background) start(lock, place string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := logIn(b.State).open()
	if err != nil {
		return err
	}
	defer log.Close()
	args, err := b.Args(b.DB, lock, place)
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
		b.Log.Debug("the index keeps its priority", "error", err)
	}
	b.Log.Info("index started in the background", "process", cmd.Process.Pid)
	return cmd.Process.Release()
}
