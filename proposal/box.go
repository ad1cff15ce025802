package proposal

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// A Box holds the proposals of a user, and the history of the skills that were changed. Each
// proposal is a folder of files that a person can read; those that wait are in the folder
// "open", the others in "closed". Several processes may use the same box.
type Box struct {
	inbox
	folders
	history string // folder of the history, beside dir
}

const (
	lockFile = ".lock"
	swapFile = "swap.yaml" // what Approve or Revert is doing
)

// Open returns the box in a folder, which need not exist. The history lies beside it, in the
// folder "history". It completes or undoes a change that was under way when a process was
// killed. o may be nil.
func Open(dir string, c Catalog, o *Options) (*Box, error) {
	b := &Box{folders: folders{dir}, history: filepath.Join(filepath.Dir(dir), "history")}
	b.inbox = newInbox(c, o, b, b)
	if _, err := os.Lstat(filepath.Join(dir, swapFile)); err != nil {
		return b, nil
	}
	return b, b.hold(context.Background(), func(context.Context) error { return nil })
}

// Dir returns the folder of the box in a state folder.
func Dir(state string) string { return filepath.Join(state, "proposals") }

// Count returns how many proposals in the folder of a box wait. It reads one folder.
func Count(dir string) int {
	ids, _ := folders{dir}.ids(waiting) // what cannot be read does not wait
	return len(ids)
}

// hold implements shelf: after what a killed process has left is put in order.
func (b *Box) hold(ctx context.Context, f func(context.Context) error) error {
	for _, dir := range []string{filepath.Join(b.dir, waiting), filepath.Join(b.dir, decided), b.history} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the folder of proposals: %w", err)
		}
	}
	lock := flock.New(filepath.Join(b.dir, lockFile), flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(wait, 5*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another process that changes proposals: %w", err)
	}
	defer lock.Close()
	if err := b.recover(ctx); err != nil {
		return fmt.Errorf("completing an earlier change: %w", err)
	}
	return f(ctx)
}

// place implements ground: it decides which folder a changed or new skill goes to.
func (b *Box) place(plan *plan, e *search.Entry, to string) (err error) {
	if e == nil {
		to = cmp.Or(to, b.opts.UserDir)
	}
	switch {
	case e == nil && to == "":
		plan.locked = refuse("%w: no folder for new skills is known; name one with --to", ErrLocked)
		return nil
	case to != "":
		plan.Was = ""
		for name, f := range plan.trial.After {
			plan.trial.After[name] = File{f.Data, shared(f)}
		}
		plan.Folder, err = newFolder(to, plan.trial.Name)
		return err
	}
	plan.Folder, _ = folderOf(e) // Locked says why not
	plan.locked = b.Locked(e)
	if plan.locked != nil {
		plan.notes = append(plan.notes, plan.locked.Error())
	}
	if b.isInstalled(plan.Folder) {
		plan.notes = append(plan.notes, "the skill is installed: once it is changed, \"skills update --verify\" reports it, and an update asks about it")
	}
	return nil
}

// carryOut implements ground: it changes the folder.
func (b *Box) carryOut(ctx context.Context, plan *plan, r *record, who Who, o Approval) (Proposal, error) {
	plan.Who, plan.Why, plan.Reason = who.Name, firstLine(r.Justification), o.Reason
	if err := b.change(ctx, &plan.action, plan.before(), plan.trial.After); err != nil {
		return r.Proposal, err
	}
	return readInfo(filepath.Join(b.dir, decided, r.ID))
}

// newFolder returns the path of a folder that is to be made in another one.
func newFolder(to, name string) (string, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(regular.Real(to), name)
	if _, err := os.Lstat(folder); err == nil {
		return "", fmt.Errorf("%w: %w; name another folder with --to", ErrLocked, &fs.PathError{Op: "making", Path: folder, Err: fs.ErrExist})
	}
	return folder, nil
}

// Locked says why a skill cannot be changed where it is, so that a proposal has to go to
// another folder; nil means that it can.
func (b *Box) Locked(e *search.Entry) error {
	folder, err := folderOf(e)
	return cmp.Or(b.mayChange(e, folder), err)
}

// mayChange reports why a skill must not be changed where it is.
func (b *Box) mayChange(e *search.Entry, folder string) error {
	kind := ""
	if src, err := b.source(e.Source); err == nil {
		kind = src.Info().Kind
	}
	switch {
	case kind == source.KindBundled:
		return refuse("%w: %s is compiled in; --to makes a changed copy in a folder of yours", ErrLocked, e.ID)
	case folder == "":
		return nil
	case isBelow(folder, b.opts.Fetched...):
		return refuse("%w: %s is fetched from elsewhere, and the next fetch would undo the change; --to makes a changed copy in a folder of yours", ErrLocked, e.ID)
	}
	return nil
}

func (b *Box) isInstalled(folder string) bool {
	if folder == "" || b.opts.Installed == "" || !isBelow(folder, b.opts.Installed) {
		return false
	}
	_, err := os.Lstat(filepath.Join(b.opts.Installed, "skills.lock"))
	return err == nil
}

// before returns the files in the folder that is changed; nil for a new one.
func (p *plan) before() Files {
	if p.Was == "" {
		return nil
	}
	return p.trial.Before
}
