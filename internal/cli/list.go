package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/search"
)

const listHelp = `List prints all skills of the catalog by name, or those with a tag or from a
source. With --agent it prints what that agent may see.

A skill whose source cannot be read now, such as a share that is not mounted, is
marked as away after its source. It is not offered until the source is back.

When the output is piped, each line holds name, source, tags (separated by
commas) and description, separated by tabs.

--json prints an object with skills, a list of objects with id, name,
description, source, path, tags, tokens (of the instructions, estimated),
shadowed_by for a shadowed copy, and away; and stale: why skills may have
changed since they were indexed, if the catalog could not be brought up to date.`

func (a *app) listCommand() *cobra.Command {
	var tag, from string
	var shadowed bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all skills",
		Long:    listHelp,
		Example: "  skills list --tag testing\n  skills --agent reviewer list --json",
		Args:    args(0, 0),
		RunE: a.onCatalog(func(ctx context.Context, c *catalog, _ []string) error {
			entries, err := c.List(ctx, c.agent, shadowed)
			if err == nil {
				entries, err = search.Filter(entries, from, tag)
			}
			if err != nil {
				return err
			}
			a.noteUnfetched(c)
			return a.printList(c, entries)
		}),
	}
	cmd.Flags().StringVar(&tag, "tag", "", "only skills with this `tag`")
	cmd.Flags().StringVar(&from, "source", "", "only skills from the source with this `label`")
	cmd.Flags().BoolVar(&shadowed, "shadowed", false, "also skills that another one of the same name shadows")
	return cmd
}

// noteNoSkills says that there are no skills to list or to search.
func (a *app) noteNoSkills(c *catalog) {
	if c.agent != nil {
		a.note("the agent %s sees no skills", c.agent.Name) // and no source that it has no skill of
		return
	}
	a.note("no skills; looked at: %s", strings.Join(c.Labels(), ", "))
}

func (a *app) printList(c *catalog, entries []repertoire.Entry) error {
	if a.json {
		return a.printJSON(listResult{c.stale, mapped(entries, listEntryOf)})
	}
	if len(entries) == 0 {
		a.noteNoSkills(c)
		return nil
	}
	return a.rows([]string{"NAME", "SOURCE", "TAGS", "DESCRIPTION"}, mapped(entries, func(e repertoire.Entry) []string {
		from := e.Source
		if e.Away {
			from += " (away)"
		}
		return []string{e.ID, from, strings.Join(e.Tags, ","), e.Description}
	}))
}

func listEntryOf(e repertoire.Entry) listEntry {
	return listEntry{ID: e.ID, Name: e.Name, Description: e.Description, Source: e.Source, Path: e.Location,
		Tags: append([]string{}, e.Tags...), Tokens: e.Tokens, ShadowedBy: e.ShadowedBy, Away: e.Away}
}
