package cli

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/origins"
	"github.com/repertoire-skills/repertoire/search"
)

const listHelp = `List prints all skills of the catalog by name, or those with a tag, from a
source or in a state. With --agent it prints what that agent may see.

The states are:
  offered      offered where it fits
  shadowed     another skill of the same name is offered instead (--shadowed)
  away         its source cannot be read now, such as an unmounted share
  disabled     a rule of the configuration disables it
  changed      it is not what was installed
  untrusted    its project is not trusted yet, see "skills trust"
  unavailable  a command that it needs is not there
  reserved     its author lets only the user start it, with /NAME, $NAME or "the
               skill NAME" in a prompt (disable-model-invocation in SKILL.md, or
               allow_implicit_invocation in agents/openai.yaml)
Only an offered skill is shown to a model. On a terminal a skill has a mark
(✓ offered, ○ disabled or shadowed, ✗ another state) and below it the reason.

When the output is piped, each line holds name, source, tags (separated by
commas), description, state and reason, separated by tabs.

--json prints an object with skills, a list of objects with id, name,
description, source, path, version, license, author, compatibility and
invoked_by ("user" or "model") if the skill says so, tags, tokens (of the
instructions, estimated), from (where it was installed from) and installed_by
("skills", or "npx skills or gh skill", which have one lock) if a lock says so,
state, reason, shadowed_by and shadowed_from (the source of that skill) for a
shadowed copy, and away; and stale: why skills may have changed since they were
indexed, if the catalog could not be brought up to date. partial and unread
(how many) say that folders have not been read yet.`

// listFlags choose what list prints.
type listFlags struct {
	tag, source                                           string
	shadowed, disabled, unavailable, untrusted, installed bool
}

func newListCommand(e env) *cobra.Command {
	var l listFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List all skills",
		Long:    listHelp,
		Example: "  skills list --tag testing\n  skills list --disabled --untrusted\n  skills --agent reviewer list --json",
		Args:    args(0, 0),
		RunE:    e.onCatalog(l.run),
	}
	f := cmd.Flags()
	f.StringVar(&l.tag, "tag", "", "only skills with this `tag`")
	f.StringVar(&l.source, "source", "", "only skills from the source with this `label`")
	f.BoolVar(&l.shadowed, "shadowed", false, "also skills that another one of the same name shadows")
	f.BoolVar(&l.disabled, "disabled", false, "only disabled skills")
	f.BoolVar(&l.untrusted, "untrusted", false, "only skills that are not trusted yet")
	f.BoolVar(&l.unavailable, "unavailable", false, "only unavailable and changed skills")
	f.BoolVar(&l.installed, "installed", false, "only installed skills, shadowed ones too")
	return cmd
}

func (l *listFlags) run(ctx context.Context, s *session, c *catalog, _ []string) error {
	entries, err := l.entries(ctx, c)
	if err != nil {
		return err
	}
	noteUnfetched(s.screen, c)
	if err := s.notePart(ctx, c); err != nil {
		return err
	}
	if len(entries) == 0 && (l.states() != nil || l.installed) && !s.json {
		s.note("no skill is like that; \"skills list\" shows all")
		return nil
	}
	return printList(s.screen, c, entries)
}

// states returns the states of the skills that the flags choose; nil means all.
func (l *listFlags) states() (states []search.State) {
	if l.disabled {
		states = append(states, search.Disabled)
	}
	if l.untrusted {
		states = append(states, search.Untrusted)
	}
	if l.unavailable {
		states = append(states, search.Unavailable, search.Changed)
	}
	return states
}

// entries returns the skills that the flags choose.
func (l *listFlags) entries(ctx context.Context, c *catalog) ([]repertoire.Entry, error) {
	states := l.states()
	entries, err := c.List(ctx, c.agent, &repertoire.ListOptions{Shadowed: l.shadowed || l.installed, Held: states != nil || c.agent == nil, Person: true})
	if err != nil {
		return nil, err
	}
	entries, _ = repertoire.SplitLinks(entries)
	if entries, err = search.Filter(entries, l.source, l.tag); err != nil {
		return nil, err
	}
	installed := c.installed()
	return slices.DeleteFunc(entries, func(e repertoire.Entry) bool {
		return states != nil && !slices.Contains(states, e.State) || l.installed && !slices.Contains(installed, e.Source)
	}), nil
}

// installed returns the labels of the sources with installed skills.
func (c *catalog) installed() (list []string) {
	for _, s := range c.Config().Sources {
		if info := s.Info(); info.Kind == "installed" {
			list = append(list, info.Label)
		}
	}
	return list
}

// noteNoSkills says that there are no skills to list or to search.
func noteNoSkills(ui *screen, c *catalog) {
	if c.agent != nil {
		ui.note("the agent %s sees no skills", c.agent.Name) // and no source that it has no skill of
		return
	}
	if now := c.Shared(); now.State != "" {
		ui.note("the shared catalog holds no skills yet; \"skills push\" brings some to it")
		return
	}
	ui.note("no skills; looked at: %s", strings.Join(c.Labels(), ", "))
}

func printList(ui *screen, c *catalog, entries []repertoire.Entry) error {
	if ui.json {
		from, _ := c.session.origins() // "skills doctor" says what is wrong with a lock
		return ui.printJSON(listResult{c.stale, c.part, mapped(entries, func(e repertoire.Entry) listEntry { return listEntryOf(e, from) })})
	}
	if len(entries) == 0 {
		noteNoSkills(ui, c)
		return nil
	}
	if width, ok := terminal(ui.stdout); ok {
		return printMarked(ui, entries, width)
	}
	return ui.rows(nil, mapped(entries, func(e repertoire.Entry) []string {
		state, reason := e.Status()
		return []string{e.ID, e.Source, strings.Join(e.Tags, ","), e.Description, state, reason}
	}))
}

// printMarked prints skills on a terminal, each with a mark and the reason below it.
func printMarked(ui *screen, entries []repertoire.Entry, width int) error {
	utf8 := speaksUTF8(os.Getenv)
	below := make([][]string, len(entries))
	rows := make([][]string, len(entries))
	for i, e := range entries {
		state, reason := e.Status()
		rows[i] = []string{e.ID, markOf(state, utf8), e.Source, strings.Join(e.Tags, ","), e.Description}
		if reason != "" {
			below[i] = []string{cut("  "+oneLine(reason), width)}
		}
	}
	return ui.rows([]string{"NAME", markOf("STATE", utf8), "SOURCE", "TAGS", "DESCRIPTION"}, rows, below...)
}

// markOf returns the mark of a state, or its word where marks cannot be shown.
func markOf(state string, utf8 bool) string {
	switch {
	case !utf8:
		return state
	case state == "STATE":
		return ""
	case state == "offered":
		return "✓"
	case state == "disabled", state == "shadowed", state == "reserved":
		return "○"
	}
	return "✗"
}

// speaksUTF8 reports whether a terminal shows UTF-8, as the environment says.
func speaksUTF8(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

func listEntryOf(e repertoire.Entry, from *origins.Origins) listEntry {
	state, reason := e.Status()
	origin, _ := from.Of(e.Location) // zero without one
	return listEntry{ID: e.ID, Name: e.Name, Description: e.Description, Source: e.Source, Path: e.Location, About: e.About,
		Tags: append([]string{}, e.Tags...), Tokens: e.Tokens, State: state, Reason: reason,
		ShadowedBy: e.ShadowedBy, ShadowedFrom: e.ShadowedFrom, Away: e.Away, From: origin.From, InstalledBy: origin.By}
}
