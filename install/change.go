package install

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/repertoire-skills/repertoire/skill"
)

// An Action is what is done about one skill.
type Action string

// The actions.
const (
	Add       Action = "add"       // it is new
	Replace   Action = "replace"   // it takes the place of another skill of its name
	Update    Action = "update"    // its source has another version
	Remove    Action = "remove"    // it is removed
	Unchanged Action = "unchanged" // it is installed as the source has it
	Skip      Action = "skip"      // the caller skips it
	Refuse    Action = "refuse"    // it cannot be done, see Change.Reason
)

// A Change is what is done, or would be done, about one skill.
type Change struct {
	Name        string // see Key
	Beside      string // name under which it can be installed beside the skill that has Name; "" means that it cannot
	Action      Action
	Reason      string // why it is refused, or stays as it is; "" if there is nothing to tell
	Description string
	From, To    *Entry          // what is installed, and what will be; nil means nothing
	Files       Files           // how To differs from what is in the folder now
	Edits       Files           // how the folder differs from From: what somebody changed here
	Diff        string          // unified diff of text files from the folder to To
	Binary      []string        // paths of changed files that are no text
	Findings    []skill.Problem // what may be wrong with To
	Kept        string          // where a copy of the edited folder was put; "" means nowhere

	seen map[string]File // what was in the folder when the change was planned
}

// done reports whether the change changes anything.
func (c *Change) does() bool {
	return c.Action == Add || c.Action == Replace || c.Action == Update || c.Action == Remove
}

// unchanged says that what is installed stays.
func (c *Change) unchanged(reason string) {
	c.Action, c.Reason, c.To, c.Findings = Unchanged, reason, nil, nil
}

func (c *Change) refuse(err error) { c.Action, c.Reason = Refuse, err.Error() }

// A Caller answers the questions of an Installer.
type Caller interface {
	// Resolve says what to do about a new skill whose name is taken, with the reason in
	// c.Reason: Skip, Replace if may is true, or Add under another name, which may be c.Beside. An error ends
	// the installation.
	Resolve(ctx context.Context, c *Change, may bool) (a Action, name string, err error)
	// Approve reports whether the changes should be made, of which at least one does
	// something.
	Approve(ctx context.Context, changes []*Change) (bool, error)
}

// A Result says what was done.
type Result struct {
	Source   string // as the lock has it; "" if there are several
	Ref      string
	Commit   string
	Changes  []*Change
	Added    []Added // by an update: skills that are new in repositories
	Approved bool    // the caller approved of the changes, and they were made
}

// Added are skills that a source has now, and did not have when others of it were installed.
type Added struct {
	Source  string   `json:"source"`
	Folders []string `json:"folders"` // slash-separated
}

// Refused returns how many changes were refused.
func (r *Result) Refused() int {
	n := 0
	for _, c := range r.Changes {
		if c.Action == Refuse {
			n++
		}
	}
	return n
}

// explained adds what to do to an error for which that is the same everywhere.
func (in *Installer) explained(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; nothing was changed: make room on the disk of %s, and try again", err, in.dir)
	}
	return err
}

// carryOut asks the caller about changes, and makes them.
func (in *Installer) carryOut(ctx context.Context, s *stage, r *Result, c Caller) error {
	var todo []*Change
	for _, change := range r.Changes {
		if change.does() {
			todo = append(todo, change)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	in.step("ask")
	ok, err := c.Approve(ctx, r.Changes)
	if err != nil || !ok {
		return err
	}
	err = in.locked(ctx, func(l *Lock) error { return in.perform(ctx, l, s, todo) })
	r.Approved = err == nil
	return err
}

// perform makes changes, unless somebody has changed what they are about meanwhile.
func (in *Installer) perform(ctx context.Context, l *Lock, s *stage, todo []*Change) error {
	ops := make([]op, len(todo))
	for i, c := range todo {
		now, err := in.hash(ctx, c.Name)
		if err != nil {
			return err
		}
		if !compare(c.seen, now).Same() || (l.Skills[c.Name] == nil) != (c.From == nil) {
			return fmt.Errorf("%s was changed meanwhile by somebody else; nothing was done, try again", in.folder(c.Name))
		}
		if c.To != nil {
			c.To.Installed = in.opts.Now().UTC().Truncate(1e9)
		}
		ops[i] = op{c.Name, c.To}
	}
	for _, c := range todo {
		if err := in.keep(c); err != nil {
			return err
		}
	}
	return in.commit(l, s, ops)
}
