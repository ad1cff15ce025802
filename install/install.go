// Package install owns the folder of installed skills: it fetches skills from
// repositories, folders, archives and sites, checks them, and writes down in skills.lock
// what it installed and where that came from.
//
// The one rule: a skill is installed whole and in the lock, or not at all. New files are
// staged on the same disk, checked, and then renamed into place; a journal tells the next
// process what a killed one has done. A folder that is not in the lock is never touched.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/skill"
)

// Options are what an Installer may be told. nil means all zero values.
type Options struct {
	// Keys are the public keys of which one must have signed what is installed; nil means
	// that no signature is asked for. A key is a line of an SSH public key, a minisign
	// public key, or "gpg:" and the fingerprint of a key in the user's keyring.
	Keys []string
	// Inspect returns what may be wrong with a skill that skill.Check does not know,
	// given its folder. nil means nothing.
	Inspect func(ctx context.Context, s *skill.Skill, folder string) []skill.Problem
	// Ask returns the file that a registry has now, given the Origin of a Source of the kind
	// Registry. nil means that there are no registries.
	Ask func(ctx context.Context, origin string) (remote.File, error)
	// Limits are what a skill may be. nil means the limits of package unpack.
	Limits *unpack.Limits
	// Aside is the folder for copies of skills that were edited here and then replaced.
	// "" means a folder beside the installed skills.
	Aside string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// An Installer installs skills into one folder. Several of them, also of other processes,
// may work on one folder at the same time.
type Installer struct {
	dir  string
	opts Options
	keys []key
	step func(what string) // called before each change of a file; tests end the process there
}

// Open returns the installer of a folder, which it makes when it installs the first skill.
func Open(dir string, o *Options) (*Installer, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	in := &Installer{dir: dir, opts: *cmp.Or(o, new(Options)), step: func(string) {}}
	in.opts.Aside = cmp.Or(in.opts.Aside, dir+".edited")
	if in.opts.Now == nil {
		in.opts.Now = time.Now
	}
	in.keys, err = parseKeys(in.opts.Keys)
	return in, err
}

// Dir returns the folder of the installed skills.
func (in *Installer) Dir() string { return in.dir }

func (in *Installer) folder(key string) string { return FolderOf(in.dir, key) }

// patience is how long a process waits for another one that changes the same folder. They
// hold the lock only while they rename folders.
const patience = 30 * time.Second

// locked calls act while no other process changes the folder, with the lock as it is then,
// after what a killed process has begun was put in order.
func (in *Installer) locked(ctx context.Context, act func(*Lock) error) (err error) {
	if err := os.MkdirAll(in.dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of installed skills: %w", err)
	}
	f := flock.New(filepath.Join(in.dir, ".skills.lock.held"), flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := f.TryLockContext(wait, 5*time.Millisecond); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another process has been changing it for %v; try again when it has ended", patience)
		}
		return fmt.Errorf("locking %s: %w", in.dir, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l, err := ReadLock(in.dir)
	if err != nil {
		return err
	}
	if err := in.recover(l); err != nil {
		return err
	}
	return act(l)
}

// read returns the lock, after what a killed process has begun was put in order. It writes
// nothing if there is nothing to put in order.
func (in *Installer) read(ctx context.Context) (l *Lock, err error) {
	if left, err := in.journals(); err != nil || len(left) == 0 {
		if err != nil {
			return nil, err
		}
		return ReadLock(in.dir)
	}
	err = in.locked(ctx, func(now *Lock) error { l = now; return nil })
	return l, err
}
