package proposal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Shown is a proposal with its text.
type Shown struct {
	Proposal
	Justification string   `json:"justification"`
	Evidence      string   `json:"evidence,omitempty"`
	Diff          string   `json:"diff"`               // against the skill as it was; of a new skill, all of it
	Conflict      string   `json:"conflict,omitempty"` // why it does not fit the skill as it is now
	Moved         bool     `json:"moved,omitempty"`    // the skill was changed since, and the proposal still fits
	Notes         []string `json:"notes,omitempty"`    // what to know before it is approved
	Check         *Checked `json:"check,omitempty"`    // nil for a proposal that does not wait, or does not fit
}

// An Approval says where an approved proposal goes, and what stands in its way no longer.
type Approval struct {
	// To is where the skill's folder is made: a folder or, of a shared catalog, the label of a root for a
	// new skill. "" means where the skill is; for a new one, Options.UserDir or the only root.
	To     string
	Reason string // for the record; "" means none
	Force  bool   // approve although the check fails

	// Confirm is called with what is about to be made, after the check; false stops it. nil
	// means that nobody is asked.
	Confirm func(Shown) bool
}

// Show returns a proposal. If it waits, Show checks what it would do now.
func (b *inbox) Show(ctx context.Context, a *search.Agent, id string) (Shown, error) {
	r, err := b.find(ctx, a, id)
	s := r.shown()
	if err != nil || r.State != StateOpen {
		return s, err
	}
	plan, err := b.plan(ctx, a, &r, "")
	if err != nil {
		if ctx.Err() != nil {
			return s, err
		}
		s.Conflict = err.Error()
		return s, nil
	}
	s.Moved, s.Notes = plan.moved, plan.notes
	s.Check, err = b.check(ctx, plan)
	return s, err
}

// A plan is what approving a proposal would do.
type plan struct {
	action
	trial  Trial
	moved  bool // the skill is not what the proposal was made for
	notes  []string
	locked error // why the skill cannot be changed where it is
}

// plan works out what approving a proposal does now. to is Approval.To.
func (b *inbox) plan(ctx context.Context, a *search.Agent, r *record, to string) (*plan, error) {
	if r.Kind == KindNew {
		return b.planNew(ctx, a, r, to)
	}
	e, err := b.catalog.Lookup(ctx, r.Skill, a)
	if err != nil {
		if _, held := errors.AsType[*search.HeldError](err); !held {
			err = fmt.Errorf("the skill is gone: %w", err)
		}
		return nil, err
	}
	now, digest, err := b.current(ctx, &e)
	if err != nil {
		return nil, fmt.Errorf("reading skill %s: %w", e.ID, err)
	}
	name := folderName(e.Dir(), e.Name)
	after, err := r.onto(now, name)
	if err != nil {
		return nil, err
	}
	plan := &plan{moved: digest != r.Base, trial: Trial{Name: name, Source: e.Source, Dir: e.Dir(), Before: now, After: after}}
	plan.action = action{Skill: e.Name, Proposal: r.ID, swap: swap{Was: digest}}
	return plan, b.ground.place(plan, &e, to)
}

// onto returns the files of a skill with the change of a proposal. now are its files, and name
// is the name of its folder; now is nil for a new skill.
func (r *record) onto(now Files, name string) (Files, error) {
	if r.Kind == KindNew {
		files, err := cleanFiles(r.Files) // a person may have edited them
		for name, f := range files {
			files[name] = File{f.Data, shared(f)}
		}
		if err == nil {
			err = valid(nil, files, r.Skill)
		}
		return files, err
	}
	changes, err := parseDiff(r.Diff, true)
	if err != nil {
		return nil, err
	}
	proposed, err := apply(r.Files, changes, "", true)
	if err != nil {
		return nil, err
	}
	after, err := merge3(r.Files, now, proposed)
	if err == nil {
		err = valid(now, after, name)
	}
	return after, err
}

// planNew works out where a new skill goes.
func (b *inbox) planNew(ctx context.Context, a *search.Agent, r *record, to string) (*plan, error) {
	files, err := r.onto(nil, r.Skill)
	if err != nil {
		return nil, err
	}
	plan := &plan{trial: Trial{Name: r.Skill, Dir: r.Skill, After: files}}
	plan.action = action{Skill: r.Skill, Proposal: r.ID}
	if _, err := b.catalog.Lookup(ctx, r.Skill, a); err == nil {
		plan.notes = append(plan.notes, fmt.Sprintf("there is a skill %s by now: only one of the two is offered", r.Skill))
	}
	return plan, b.ground.place(plan, nil, to)
}

