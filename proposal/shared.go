package proposal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// Shared holds the proposals of a catalog that several machines share. Anybody who reaches the
// catalog may propose and, where they may, decide. An approved change is made by Apply where
// the skill comes from; the next push brings it to all machines.
type Shared struct {
	inbox
	kept engine
}

// OpenShared returns the proposals that an engine keeps. Of the options it needs Sources and
// Check.
func OpenShared(st store.Proposals, c Catalog, o *Options) *Shared {
	s := &Shared{kept: engine{st}}
	s.inbox = newInbox(c, o, s.kept, s)
	return s
}

// place implements ground: a change goes to where the skill comes from, a new skill to the
// root with the label to, or to the only one.
func (s *Shared) place(plan *plan, e *search.Entry, to string) error {
	if e != nil {
		if to != "" {
			return refuse("%w: it goes to where the skill comes from, so it takes no --to", ErrLocked)
		}
		return ofSkill(plan.trial.Dir, plan.trial.Before, plan.trial.After)
	}
	var labels []string
	for _, src := range s.opts.Sources() {
		labels = append(labels, src.Info().Label)
	}
	switch {
	case to == "" && len(labels) == 1:
		to = labels[0]
	case to == "":
		plan.locked = refuse("%w: name the root for the new skill with --to; %s", ErrLocked, words.ThereAre(labels))
	case !slices.Contains(labels, to):
		plan.locked = refuse("%w: no root %q%s", ErrLocked, to, words.Suggest(to, labels))
	}
	plan.trial.Source = to
	return nil
}

// carryOut implements ground: it notes that the change is to be made.
func (s *Shared) carryOut(ctx context.Context, plan *plan, r *record, who Who, o Approval) (Proposal, error) {
	p := r.Proposal
	p.decided(StateApproved, who.Name, o.Reason, s.now())
	p.Source, p.Dir = plan.trial.Source, plan.trial.Dir // as it is now
	var err error
	if p.Digest, err = plan.trial.After.digest(ctx); err != nil {
		return r.Proposal, err
	}
	if err := s.shelf.decide(ctx, &p); err != nil {
		return r.Proposal, err
	}
	return p, nil
}

// digest returns the digest of a skill with these files.
func (f Files) digest(ctx context.Context) (string, error) {
	texts := make(map[string]string)
	for name, file := range f {
		texts[name] = string(file.Data)
	}
	src, err := source.Files(texts, &source.Options{Single: true})
	if err != nil {
		return "", err
	}
	m, err := source.ReadManifest(ctx, src, ".")
	return m.Digest, err
}

// History returns the approved changes of a skill, the oldest first.
func (s *Shared) History(ctx context.Context, a *search.Agent, id string) (Log, error) {
	e, err := s.catalog.Lookup(ctx, id, a)
	if err != nil {
		return Log{}, err
	}
	log := Log{Skill: e.Name}
	list, err := s.shelf.list(ctx, func(_ string, waits bool) bool { return !waits })
	if list == nil { // a damaged one, which List reports, stops no other
		return log, err
	}
	slices.SortStableFunc(list, func(a, b Proposal) int { return a.Decided.Compare(b.Decided) })
	for _, p := range list {
		if p.State == StateApproved && p.Skill == e.ID && p.Source == e.Source {
			log.Versions = append(log.Versions, Version{Number: len(log.Versions) + 1, Time: p.Decided, Who: p.By, Why: p.Why, Digest: p.Digest, Proposal: p.ID})
		}
	}
	return log, nil
}

// Change returns what an approved change of a skill changes, as a unified diff.
func (s *Shared) Change(ctx context.Context, a *search.Agent, id, version string) (v Version, diff string, err error) {
	log, err := s.History(ctx, a, id)
	if err != nil {
		return v, "", err
	}
	n, _ := strconv.Atoi(version) // 0 is no version
	if n < 1 || n > len(log.Versions) {
		return v, "", refuse("no version %q of %s; it has %d", version, log.Skill, len(log.Versions))
	}
	v = log.Versions[n-1]
	r, err := s.shelf.read(ctx, v.Proposal)
	return v, r.shown().Diff, err
}

// A Target is where the skills of one root come from.
type Target interface {
	// Read returns the files of the skill in a folder of the root; none if there is none.
	Read(ctx context.Context, dir string) (Files, error)
	// Commit makes a change, and says where it is, for people.
	Commit(ctx context.Context, c *Commit) (where string, err error)
}

// A Commit is an approved change, with what is to be said about it.
type Commit struct {
	Proposal
	Justification string
	Before, After Files // of the skill; a new one has none before
}

// Changed returns the names of the files that differ, sorted. Modes stay: a script that is there is one.
func (c *Commit) Changed() []string { return changed(c.Before, c.After) }

