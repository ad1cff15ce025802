package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/disjoint"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

const reachable = 3 // a skill should be among the first three for its own description

// An asked prompt is one that ought to lead to a skill, and how the skill ranks for it.
type askedPrompt struct {
	text string // "" means the skill's own description
	search.Position
}

// evals returns the first prompts in the files of evals beside a skill, and what is wrong with
// the files.
func (c *contents) evals() (prompts []evals.Prompt, bad []skill.Problem) {
	for _, name := range c.names {
		text, ok := c.text[name]
		if !ok || !skill.IsEvals(name) {
			continue
		}
		list, err := skill.ParseEvals([]byte(text))
		if at, ok := errors.AsType[*skill.EvalsError](err); ok {
			bad = append(bad, skill.Problem{Rule: "evals-unusable", Severity: skill.Warning, Path: c.path(name), Line: at.Line,
				Message: "the evals are not used: " + at.Message, Hint: `correct them; "skills help evals" shows the forms`})
		}
		for i, e := range list {
			if len(prompts) < evals.MaxPrompts {
				prompts = append(prompts, evals.Prompt{ID: fmt.Sprintf("%s#%d", name, i+1), Eval: e})
			}
		}
	}
	return prompts, bad
}

// ask ranks the catalog for the description of a skill, unless it is known how it ranks, and for the prompts
// of its evals.
func ask(ctx context.Context, c *repertoire.Catalog, id string, prompts []evals.Prompt, known *memory) ([]askedPrompt, error) {
	own, err := known.position(ctx, c, id)
	if err != nil {
		return nil, err
	}
	list := []askedPrompt{{"", own}}
	for _, p := range prompts {
		if !p.Trigger {
			continue
		}
		standing, err := c.Owner().Position(ctx, id, p.Prompt)
		if err != nil {
			return nil, err
		}
		list = append(list, askedPrompt{p.Prompt, standing})
	}
	return list, nil
}

// try asks the prompts of the evals of skills in the room of a catalog, and reports those that fail. That
// they cannot be asked is a finding.
func (d *diagnosis) try(ctx context.Context, c *repertoire.Catalog, list []examined) error {
	first := slices.IndexFunc(list, func(e examined) bool { return len(e.Prompts) > 0 })
	if first < 0 {
		return nil
	}
	room, err := evals.Open(ctx, c, evals.Options{})
	if err == nil {
		inParallel(ctx, len(list), func(i int) {
			e := &list[i]
			e.tried, e.err = room.Try(ctx, e.entry.ID, e.Prompts, evals.Levels{})
		})
		for i := range list {
			err = cmp.Or(err, list[i].err)
			d.failing(&list[i].entry, room, list[i].tried)
		}
		err = errors.Join(err, room.Close())
	}
	if err != nil && ctx.Err() == nil {
		d.untried(list[first].entry.Location, err)
	}
	return ctx.Err()
}

// untried reports that prompts of evals could not be asked.
func (d *diagnosis) untried(path string, err error) {
	d.report.append(skill.Problem{Rule: "catalog", Severity: skill.Warning, Path: path, Message: "the prompts of evals were not tried: " + err.Error()})
}

// An Opener opens a catalog of the folders that are checked, for as long as the check takes.
type Opener func(ctx context.Context) (*repertoire.Catalog, error)

// An authored skill of a folder has evals.
type authored struct {
	source, name, path string // path of its instructions
	prompts            []evals.Prompt
}

// tryEvals reports how the prompts beside the skills of folders fare.
func (d *diagnosis) tryEvals(ctx context.Context, open Opener) {
	if len(d.authored) == 0 || open == nil {
		return
	}
	c, err := open(ctx)
	if err == nil {
		err = errors.Join(d.tryIn(ctx, c), c.Close())
	}
	if err != nil {
		d.untried(d.authored[0].source, err)
	}
}

