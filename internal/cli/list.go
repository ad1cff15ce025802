package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/search"
)

const listHelp = `List prints all skills of the catalog by name, or those with a tag or from a
source. With --agent it prints what that agent may see.

When the output is piped, each line holds name, source, tags (separated by
commas) and description, separated by tabs.

--json prints an object with skills, a list of objects with id, name,
description, source, path, tags, tokens (of the instructions, estimated) and,
for a shadowed copy, shadowed_by.`

func (a *app) listCommand() *cobra.Command {
	var tag, from string
	var shadowed bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all skills",
		Long:    listHelp,
		Example: "  skills list --tag testing\n  skills --agent reviewer list --json",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.list(cmd, tag, from, shadowed)
		},
	}
	cmd.Flags().StringVar(&tag, "tag", "", "only skills with this `tag`")
	cmd.Flags().StringVar(&from, "source", "", "only skills from the source with this `label`")
	cmd.Flags().BoolVar(&shadowed, "shadowed", false, "also skills that another one of the same name shadows")
	return cmd
}

func (a *app) list(cmd *cobra.Command, tag, from string, shadowed bool) error {
	c, err := a.openFresh(cmd.Context(), freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	entries, err := c.List(cmd.Context(), c.agent, shadowed)
	if err != nil {
		return err
	}
	entries, err = search.Filter(entries, from, tag)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(listResult{Skills: listEntries(entries)})
	}
	if len(entries) == 0 {
		a.note("no skills; looked at: %s", strings.Join(c.Labels(), ", "))
		return nil
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{e.ID, e.Source, strings.Join(e.Tags, ","), e.Description})
	}
	return a.rows([]string{"NAME", "SOURCE", "TAGS", "DESCRIPTION"}, rows)
}

func listEntries(entries []repertoire.Entry) []listEntry {
	out := make([]listEntry, len(entries))
	for i, e := range entries {
		out[i] = listEntry{ID: e.ID, Name: e.Name, Description: e.Description, Source: e.Source, Path: e.Location,
			Tags: e.Tags, Tokens: e.Tokens, ShadowedBy: e.ShadowedBy}
		if e.Tags == nil {
			out[i].Tags = []string{}
		}
	}
	return out
}
