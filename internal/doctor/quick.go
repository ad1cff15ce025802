package doctor

import (
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/skill"
)

// Quick reports what is known of a catalog without looking at the files of skills: what
// indexing found, and which skills are shadowed, held back or refused. It is a part of what
// Catalog reports. all are the skills of the catalog, also the shadowed and the held ones.
func Quick(ctx context.Context, c *repertoire.Catalog, all []repertoire.Entry) (*Report, error) {
	d := diagnosisOf(all)
	var err error
	if _, d.report.Skills, err = c.Size(ctx); err != nil {
		return nil, err
	}
	problems, err := c.Owner().Problems(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		d.add(p.Source, "", p.Problem, p.Severity == skill.Error)
	}
	d.shadowed(d.held(slices.Clone(all)))
	d.report.finish()
	return &d.report, nil
}
