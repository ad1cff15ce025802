package status

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
)

const (
	look    = 20 * time.Millisecond  // how long the folders of an indexed catalog are looked at
	walking = 200 * time.Millisecond // how long skills are looked for while there is no catalog
)

// stateOf returns the state of a catalog, as far as the catalog itself shows it, and how many
// SKILL.md files it knows. It makes no file.
func stateOf(ctx context.Context, c *repertoire.Catalog) (state string, found int, err error) {
	if c.Shared().State != "" {
		if indexed, err := c.Owner().Indexed(ctx); err != nil || !indexed {
			return Missing, 0, err
		}
		_, found, err = c.Size(ctx)
		return Current, found, err
	}
	if _, err := os.Stat(c.Path()); errors.Is(err, fs.ErrNotExist) {
		return Missing, 0, nil
	}
	current := c.Owner().Glance(ctx, look).Current
	indexed := current
	if !current {
		if indexed, err = c.Owner().Indexed(ctx); err != nil {
			return Broken, 0, err
		}
	}
	_, found, err = c.Size(ctx)
	switch {
	case err != nil:
		return Broken, 0, err
	case current:
		return Current, found, nil
	case indexed:
		return Changed, found, nil
	case found == 0:
		return Missing, 0, nil
	}
	return Partial, found, nil
}

// count adds how many skills there are, and from where. It returns what is wrong with them,
// and what clients may list themselves; of a large catalog neither.
func (s *Status) count(ctx context.Context, c *repertoire.Catalog, agent *repertoire.Agent, found, most int) (*doctor.Report, []setup.Listed, error) {
	var err error
	if s.Skills, err = c.Owner().Available(ctx, agent); err != nil {
		return nil, nil, err
	}
	s.Held = found - s.Skills
	sizes, err := c.Owner().SourceSizes(ctx)
	if err != nil {
		return nil, nil, err
	}
	bySource := make(map[string]search.SourceSize)
	for _, size := range sizes {
		bySource[size.Source] = size
	}
	for _, src := range c.Config().Sources {
		size := bySource[src.Info().Label]
		s.addSource(src, size.Skills, size.Away)
	}
	if s.Unchecked = found > most || c.Shared().State != ""; s.Unchecked { // whoever pushes a shared catalog checks it
		return &doctor.Report{Skills: found}, nil, nil
	}
	entries, err := c.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	if err != nil {
		return nil, nil, err
	}
	listed := make([]setup.Listed, len(entries))
	for i, e := range entries {
		listed[i] = setup.Listed{Name: e.Name, Description: e.Description, Location: e.Location}
	}
	r, err := doctor.Quick(ctx, c, entries)
	return r, listed, err
}

// walk counts the skills in sources that are not indexed yet, within a time limit.
func (s *Status) walk(ctx context.Context, sources []source.Source) {
	ctx, cancel := context.WithTimeout(ctx, walking)
	defer cancel()
	for _, src := range sources {
		n := 0
		for _, err := range src.Skills(ctx, nil) {
			if err == nil {
				n++
			}
		}
		s.Skills += n
		s.addSource(src, n, false)
	}
}

// addSource adds a source that has skills.
func (s *Status) addSource(src source.Source, skills int, away bool) {
	if info := src.Info(); skills > 0 && info.Kind != source.KindPreloaded {
		s.Sources = append(s.Sources, Source{info.Label, info.Kind, info.Root, skills, away})
	}
}

// addOffers adds the last offers of the log of usage, and counts what the last prompts got. A log that cannot be
// read has none.
func (s *Status) addOffers(ctx context.Context, agent *repertoire.Agent, l *Look) {
	name := ""
	if agent != nil {
		name = agent.Name
	}
	events, _ := usage.New(l.State, usage.Options{}).Recent(ctx, name, prompts)
	if len(events) == 0 {
		return
	}
	s.Prompts = &Prompts{All: len(events), Silent: make(map[string]int)}
	for i, e := range events {
		o := Offer{Time: e.Time, Client: e.Client, Skills: []string{}, Because: e.Because}
		for _, used := range e.Skills {
			o.Skills = append(o.Skills, used.ID)
		}
		if i < offers {
			s.Offers = append(s.Offers, o)
		}
		if len(o.Skills) > 0 {
			s.Prompts.Skills++
		} else {
			s.Prompts.Silent[e.Because]++
		}
	}
	s.Prompts.Late = since(l.Late, events[len(events)-1].Time)
	s.Prompts.All += s.Prompts.Late
}

// since counts the times that are not before another.
func since(times []time.Time, first time.Time) (n int) {
	for _, t := range times {
		if !t.Before(first) {
			n++
		}
	}
	return n
}