// Find returns the proposal with an ID, which may be cut short.
func (s *Shared) Find(ctx context.Context, id string) (Proposal, error) {
	r, err := s.find(ctx, nil, id)
	return r.Proposal, err
}

// Apply makes an approved change where its skill comes from, and notes that it did. again does
// so although it is noted already. Apply fails with a *ConflictError if the skill was changed there
// where the proposal changes it.
func (s *Shared) Apply(ctx context.Context, id string, to Target, again bool) (Proposal, error) {
	r, err := s.find(ctx, nil, id)
	if err != nil {
		return r.Proposal, err
	}
	c, err := r.commit(ctx, again, to.Read)
	where := "the last commit, which has it already" // by a patch, or by a process that was killed
	if err == nil {
		where, err = to.Commit(ctx, c)
	} else if errors.Is(err, errMade) {
		err = nil
	}
	if err != nil {
		return c.Proposal, err
	}
	return s.kept.change(ctx, c.ID, func(p *Proposal) error {
		if p.State != StateApproved {
			return refuse("the proposal %s was %s meanwhile; its change is in %s", p.ID, p.State, where)
		}
		p.Where, p.Applied = where, s.now()
		return nil
	})
}

// Patch returns an approved change as a text that "git am" and "patch" take. Its paths begin in the folder
// of the root. It fits the skill as the catalog has it.
func (s *Shared) Patch(ctx context.Context, id string) (string, error) {
	r, err := s.find(ctx, nil, id)
	if err != nil {
		return "", err
	}
	c, err := r.commit(ctx, true, func(ctx context.Context, dir string) (Files, error) {
		src, err := s.source(r.Source)
		if err != nil {
			return nil, err
		}
		files, _, err := readSkill(ctx, src, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return files, err
	})
	if err != nil {
		return "", err
	}
	return c.patch()
}

// commit returns what is to be committed for an approved proposal, of which read returns the
// files as they are now.
func (r *record) commit(ctx context.Context, again bool, read func(context.Context, string) (Files, error)) (c *Commit, err error) {
	c = &Commit{Proposal: r.Proposal, Justification: r.Justification}
	switch {
	case r.State != StateApproved:
		return c, refuse("the proposal %s is %s, not approved", r.ID, r.State)
	case !r.Applied.IsZero() && !again:
		return c, refuse("the proposal %s is applied already: %s", r.ID, r.Where)
	}
	if c.Before, err = read(ctx, c.Dir); err != nil {
		return c, err
	}
	if _, noSkill := c.Before.Parse(r.Skill); r.Kind == KindUpdate && noSkill != nil {
		return c, refuse("%s has no skill in %s: it was moved or removed since, or is not committed", r.Source, c.Dir)
	}
	if c.After, err = r.onto(c.Before, folderName(c.Dir, r.Skill)); err != nil {
		return c, err
	}
	switch {
	case len(changed(c.Before, c.After)) == 0:
		return c, refuse("%s %w of %s", r.Source, errMade, r.ID)
	case r.Kind == KindNew && len(c.Before) > 0:
		return c, refuse("%s has a folder %s by now", r.Source, c.Dir)
	}
	return c, ofSkill(c.Dir, c.Before, c.After)
}

// errMade means that nothing is left to change.
var errMade = errors.New("has the change already")

// ofSkill refuses a change of a skill at the top of its root that makes another skill, or changes what is
// the repository's, such as .github.
func ofSkill(dir string, before, after Files) error {
	for _, name := range changed(before, after) {
		if dir == "." && (strings.HasPrefix(name, ".") || strings.Contains(name, "/") && slices.Contains(skill.FileNames, path.Base(name))) {
			return refuse("%w: the skill is its whole root, and %s is no part of it", ErrLocked, name)
		}
	}
	return nil
}

// Message returns what a commit says: why, and who proposed and approved it. What they wrote is quoted,
// so that none of its lines looks like one of ours, or like a change in a patch.
func (c *Commit) Message() string {
	var b strings.Builder
	what := "Change the skill"
	if c.Kind == KindNew {
		what = "Add the skill"
	}
	fmt.Fprintf(&b, "%s %s\n\n", what, tidy.Line(c.Skill))
	quote := func(text string) {
		for line := range strings.Lines(tidy.Visible(strings.TrimSpace(text))) {
			fmt.Fprintf(&b, "> %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	quote(c.Justification)
	if c.Reason != "" {
		b.WriteString("\nApproved because:\n")
		quote(c.Reason)
	}
	fmt.Fprintf(&b, "\nProposal: %s\nProposed-by: %s\nApproved-by: %s\n", c.ID, cmp.Or(tidy.Line(c.Agent), "unknown"), cmp.Or(tidy.Line(c.By), "unknown"))
	return b.String()
}

// patch returns the change as a text that "git am" takes.
func (c *Commit) patch() (string, error) {
	diff := unified(c.Dir, c.Before, c.After)
	for _, name := range c.Changed() {
		if source.IsBinary(c.Before[name].Data) || source.IsBinary(c.After[name].Data) || strings.ContainsAny(path.Join(c.Dir, name), "\"\\\n\r\t") {
			return "", refuse("a patch cannot hold the change of %q; \"skills proposals apply\" makes a branch", name)
		}
	}
	subject, body, _ := strings.Cut(c.Message(), "\n")
	return fmt.Sprintf("From %040d Mon Sep 17 00:00:00 2001\nFrom: Repertoire <%s@proposals.invalid>\nDate: %s\nSubject: [PATCH] %s\n%s---\n\n%s",
		0, c.ID, c.Decided.Format(time.RFC1123Z), subject, body, diff), nil
}

// An engine is a shelf in the engine of a shared catalog.
type engine struct{ store.Proposals }

// hold implements shelf. It holds nobody: change finds out that somebody else was faster, and a few
// who propose at once may pass the bounds.
func (engine) hold(ctx context.Context, f func(context.Context) error) error { return f(ctx) }

func (e engine) list(ctx context.Context, want func(id string, waits bool) bool) (list []Proposal, err error) {
	all, err := e.Proposals.Proposals(ctx)
	if err != nil {
		return nil, err
	}
	list = []Proposal{}
	var errs []error
	for _, kept := range all {
		if !isID(kept.ID) || !want(kept.ID, kept.Waits) {
			continue
		}
		p, err := infoOf(&kept)
		if err == nil {
			list = append(list, p)
		} else if len(errs) < maxDamaged {
			errs = append(errs, err)
		}
	}
	return list, errors.Join(errs...)
}

const maxDamaged = 5 // proposals that an error names

func infoOf(kept *store.Proposal) (p Proposal, err error) {
	if err = json.Unmarshal(kept.Info, &p); err == nil {
		err = p.damage(kept)
	}
	if err != nil {
		err = fmt.Errorf("reading the proposal %s: %w", kept.ID, err)
	}
	return p, err
}

// damage says why a proposal is none that this package writes: whoever may write to the database may have
// written it, and what is approved goes to a repository.
func (p *Proposal) damage(kept *store.Proposal) error {
	switch {
	case p.ID != kept.ID || !isID(p.ID):
		return fmt.Errorf("its id is %q", p.ID)
	case kept.Waits != (p.State == StateOpen) || !slices.Contains([]State{StateOpen, StateApproved, StateRejected}, p.State):
		return fmt.Errorf("it is %q", p.State)
	case p.Kind == KindNew && p.Dir == p.Skill && skill.IsPortableName(p.Skill), p.Kind == KindUpdate && fs.ValidPath(p.Dir):
		return nil
	}
	return fmt.Errorf("it is of the kind %q, for the folder %q", p.Kind, p.Dir)
}

func (e engine) read(ctx context.Context, id string) (r record, err error) {
	kept, err := e.Proposal(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = refuse("%w: %q", ErrNotFound, id)
	}
	if err != nil {
		return r, err
	}
	if r.Proposal, err = infoOf(&kept); err == nil {
		err = json.Unmarshal(kept.Text, &r.sheet)
	}
	return r, err
}

func (e engine) add(ctx context.Context, r *record) error {
	info, err1 := json.Marshal(&r.Proposal)
	text, err2 := json.Marshal(&r.sheet)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	err := e.AddProposal(ctx, store.Proposal{ID: r.ID, Waits: true, Info: info, Text: text})
	if errors.Is(err, fs.ErrExist) { // another node got the same in the same second
		err = nil
	}
	return err
}

func (e engine) decide(ctx context.Context, p *Proposal) error {
	_, err := e.change(ctx, p.ID, func(now *Proposal) error {
		if now.State != StateOpen && (p.State != StateRejected || !now.Pending()) {
			return refuse("the proposal %s is %s already", p.ID, now.State)
		}
		*now = *p
		return nil
	})
	return err
}

// change replaces what is known of a proposal, unless somebody else does at once.
func (e engine) change(ctx context.Context, id string, change func(*Proposal) error) (p Proposal, err error) {
	kept, err := e.Proposal(ctx, id)
	if err != nil {
		return p, err
	}
	was := kept.Info
	if p, err = infoOf(&kept); err == nil {
		err = change(&p)
	}
	if err == nil {
		kept.Info, err = json.Marshal(&p)
	}
	if err != nil {
		return p, err
	}
	kept.Waits = p.State == StateOpen
	err = e.SetProposal(ctx, kept, was)
	if errors.Is(err, store.ErrStale) {
		err = refuse("somebody else has changed the proposal %s just now; look at it again", id)
	}
	return p, err
}