func (d *diagnosis) tryIn(ctx context.Context, c *repertoire.Catalog) (err error) {
	room, err := evals.Open(ctx, c, evals.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	entries, err := room.List(ctx, nil, &repertoire.ListOptions{Person: true})
	if err != nil {
		return err
	}
	offered := make(map[string]repertoire.Entry)
	for _, e := range entries {
		offered[regular.Real(e.Location)] = e
	}
	for _, a := range d.authored {
		e, ok := offered[regular.Real(a.path)]
		if !ok {
			continue // shadowed
		}
		list, err := room.Try(ctx, e.ID, a.prompts, evals.Levels{})
		if err != nil {
			return err
		}
		e.Source, e.ID, e.Location = a.source, a.name, a.path // as the report has them
		d.failing(&e, room, list)
	}
	return nil
}

// failing reports the prompts of the evals of a skill that do not get what their author wants.
func (d *diagnosis) failing(e *repertoire.Entry, room *evals.Room, list []evals.Outcome) {
	if p, fails := room.Failing(list, e.Triggers.Keywords); fails {
		p.Path = e.Location
		d.add(e.Source, e.ID, p, false)
	}
}

// A theft is a prompt of one skill for which another one ranks first.
type theft struct {
	victim repertoire.Entry
	askedPrompt
}

// describe says which prompt it is, and the places and scores of the two skills.
func (t *theft) describe() string {
	prompt := "its own description " + quote(t.victim.Description)
	if t.text != "" {
		prompt = "its eval " + quote(t.text)
	}
	place := "finds it nowhere"
	if t.Rank > 0 {
		place = fmt.Sprintf("ranks it %s (%.2f)", ordinal(t.Rank), t.Score)
	}
	return fmt.Sprintf("%s: %s %s, after %s (%.2f)", t.victim.ID, prompt, place, t.Above[0].ID, t.Above[0].Score)
}

// ordinal writes the place of a skill.
func ordinal(n int) string {
	switch {
	case n == 2:
		return "2nd"
	case n == 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}

// quote shortens a prompt for a message.
func quote(prompt string) string {
	return "“" + tidy.Shorten(tidy.Line(prompt), 120) + "”"
}

// collisions reports skills that take each other's prompts, each group of them once. A
// skill that has no other prompt than its description is known by that one. Twins are
// reported as twins: no wording of a prompt tells them apart.
func (d *diagnosis) collisions(list []examined) {
	var groups disjoint.Sets[string]
	thefts := make(map[string]*theft) // the clearest one, by the ID of its victim
	entries := make(map[string]repertoire.Entry)
	for _, e := range list {
		entries[e.entry.ID] = e.entry
		for _, asked := range e.asked {
			if asked.CopyOf != "" || len(asked.Above) == 0 || d.family.Same(e.entry.ID, asked.Above[0].ID) {
				continue
			}
			if t := thefts[e.entry.ID]; t == nil || lead(asked) > lead(t.askedPrompt) {
				thefts[e.entry.ID] = &theft{e.entry, asked}
			}
		}
	}
	takes := make(map[string]bool)
	for id, t := range thefts {
		groups.Join(id, t.Above[0].ID)
		takes[t.Above[0].ID] = true
	}
	groupsOf := make(map[string][]string)
	for id := range entries {
		if root := groups.Root(id); thefts[id] != nil || takes[id] {
			groupsOf[root] = append(groupsOf[root], id)
		}
	}
	for _, ids := range groupsOf {
		slices.Sort(ids)
		d.addCollision(ids, thefts, entries)
	}
}

// lead returns how far the first skill is ahead of the one that ought to be first.
func lead(a askedPrompt) float64 { return a.Above[0].Score - a.Score }

// addCollision reports a group of skills, some of which take prompts of others.
func (d *diagnosis) addCollision(ids []string, thefts map[string]*theft, entries map[string]repertoire.Entry) {
	var clearest *theft
	stolen := 0
	for _, id := range ids {
		if t := thefts[id]; t != nil {
			stolen++
			if clearest == nil || lead(t.askedPrompt) > lead(clearest.askedPrompt) {
				clearest = t
			}
		}
	}
	message := clearest.describe()
	if len(ids) > 2 || stolen > 1 {
		message = fmt.Sprintf("%d skills take each other's prompts: %s; the clearest case is %s", len(ids), members(ids), message)
	}
	d.addFamily(entries[clearest.victim.ID], ids, skill.Problem{Rule: "trigger-collision", Severity: skill.Warning, Message: message,
		Hint: "say in each description what only this skill does, and when to use the other one"})
}

// unreachable reports skills that their own description does not lead to.
func (d *diagnosis) unreachable(e examined) {
	if len(e.asked) == 0 {
		return
	}
	own := e.asked[0]
	p := skill.Problem{Rule: "unreachable", Severity: skill.Warning, Path: e.entry.Location}
	switch {
	case own.CopyOf != "":
		p.Rule, p.Severity = "copy", skill.Note
		p.Message = fmt.Sprintf("Hidden: a copy of %s, which is offered instead.", own.CopyOf)
		p.Hint = "keep one of the two"
	case own.Rank > 0 && own.Rank <= reachable:
		return
	default:
		p.Message = "not even its own description leads to it: " + d.reason(e.entry.ID, own.Position)
		p.Hint = "say in the description what only this skill does"
	}
	d.add(e.entry.Source, e.entry.ID, p, false)
}

// reason says which skills rank above one.
func (d *diagnosis) reason(id string, s search.Position) string {
	var above []string
	twins := 0
	for _, r := range s.Above {
		name := r.ID
		if d.family.Same(id, r.ID) {
			name += " (a twin)"
			twins++
		}
		above = append(above, name)
	}
	place := "it is not even a candidate"
	if s.Rank > 0 {
		place = "it ranks " + ordinal(s.Rank)
	}
	if len(above) == 0 {
		return place
	}
	return place + ", after " + strings.Join(above, ", ")
}
