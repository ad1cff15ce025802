package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// dearListing is how many tokens a listing of all skills may cost before it is a finding:
// what clients have room for, one percent of a context of 200,000 tokens.
const dearListing = 2000

// listing reports what it would cost to list all skills of an agent in every prompt, as
// clients do with the skills in their own folders, and which descriptions cost most. nil
// means the whole catalog.
func (d *diagnosis) listing(ctx context.Context, c *repertoire.Catalog, a *repertoire.Agent) error {
	entries, err := c.List(ctx, a, nil)
	if err != nil {
		return err
	}
	total := 0
	costs := make(map[string]int, len(entries))
	for _, e := range entries {
		costs[e.ID] = words.Tokens(e.Name + ": " + e.Description)
		total += costs[e.ID]
	}
	if total <= dearListing {
		return nil
	}
	slices.SortFunc(entries, func(a, b repertoire.Entry) int {
		return cmp.Or(cmp.Compare(costs[b.ID], costs[a.ID]), strings.Compare(a.ID, b.ID))
	})
	var longest []string
	for _, e := range entries[:min(3, len(entries))] {
		longest = append(longest, fmt.Sprintf("%s (%s)", e.ID, figures.Thousands(costs[e.ID])))
	}
	of := "the catalog"
	if a != nil {
		of = "agent " + a.Name
	}
	d.report.append(skill.Problem{Rule: "listing-cost", Severity: skill.Note, Path: "configuration",
		Message: fmt.Sprintf("Listing all %s skills of %s costs a client %s tokens in every prompt; the longest are %s",
			figures.Thousands(len(entries)), of, figures.Thousands(total), strings.Join(longest, ", ")),
		Hint: "shorten the longest descriptions, or keep the skills out of folders that clients list themselves"})
	return nil
}
