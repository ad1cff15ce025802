package proposal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
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
	To     string // folder in which the skill's folder is made; "" means that of the skill, or Options.UserDir for a new one
	Reason string // for the record; "" means none
	Force  bool   // approve although the check fails

	// Confirm is called with what is about to be made, after the check; false stops it. nil
	// means that nobody is asked.
	Confirm func(Shown) bool
}

// Show returns a proposal. If it waits, Show checks what it would do now.
func (b *Box) Show(ctx context.Context, a *search.Agent, id string) (Shown, error) {
	folder, p, err := b.find(ctx, a, id)
	if err != nil {
		return Shown{}, err
	}
	s := Shown{Proposal: p}
	if err := s.readTexts(folder); err != nil || p.State != StateOpen {
		return s, err
	}
	plan, err := b.plan(ctx, a, folder, &p, "")
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

// readTexts reads the texts of the proposal in a folder.
func (s *Shown) readTexts(folder string) error {
	for name, text := range map[string]*string{whyFile: &s.Justification, proofFile: &s.Evidence, diffFile: &s.Diff} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		*text = string(data)
	}
	if s.Kind == KindNew {
		files, err := readKept(filepath.Join(folder, filesDir))
		if err != nil {
			return err
		}
		s.Diff = unified(nil, files)
	}
	return nil
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
func (b *Box) plan(ctx context.Context, a *search.Agent, folder string, p *Proposal, to string) (*plan, error) {
	if p.Kind == KindNew {
		return b.planNew(ctx, a, folder, p, to)
	}
	e, err := b.catalog.Lookup(ctx, p.Skill, a)
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
	base, err := readKept(filepath.Join(folder, baseDir))
	if err != nil {
		return nil, err
	}
	diff, err := os.ReadFile(filepath.Join(folder, diffFile))
	if err != nil {
		return nil, err
	}
	changes, err := parseDiff(string(diff), true)
	if err != nil {
		return nil, err
	}
	proposed, err := apply(base, changes, "", true)
	if err != nil {
		return nil, err
	}
	after, err := merge3(base, now, proposed)
	if err != nil {
		return nil, err
	}
	name := folderName(&e)
	if err := valid(now, after, name); err != nil {
		return nil, err
	}
	plan := &plan{moved: digest != p.Base, trial: Trial{Name: name, Source: e.Source, Dir: e.Dir(), Before: now, After: after}}
	plan.action = action{Skill: e.Name, Proposal: p.ID, swap: swap{Was: digest}}
	return plan, b.place(plan, &e, to)
}

// place decides which folder a changed skill goes to.
func (b *Box) place(plan *plan, e *search.Entry, to string) (err error) {
	if to != "" {
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

// planNew works out where a new skill goes.
func (b *Box) planNew(ctx context.Context, a *search.Agent, folder string, p *Proposal, to string) (*plan, error) {
	files, err := readKept(filepath.Join(folder, filesDir))
	if err != nil {
		return nil, err
	}
	if files, err = cleanFiles(files); err != nil { // a person may have edited them
		return nil, err
	}
	for name, f := range files {
		files[name] = File{f.Data, shared(f)}
	}
	if err := valid(nil, files, p.Skill); err != nil {
		return nil, err
	}
	plan := &plan{trial: Trial{Name: p.Skill, Dir: p.Skill, After: files}}
	plan.action = action{Skill: p.Skill, Proposal: p.ID}
	if _, err := b.catalog.Lookup(ctx, p.Skill, a); err == nil {
		plan.notes = append(plan.notes, fmt.Sprintf("there is a skill %s by now: only one of the two is offered", p.Skill))
	}
	if to = cmp.Or(to, b.opts.UserDir); to == "" {
		plan.locked = refuse("%w: no folder for new skills is known; name one with --to", ErrLocked)
		return plan, nil
	}
	plan.Folder, err = newFolder(to, p.Skill)
	return plan, err
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

// check says what a change does to a skill: findings that it did not have, and its prompts.
func (b *Box) check(ctx context.Context, plan *plan) (*Checked, error) {
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
// version. It fails with a *ConflictError if the skill was changed where the proposal changes
// it, with ErrLocked if the skill must stay as it is, and with ErrFails if the check fails.
// An agent cannot approve its own proposals.
func (b *Box) Approve(ctx context.Context, who Who, id string, o Approval) (s Shown, err error) {
	folder, p, plan, err := b.planned(ctx, who, id, o.To)
	if err != nil {
		return s, err
	}
	s = Shown{Proposal: p, Moved: plan.moved, Notes: plan.notes}
	if err := s.readTexts(folder); err != nil {
		return s, err
	}
	// Check without the lock: it may take long.
	if s.Check, err = b.check(ctx, plan); err != nil {
		return s, err
	}
	if !s.Check.OK && !o.Force {
		return s, refuse("%w: \"skills proposals show %s\" says why", ErrFails, p.ID)
	}
	if o.Confirm != nil && !o.Confirm(s) {
		return s, ErrDeclined
	}
	err = b.locked(ctx, func(ctx context.Context) error {
		_, _, again, err := b.planned(ctx, who, id, o.To)
		if err != nil {
			return err
		}
		if again.Was != plan.Was || len(changed(again.trial.After, plan.trial.After)) > 0 {
			return refusal{source.ErrChanged}
		}
		again.Who, again.Why, again.Reason = who.Name, firstLine(s.Justification), o.Reason
		if err := b.change(ctx, &again.action, again.before(), again.trial.After); err != nil {
			return err
		}
		s.Proposal, err = read(filepath.Join(b.dir, decided, p.ID))
		return err
	})
	return s, err
}

// planned returns the plan of a proposal that somebody may approve.
func (b *Box) planned(ctx context.Context, who Who, id, to string) (folder string, p Proposal, plan *plan, err error) {
	if folder, p, err = b.toDecide(ctx, who, id); err != nil {
		return folder, p, nil, err
	}
	if plan, err = b.plan(ctx, who.Agent, folder, &p, to); err == nil {
		err = plan.locked
	}
	return folder, p, plan, err
}

// before returns the files in the folder that is changed; nil for a new one.
func (p *plan) before() Files {
	if p.Was == "" {
		return nil
	}
	return p.trial.Before
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
func (b *Box) toDecide(ctx context.Context, who Who, id string) (string, Proposal, error) {
	folder, p, err := b.find(ctx, who.Agent, id)
	switch {
	case err != nil:
	case p.State != StateOpen:
		err = refuse("the proposal %s is %s already", p.ID, p.State)
	case who.Agent != nil && p.Agent == who.Name:
		err = refuse("%s made the proposal %s itself; somebody else must decide on it", who.Name, p.ID)
	}
	return folder, p, err
}

// Reject keeps a proposal that waits as rejected, with the reason.
func (b *Box) Reject(ctx context.Context, who Who, id, reason string) (p Proposal, err error) {
	err = b.locked(ctx, func(ctx context.Context) error {
		_, found, err := b.toDecide(ctx, who, id)
		if err != nil {
			return err
		}
		if strings.TrimSpace(reason) == "" || len(reason) > maxJustification {
			return refuse("a reason is needed, of at most %d bytes: whoever proposed it learns from it", maxJustification)
		}
		p = found
		return b.close(&p, StateRejected, who.Name, reason)
	})
	return p, err
}

// close writes how a proposal was decided on, and moves it.
func (b *Box) close(p *Proposal, s State, by, reason string) error {
	p.State, p.By, p.Reason, p.Decided = s, by, reason, b.now()
	folder := filepath.Join(b.dir, waiting, p.ID)
	if err := writeYAML(filepath.Join(folder, infoFile), p); err != nil {
		return err
	}
	return os.Rename(folder, filepath.Join(b.dir, decided, p.ID))
}
