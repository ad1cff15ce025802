package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/inspect"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Options choose what is checked.
type Options struct {
	// Strict applies the Agent Skills specification to the letter, as its
	// reference validator does, instead of reporting what indexing found.
	Strict bool
	// Reports are what a rescan just reported: only they have the problems of folders.
	// nil means that there was no rescan.
	Reports []repertoire.Report
	// Step is called with the number of steps that are done, and of all; nil means
	// that nobody is told.
	Step func(done, all int)
}

// Catalog reports skills that cannot be used, are shadowed by another one, are hard to
// tell apart or require missing skills, skills that are held back, and rules of agents or of
// the policy that match nothing. all are the skills of the catalog, also the shadowed and the held ones.
//
// It keeps what it has found in a file beside the catalog, see memory.
func Catalog(ctx context.Context, c *repertoire.Catalog, all []repertoire.Entry, o Options) (*Report, error) {
	d := diagnosisOf(all)
	known, err := remember(ctx, c, o.Reports)
	if err != nil {
		return nil, err
	}
	all, links := repertoire.SplitLinks(all)
	if err := d.skills(ctx, c, known, o); err != nil {
		return nil, err
	}
	if !o.Strict { // which counts itself
		if d.report.Skills, err = known.found(ctx, c, len(links)); err != nil {
			return nil, err
		}
	}
	step := counting(2*len(all), o.Step)
	list := d.look(ctx, c, all, known, o.Strict, step)
	found := all
	all = d.held(all)
	d.shadowed(all)
	offered := slices.DeleteFunc(all, func(e repertoire.Entry) bool { return e.ShadowedBy != "" })
	d.needs(offered)
	twins, err := known.twins(ctx, c)
	if err != nil {
		return nil, err
	}
	d.twins(twins)
	list = offeredOf(list, offered)
	d.absent(found, list)
	if err := d.examine(ctx, c, list, known, step); err != nil {
		return nil, err
	}
	known.keep()
	for _, a := range append([]*repertoire.Agent{nil}, c.Config().Agents...) { // nil for the policy
		problems, err := c.Owner().Unmatched(ctx, a)
		if err != nil {
			return nil, err
		}
		for _, p := range problems {
			p.Path = cmp.Or(p.Path, "configuration")
			d.report.append(p)
		}
		if err := d.listing(ctx, c, a); err != nil {
			return nil, err
		}
	}
	d.dropLinks(links)
	d.report.finish()
	return &d.report, nil
}

// Quick reports what is known of a catalog without looking at the files of skills: what
// indexing found, and which skills are shadowed, held back or refused. It is a part of what
// Catalog reports. all are the skills of the catalog, also the shadowed and the held ones.
func Quick(ctx context.Context, c *repertoire.Catalog, all []repertoire.Entry) (*Report, error) {
	d := diagnosisOf(all)
	none := new(memory)
	_, err := d.indexed(ctx, c, none)
	if err == nil {
		d.report.Skills, err = none.found(ctx, c, 0)
	}
	if err != nil {
		return nil, err
	}
	d.shadowed(d.held(slices.Clone(all)))
	d.report.finish()
	return &d.report, nil
}

// dropLinks removes the findings in folders that are links to skills: each is reported at the
// skill.
func (d *diagnosis) dropLinks(links []repertoire.Entry) {
	folders := make(map[string]bool)
	for _, e := range links {
		folders[filepath.Dir(e.Location)] = true
	}
	d.report.Findings = slices.DeleteFunc(d.report.Findings, func(f Finding) bool {
		for at := f.Path; len(folders) > 0 && at != filepath.Dir(at); at = filepath.Dir(at) {
			if folders[at] {
				return true
			}
		}
		return false
	})
}

// look looks at the files of all skills on all cores, and reports what the trust checks find in them, in the order of precedence.
func (d *diagnosis) look(ctx context.Context, c *repertoire.Catalog, all []repertoire.Entry, known *memory, strict bool, step func()) []examined {
	sources, priority := make(map[string]source.Source), make(map[string]int)
	for _, src := range c.Config().Sources {
		info := src.Info()
		sources[info.Label], priority[info.Label] = src, info.Priority
	}
	list := make([]examined, len(all))
	inParallel(ctx, len(all), func(i int) {
		list[i].entry = all[i]
		if src := sources[all[i].Source]; src != nil && !all[i].Away {
			list[i].looked = known.look(ctx, src, &all[i], strict)
		}
		step()
	})
	ordered := make([]*examined, len(list))
	for i := range list {
		ordered[i] = &list[i]
	}
	slices.SortFunc(ordered, func(a, b *examined) int {
		return cmp.Or(cmp.Compare(priority[b.entry.Source], priority[a.entry.Source]), cmp.Compare(a.entry.Source, b.entry.Source), cmp.Compare(a.entry.Path, b.entry.Path))
	})
	for _, e := range ordered {
		switch src := sources[e.entry.Source]; {
		case src == nil || e.entry.Away || strict: // a strict check has inspected them
		case e.Unreadable:
			d.report.NotAnalysed++
		default:
			d.addInspected(src, &e.entry.Meta, e.Inspected)
		}
	}
	if !strict {
		d.inspectNames(known.names)
	}
	return list
}

