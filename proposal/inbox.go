package proposal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Desk is where changes of skills are proposed and decided on: a *Box of a user, or the
// *Shared one of a catalog that several machines share. Only Approve and Reject decide.
type Desk interface {
	ProposeUpdate(ctx context.Context, who Who, c Change) (Proposal, error)
	ProposeNew(ctx context.Context, who Who, n Addition) (Proposal, error)
	List(ctx context.Context, a *search.Agent, all bool) ([]Proposal, error)
	Show(ctx context.Context, a *search.Agent, id string) (Shown, error)
	Approve(ctx context.Context, who Who, id string, o Approval) (Shown, error)
	Reject(ctx context.Context, who Who, id, reason string) (Proposal, error)
	History(ctx context.Context, a *search.Agent, id string) (Log, error)
	Change(ctx context.Context, a *search.Agent, id, version string) (Version, string, error)
}

// A record is a whole proposal, as it is kept.
type record struct {
	Proposal
	sheet
}

// A sheet is what of a record does not change.
type sheet struct {
	Justification string `json:"justification"`
	Evidence      string `json:"evidence,omitempty"`
	Diff          string `json:"diff,omitempty"`  // of a change, see unified
	Files         Files  `json:"files,omitempty"` // of a new skill; of a change, those that it changes, as they were
}

// shown returns the proposal with its text.
func (r *record) shown() Shown {
	s := Shown{Proposal: r.Proposal, Justification: r.Justification, Evidence: r.Evidence, Diff: r.Diff}
	if r.Kind == KindNew {
		s.Diff = unified("", nil, r.Files)
	}
	return s
}

// A shelf keeps proposals. Several processes may use the same one.
type shelf interface {
	// hold calls f while no other process adds or decides, as far as that can be had.
	hold(ctx context.Context, f func(context.Context) error) error
	// list returns the proposals that are wanted, the oldest first. want is asked about each,
	// whether it waits or not. What cannot be read is the error; the others are listed all
	// the same. The list is nil only if nobody knows which there are.
	list(ctx context.Context, want func(id string, waits bool) bool) ([]Proposal, error)
	// read returns a whole proposal; if there is none, the error wraps ErrNotFound.
	read(ctx context.Context, id string) (record, error)
	// add adds a proposal that waits.
	add(ctx context.Context, r *record) error
	// decide replaces what is known of a proposal that waits.
	decide(ctx context.Context, p *Proposal) error
}

// A ground is where the skills are that proposals change.
type ground interface {
	// place completes a plan with where the change goes. e is nil for a new skill, and to is
	// Approval.To.
	place(p *plan, e *search.Entry, to string) error
	// carryOut does what approving a proposal means, and returns it as it is decided. The
	// shelf is held.
	carryOut(ctx context.Context, p *plan, r *record, who Who, o Approval) (Proposal, error)
}

// An inbox is what all desks have in common.
type inbox struct {
	shelf   shelf
	ground  ground
	catalog Catalog
	opts    Options
}

func newInbox(c Catalog, o *Options, s shelf, g ground) inbox {
	b := inbox{s, g, c, *cmp.Or(o, new(Options))}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	if b.opts.Sources == nil {
		b.opts.Sources = func() []source.Source { return nil }
	}
	return b
}

func (b *inbox) now() time.Time { return b.opts.Now().UTC().Truncate(time.Second) }

// An ID is the time in seconds in base 36, which sorts, and six digits of a digest
// of what is proposed, which are the same if that is proposed again.
const (
	idTime = 7
	idSum  = 6
	idLen  = idTime + len("-") + idSum
)

func isID(s string) bool {
	if len(s) != idLen || s[idTime] != '-' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-' }) < 0
}

// List returns the proposals that an agent may see, the oldest first: those that wait, or all.
// What cannot be read is the error; the others are listed all the same. A nil list means that none
// can be read, such as while a database is away.
func (b *inbox) List(ctx context.Context, a *search.Agent, all bool) ([]Proposal, error) {
	list, err := b.shelf.list(ctx, func(_ string, waits bool) bool { return all || waits })
	return slices.DeleteFunc(list, func(p Proposal) bool { return !b.sees(ctx, a, &p) }), err
}

// sees reports whether a proposal exists for an agent: the skill is in its scope, or would be.
func (b *inbox) sees(ctx context.Context, a *search.Agent, p *Proposal) bool {
	if a == nil {
		return true
	}
	if p.Kind == KindUpdate {
		e, err := b.catalog.Lookup(ctx, p.Skill, a)
		// The agent may see another skill of that name, which is not the one that is quoted.
		return err == nil && (e.Source == p.Source || e.Digest == p.Base)
	}
	r, err := b.shelf.read(ctx, p.ID)
	if err != nil {
		return false
	}
	s, err := r.Files.Parse(p.Skill)
	return err == nil && a.Admits(p.Skill, s.Tags)
}

// find returns a proposal that an agent may see. id may be the start of an ID that no other one
// that waits has; if none that waits has it, that no other has. An agent needs the whole ID:
// how many begin alike tells of proposals that it may not see.
func (b *inbox) find(ctx context.Context, a *search.Agent, id string) (r record, err error) {
	if !isID(id) { // most are whole: then there is no need to look at all others
		if a != nil {
			return r, refuse("%w: %q", ErrNotFound, id)
		}
		if id, err = b.wholeID(ctx, id); err != nil {
			return r, err
		}
	}
	r, err = b.shelf.read(ctx, id)
	if err == nil && !b.sees(ctx, a, &r.Proposal) {
		err = refuse("%w: %q", ErrNotFound, id)
	}
	return r, err
}

// wholeID returns the ID that begins so, see find.
func (b *inbox) wholeID(ctx context.Context, start string) (string, error) {
	var wait, others []string
	_, err := b.shelf.list(ctx, func(id string, waits bool) bool {
		switch {
		case start == "" || !strings.HasPrefix(id, start):
		case waits:
			wait = append(wait, id)
		default:
			others = append(others, id)
		}
		return false
	})
	if err != nil {
		return "", err
	}
	if len(wait) == 0 {
		wait = others
	}
	switch len(wait) {
	case 0:
		return "", refuse("%w: %q", ErrNotFound, start)
	case 1:
		return wait[0], nil
	}
	return "", refuse("%w: %q is the start of %d proposals", ErrNotFound, start, len(wait))
}

// source returns the source of the catalog with a label.
func (b *inbox) source(label string) (source.Source, error) {
	for _, s := range b.opts.Sources() {
		if s.Info().Label == label {
			return s, nil
		}
	}
	return nil, fmt.Errorf("source %s is not open", label)
}

// Parse parses the SKILL.md among the files, as if it were in a folder of that name.
func (f Files) Parse(name string) (*skill.Skill, error) {
	for _, file := range skill.FileNames {
		if text, ok := f[file]; ok {
			return skill.ParseBytes(text.Data, name+"/"+file, "")
		}
	}
	return nil, fmt.Errorf("no %s", skill.FileNames[0])
}
