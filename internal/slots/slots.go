// Package slots bounds how many background jobs of a user run at a time on a machine, whichever
// processes they are in.
//
// The one rule: a job holds the file of its slot locked, so a process that is killed gives its slot
// back. A process that waits for a slot takes little memory, but holds a place: there is a bounded
// number of these too. Who starts a process claims a place for it, and the process takes it a moment later.
package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

// Pause is how long a file stays claimed for a process that is being started.
const Pause = 10 * time.Second

const (
	Places   = 32               // processes that run or wait
	patience = 10 * time.Minute // of a process that waits
)

// Most returns how many jobs run at a time: one for two processors, so that prompts find a free one, but two at least, so
// that a long job does not keep all others waiting, and four at most, because each takes memory.
func Most() int { return max(2, min(4, runtime.NumCPU()/2)) }

// A Claim is a file that this process holds locked. Close unlocks it, and the file stays claimed until Pause is over.
type Claim struct{ *flock.Flock }

// free is the modification time of a file that nobody has claimed.
var free = time.Unix(0, 0)

// Free unlocks a file that others may claim at once.
func (c *Claim) Free() error { return errors.Join(os.Chtimes(c.Path(), free, free), c.Close()) }

func lockOf(file string) *flock.Flock { return flock.New(file, flock.SetPermissions(0o600)) }

// New claims a file, which it makes if it does not exist. It returns nil if a process holds it, or if one has claimed it
// within Pause.
func New(file string) (*Claim, error) {
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		if err := errors.Join(f.Close(), os.Chtimes(file, free, free)); err != nil {
			return nil, err
		}
	}
	c := &Claim{lockOf(file)}
	if ok, err := c.TryLock(); !ok || err != nil {
		return nil, err
	}
	now := time.Now()
	info, err := os.Stat(file)
	// A clock that was put back leaves a time in the future: that was not a moment ago.
	if err != nil || now.Sub(info.ModTime()).Abs() < Pause {
		return nil, errors.Join(err, c.Close())
	}
	if err := os.Chtimes(file, now, now); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Place claims one of the places whose files are in a folder, for a process that will wait for its turn. nil means that all
// are taken.
func Place(dir string) (*Claim, error) { return first(dir, "place", Places, New) }

// first returns the first of the n files of a kind in a folder that get gets; nil means that all are taken. A file that cannot be locked,
// as one of another user, does not count; if none counts, first returns an error.
func first(dir, kind string, n int, get func(file string) (*Claim, error)) (*Claim, error) {
	var failure error
	failed := 0
	for i := range n {
		c, err := get(filepath.Join(dir, fmt.Sprintf("%s-%d.lock", kind, i+1)))
		if c != nil {
			return c, nil
		}
		if err != nil {
			failure = cmp.Or(failure, err)
			failed++
		}
	}
	if failed < n {
		return nil, nil
	}
	return nil, failure
}

// Turn waits for one of the slots in a folder and locks it. It returns nil if there was none for ten minutes.
func Turn(ctx context.Context, dir string) (*Claim, error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	try := func(file string) (*Claim, error) {
		c := &Claim{lockOf(file)}
		ok, err := c.TryLock()
		if !ok {
			c = nil
		}
		return c, err
	}
	for {
		if c, err := first(dir, "slot", Most(), try); c != nil || err != nil {
			return c, err
		}
		select {
		case <-wait.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Take locks a file that was claimed for this process. It returns nil if another process has it.
func Take(ctx context.Context, file string) (*Claim, error) {
	c := &Claim{lockOf(file)}
	// The process that started this one may hold the lock for another moment.
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := c.TryLockContext(wait, 10*time.Millisecond); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, nil
		}
		return nil, fmt.Errorf("locking %s: %w", file, err)
	}
	return c, nil
}

// Held reports whether a process holds a file locked. It makes no file.
func Held(file string) bool {
	if _, err := os.Stat(file); err != nil {
		return false
	}
	lock := lockOf(file)
	ok, err := lock.TryRLock()
	lock.Close()
	return !ok && err == nil
}