// offeredOf keeps of a list the offered skills whose source can be read.
func offeredOf(list []examined, offered []repertoire.Entry) []examined {
	is := make(map[string]bool, len(offered))
	for _, e := range offered {
		is[e.ID] = !e.Away
	}
	return slices.DeleteFunc(list, func(e examined) bool { return !is[e.entry.ID] })
}

// examine reports what is wrong with the files and with the descriptions of offered skills.
func (d *diagnosis) examine(ctx context.Context, c *repertoire.Catalog, list []examined, known *memory, step func()) error {
	if err := rank(ctx, c, list, known, step); err != nil {
		return err
	}
	for _, e := range list {
		for _, p := range e.Problems {
			d.add(e.entry.Source, e.entry.ID, p, false)
		}
		d.unreachable(e)
	}
	if err := d.try(ctx, c, list); err != nil {
		return err
	}
	d.collisions(list)
	d.unread(list)
	return nil
}

// skills reports what is wrong with single skills: what a strict check finds, or else
// the problems that were found when they were indexed, and in the last walk.
func (d *diagnosis) skills(ctx context.Context, c *repertoire.Catalog, known *memory, o Options) error {
	if o.Strict {
		for _, src := range c.Config().Sources {
			d.walk(ctx, src, true, false)
		}
		d.inspectNames(inspect.Names)
		return ctx.Err()
	}
	seen, err := d.indexed(ctx, c, known)
	if err != nil {
		return err
	}
	for p := range seen {
		if isRefusal(p) {
			d.report.NotAnalysed++
		}
	}
	for _, report := range o.Reports {
		for _, p := range report.Problems {
			if p.Rule == "unreadable" && d.skillAt(p.Path, false) == "" {
				d.report.NotAnalysed++
			}
			if !seen[p] {
				d.add(report.Source, "", p, isRefusal(p))
			}
		}
	}
	return nil
}

// indexed reports what indexing found, and returns it.
func (d *diagnosis) indexed(ctx context.Context, c *repertoire.Catalog, known *memory) (map[skill.Problem]bool, error) {
	reported, err := known.indexed(ctx, c)
	if err != nil {
		return nil, err
	}
	seen := make(map[skill.Problem]bool)
	for _, r := range reported {
		seen[r.Problem] = true
		d.add(r.Source, "", r.Problem, isRefusal(r.Problem))
	}
	return seen, nil
}

// held reports skills that are held back from everybody, and returns the others.
func (d *diagnosis) held(entries []repertoire.Entry) (others []repertoire.Entry) {
	for _, e := range entries {
		p := skill.Problem{Rule: string(e.State), Severity: skill.Note, Path: e.Location, Message: "not offered: " + e.Reason}
		switch e.State {
		case search.Offered, search.Unavailable, search.Reserved: // see needs
			others = append(others, e)
		case search.Disabled: // by its owner, who knows
			d.add(e.Source, e.ID, p, false)
		default:
			p.Severity = skill.Warning
			d.add(e.Source, e.ID, p, true)
		}
	}
	return others
}

// shadowed reports skills that are not offered because another has the same name.
func (d *diagnosis) shadowed(entries []repertoire.Entry) {
	byID := make(map[string]repertoire.Entry)
	for _, e := range entries {
		byID[e.ID] = e
	}
	for _, e := range entries {
		winner, ok := byID[e.ShadowedBy]
		if !ok {
			continue
		}
		f := Finding{Source: e.Source, Skill: e.ID, Cost: Unseen, Problem: skill.Problem{
			Rule: "shadowed", Severity: skill.Warning, Path: e.Location,
			Message: fmt.Sprintf("not offered: another skill of this name comes first: %s", winner.Location),
			Hint:    fmt.Sprintf("remove or rename one of them, or use it as %s", e.ID)}}
		if e.Digest == winner.Digest {
			f.Cost, f.Severity = Author, skill.Note
			f.Message = fmt.Sprintf("Hidden: identical to %s, which is offered.", winner.Location)
		}
		d.report.Findings = append(d.report.Findings, f)
	}
}
