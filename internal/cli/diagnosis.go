package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// finding is a problem with the source it is in.
type finding struct {
	Source string `json:"source,omitempty"`
	skill.Problem
}

// diagnosis collects findings.
type diagnosis struct {
	skills int
	found  []finding
}

// add adds problems of a source. What is compiled in has no path that can be
// opened; then its source is named.
func (d *diagnosis) add(source string, problems ...skill.Problem) {
	for _, p := range problems {
		if source != "" && p.Path != source && !filepath.IsAbs(p.Path) && !strings.HasPrefix(p.Path, source+":") {
			p.Path = source + ":" + p.Path
		}
		d.found = append(d.found, finding{source, p})
	}
}

// walk reads and checks every skill of a source.
func (d *diagnosis) walk(ctx context.Context, src source.Source, strict bool) {
	for ref, err := range src.Skills(ctx, nil) {
		if err != nil {
			d.add(src.Info().Label, walkProblem(src, err))
			continue
		}
		d.skills++
		s, err := ref.Load()
		var refused *skill.ParseError
		switch {
		case errors.As(err, &refused):
			d.add(src.Info().Label, located(src, refused.Problem)...)
		case err != nil:
			d.add(src.Info().Label, located(src, skill.Problem{Rule: "unreadable", Severity: skill.Error, Path: ref.Path, Message: err.Error()})...)
		case strict:
			d.add(src.Info().Label, located(src, skill.Check(s)...)...)
		default:
			d.add(src.Info().Label, located(src, s.Problems...)...)
		}
	}
}

func walkProblem(src source.Source, err error) skill.Problem {
	var own interface{ Problem() skill.Problem }
	if errors.As(err, &own) {
		return located(src, own.Problem())[0]
	}
	return skill.Problem{Rule: "unreadable", Severity: skill.Warning, Path: src.Info().Label, Message: err.Error()}
}

// located makes the paths of problems ones that can be opened.
func located(src source.Source, problems ...skill.Problem) []skill.Problem {
	out := make([]skill.Problem, len(problems))
	for i, p := range problems {
		if src.Info().Root != "" && !filepath.IsAbs(p.Path) {
			p.Path = filepath.Join(src.Info().Root, filepath.FromSlash(p.Path))
		}
		out[i] = p
	}
	return out
}

// stored reports the problems that were found when the skills were indexed,
// and those of the walk.
func (d *diagnosis) stored(ctx context.Context, c *catalog) error {
	_, found, err := c.Size(ctx)
	if err != nil {
		return err
	}
	d.skills = found
	reported, err := c.Problems(ctx)
	if err != nil {
		return err
	}
	seen := make(map[skill.Problem]bool)
	for _, r := range reported {
		seen[r.Problem] = true
		d.add(r.Source, c.Located(r.Source, r.Problem))
	}
	for _, report := range c.reports {
		for _, p := range report.Problems {
			if !seen[p] {
				d.add(report.Source, c.Located(report.Source, p))
			}
		}
	}
	return nil
}

// shadowed reports skills that cannot be found under their name.
func (d *diagnosis) shadowed(ctx context.Context, c *catalog) error {
	entries, err := c.List(ctx, nil, true)
	if err != nil {
		return err
	}
	byID := make(map[string]repertoire.Entry)
	for _, e := range entries {
		byID[e.ID] = e
	}
	for _, e := range entries {
		winner, ok := byID[e.ShadowedBy]
		if !ok {
			continue
		}
		p := skill.Problem{Rule: "shadowed", Severity: skill.Warning, Path: e.Location,
			Message: fmt.Sprintf("not offered: the skill %s at %s has the same name and comes first", e.Name, winner.Location),
			Hint:    fmt.Sprintf("remove or rename one of them, or use it as %s", e.ID)}
		if e.Digest == winner.Digest {
			p.Severity = skill.Note
			p.Message = fmt.Sprintf("not offered: a copy of the skill %s at %s, which is", e.Name, winner.Location)
		}
		d.add(e.Source, p)
	}
	return nil
}

// twins reports offered skills with nearly the same description, each once: in
// a family of fifty made from one template all are alike, and nobody reads
// twelve hundred pairs.
func (d *diagnosis) twins(ctx context.Context, c *catalog) error {
	pairs, err := c.Twins(ctx)
	if err != nil {
		return err
	}
	var order []repertoire.Entry
	likes := make(map[string][]repertoire.Twin) // by ID, the most alike first
	for _, t := range pairs {
		for _, pair := range []repertoire.Twin{t, {A: t.B, B: t.A, Similarity: t.Similarity}} {
			if likes[pair.A.ID] == nil {
				order = append(order, pair.A)
			}
			likes[pair.A.ID] = append(likes[pair.A.ID], pair)
		}
	}
	for _, e := range order {
		nearest := likes[e.ID][0]
		message := fmt.Sprintf("its description is nearly that of %s (%.0f %% of the words)", nearest.B.ID, 100*nearest.Similarity)
		if more := len(likes[e.ID]) - 1; more > 0 {
			message += fmt.Sprintf(" and of %d more", more)
		}
		d.add(e.Source, skill.Problem{Rule: "near-duplicate", Severity: skill.Warning, Path: e.Location, Message: message,
			Hint: "say in each description what sets it apart, or keep one"})
	}
	return nil
}

// requirements reports skills that ask for others that are not there.
func (d *diagnosis) requirements(ctx context.Context, c *catalog) error {
	entries, err := c.List(ctx, nil, false)
	if err != nil {
		return err
	}
	names := make([]string, len(entries))
	have := make(map[string]bool)
	for i, e := range entries {
		names[i] = e.Name
		have[strings.ToLower(e.Name)] = true
	}
	for _, e := range entries {
		for _, want := range e.Requires {
			if have[strings.ToLower(want)] {
				continue
			}
			p := skill.Problem{Rule: "unmet-requirement", Severity: skill.Warning, Path: e.Location,
				Message: fmt.Sprintf("it requires the skill %q, which is not in the catalog", want)}
			if similar := skill.Similar(want, names, 3); len(similar) > 0 {
				p.Hint = "did you mean " + strings.Join(similar, ", ") + "?"
			}
			d.add(e.Source, p)
		}
	}
	return nil
}

// agents reports agents whose rules name what does not exist.
func (d *diagnosis) agents(ctx context.Context, c *catalog, agents []*repertoire.Agent) {
	for _, agent := range agents {
		if _, err := c.List(ctx, agent, false); err != nil {
			d.add("", skill.Problem{Rule: "agent", Severity: skill.Error, Path: "configuration", Message: err.Error()})
		}
	}
}