// check says what a change does to a skill: findings that it did not have, and its prompts.
func (b *inbox) check(ctx context.Context, plan *plan) (*Checked, error) {
	c := Checked{OK: true, Findings: []skill.Problem{}}
	if b.opts.Check != nil {
		var err error
		if c, err = b.opts.Check(ctx, plan.trial); err != nil {
			return nil, fmt.Errorf("checking the change: %w", err)
		}
	}
	return &c, nil
}

// Approve makes the change of a proposal that waits, all of it or nothing, and keeps the
// version; of a shared catalog it only says that the change is to be made, see Shared.Apply.
// It fails with a *ConflictError if the skill was changed where the proposal changes
// it, with ErrLocked if the skill must stay as it is, and with ErrFails if the check fails.
// An agent cannot approve its own proposals.
func (b *inbox) Approve(ctx context.Context, who Who, id string, o Approval) (s Shown, err error) {
	r, plan, err := b.planned(ctx, who, id, o.To)
	if err != nil {
		return s, err
	}
	s = r.shown()
	s.Moved, s.Notes = plan.moved, plan.notes
	// Check without the lock: it may take long.
	if s.Check, err = b.check(ctx, plan); err != nil {
		return s, err
	}
	if !s.Check.OK && !o.Force {
		return s, refuse("%w: \"skills proposals show %s\" says why", ErrFails, r.ID)
	}
	if o.Confirm != nil && !o.Confirm(s) {
		return s, ErrDeclined
	}
	err = b.shelf.hold(ctx, func(ctx context.Context) error {
		r, again, err := b.planned(ctx, who, id, o.To)
		if err != nil {
			return err
		}
		if again.Was != plan.Was || len(changed(again.trial.After, plan.trial.After)) > 0 {
			return refusal{source.ErrChanged}
		}
		s.Proposal, err = b.ground.carryOut(ctx, again, &r, who, o)
		return err
	})
	return s, err
}

// planned returns the plan of a proposal that somebody may approve.
func (b *inbox) planned(ctx context.Context, who Who, id, to string) (r record, plan *plan, err error) {
	if r, err = b.toDecide(ctx, who, id); err != nil {
		return r, nil, err
	}
	if r.State != StateOpen {
		return r, nil, refuse("the proposal %s is %s already", r.ID, r.State)
	}
	if plan, err = b.plan(ctx, who.Agent, &r, to); err == nil {
		err = plan.locked
	}
	return r, plan, err
}

// firstLine returns the first line of a text that says something.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "# ")); line != "" {
			return line
		}
	}
	return ""
}

// toDecide returns a proposal on which somebody may decide.
func (b *inbox) toDecide(ctx context.Context, who Who, id string) (record, error) {
	r, err := b.find(ctx, who.Agent, id)
	switch {
	case err != nil:
	case !r.Pending():
		err = refuse("the proposal %s is %s already", r.ID, r.State)
	case who.Agent != nil && r.Agent == who.Name:
		err = refuse("%s made the proposal %s itself; somebody else must decide on it", who.Name, r.ID)
	}
	return r, err
}

// Reject keeps a proposal as rejected, with the reason: one that waits, or one that is approved in a
// shared catalog and not applied, for instance because it does not fit any more.
func (b *inbox) Reject(ctx context.Context, who Who, id, reason string) (p Proposal, err error) {
	err = b.shelf.hold(ctx, func(ctx context.Context) error {
		r, err := b.toDecide(ctx, who, id)
		if err != nil {
			return err
		}
		if strings.TrimSpace(reason) == "" || len(reason) > maxJustification {
			return refuse("a reason is needed, of at most %d bytes: whoever proposed it learns from it", maxJustification)
		}
		p = r.Proposal
		p.decided(StateRejected, who.Name, reason, b.now())
		return b.shelf.decide(ctx, &p)
	})
	return p, err
}

// decided sets how a proposal was decided on.
func (p *Proposal) decided(s State, by, reason string, at time.Time) {
	p.State, p.By, p.Reason, p.Decided = s, by, reason, at
}
