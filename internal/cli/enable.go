package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/search"
)

const disableHelp = `Disable writes to your configuration that nobody is offered these skills: those
with these names (or patterns such as "legacy-*"), from a source, or with a tag.
With --agent only that agent does not see them; with --project they are disabled
only in the project of the working folder. "skills enable" takes it back.
With --pin it takes back that the agent of --agent is always offered skills.

Comments, order and quotes in the file stay as they are. If that is not possible
the file is left alone, and the line to write by hand is printed. A name that no
skill has is an error, unless --force is given.

` + editHelp

const enableHelp = `Enable removes from your configuration what "skills disable" wrote: names, a
source, or a tag; with --agent what that agent does not see, with --project what
is disabled in the project of the working folder. A skill that is disabled by
several rules stays so until none is left; "skills config show" lists them.

With --pin it writes that the agent of --agent, one of your configuration, is
always offered the named skills; "skills disable --pin" takes that back.

` + editHelp

const pinHelp = `Pin writes to your configuration that an agent is always offered these skills.
The agent must be one of your configuration. "skills disable --pin" takes it
back.

` + editHelp

const unpinHelp = `Unpin removes from your configuration that an agent is always offered these
skills.

` + editHelp

// editHelp explains editResult.
const editHelp = `--json prints an object with file, changed (what was done) and unchanged (what
was so already, each with the reason).`

// editResult is what commands print with --json that edit the configuration.
type editResult struct {
	File      string   `json:"file"`
	Changed   []string `json:"changed"`
	Unchanged []string `json:"unchanged"`
}

// ruleFlags are the flags of commands that disable and enable.
type ruleFlags struct {
	source, tag    string
	project, force bool
	pin            bool // it is about the pins of an agent
}

// rules returns the rules that arguments and flags name.
func (f *ruleFlags) rules(names []string) []config.Rule {
	var rules []config.Rule
	for _, name := range names {
		rules = append(rules, config.Rule{Kind: config.KindName, Text: name})
	}
	if f.source != "" {
		rules = append(rules, config.Rule{Kind: config.KindSource, Text: f.source})
	}
	if f.tag != "" {
		rules = append(rules, config.Rule{Kind: config.KindTag, Text: f.tag})
	}
	return rules
}

func (f *ruleFlags) command(use, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.pin && (f.source != "" || f.tag != "" || f.project):
			return &usageError{cmd.CommandPath(), errors.New("--pin takes NAMEs, and none of --source, --tag and --project")}
		case f.pin:
			return pinArgs(cmd, args)
		case len(f.rules(args)) == 0:
			return &usageError{cmd.CommandPath(), errors.New("NAME is missing; or give --source or --tag")}
		}
		return nil
	}
	cmd.Flags().StringVar(&f.source, "source", "", "what comes from the source with this `label`")
	cmd.Flags().StringVar(&f.tag, "tag", "", "what has this `tag`")
	cmd.Flags().BoolVar(&f.project, "project", false, "only in the project of the working folder")
	cmd.Flags().BoolVar(&f.pin, "pin", false, "about what the agent of --agent is always offered")
	return cmd
}

// ruleScope returns for whom the rules hold.
func ruleScope(s *session, f *ruleFlags) (config.Scope, error) {
	in := config.Scope{Agent: s.agent}
	if !f.project {
		return in, nil
	}
	if s.agent != "" {
		return in, errors.New("--agent and --project do not go together")
	}
	var err error
	in.Project, err = config.CurrentProject(s.dir)
	return in, err
}

func newDisableCommand(e env) *cobra.Command {
	var f ruleFlags
	cmd := f.command("disable [NAME…]", "Keep skills from being offered", disableHelp,
		"  skills disable legacy-deploy\n  skills disable --tag experimental --project\n  skills --agent reviewer disable --source user:.codex")
	cmd.Flags().BoolVar(&f.force, "force", false, "write also what no skill has")
	cmd.ValidArgsFunction = e.each(skillNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := e.session(cmd)
		if f.pin {
			return runUnpin(cmd.Context(), s, args)
		}
		rules := f.rules(args)
		in, err := ruleScope(s, &f)
		if err == nil && !f.force {
			err = checkKnown(cmd.Context(), s, rules)
		}
		if err != nil {
			return err
		}
		return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
			for _, r := range rules {
				place, err := e.Disable(r, in)
				if err != nil {
					return err
				}
				done(place.Line == 0, "disabled "+ruleText(r), fmt.Sprintf("%s is disabled already: %s:%d", ruleText(r), place.File, place.Line))
			}
			return nil
		})
	}
	return cmd
}

func newEnableCommand(e env) *cobra.Command {
	var f ruleFlags
	cmd := f.command("enable [NAME…]", "Take back that skills are disabled, or pin some", enableHelp, "  skills enable legacy-deploy\n  skills enable --tag experimental --project\n  skills --agent reviewer enable --pin code-review")
	cmd.Flags().BoolVar(&f.force, "force", false, "with --pin: write also a name that no skill has")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if f.pin {
			return e.each(skillNames)(cmd, args, begun)
		}
		return e.each(disabledNames)(cmd, args, begun)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := e.session(cmd)
		if f.pin {
			return runPin(cmd.Context(), s, args, f.force)
		}
		in, err := ruleScope(s, &f)
		if err != nil {
			return err
		}
		return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
			for _, r := range f.rules(args) {
				changed, err := e.Enable(r, in)
				if err != nil {
					return err
				}
				done(changed, "enabled "+ruleText(r), ruleText(r)+" is not disabled there")
			}
			return nil
		})
	}
	return cmd
}

func newPinCommand(e env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "pin NAME…", Short: "Always offer skills to an agent", Long: pinHelp, Example: "  skills --agent reviewer pin code-review",
		Args:              pinArgs,
		ValidArgsFunction: e.each(skillNames),
		RunE:              e.run(func(ctx context.Context, s *session, args []string) error { return runPin(ctx, s, args, force) }),
	}
	cmd.Flags().BoolVar(&force, "force", false, "write also a name that no skill has")
	return cmd
}

func runPin(ctx context.Context, s *session, names []string, force bool) error {
	if !force {
		if err := checkKnown(ctx, s, (&ruleFlags{}).rules(names)); err != nil {
			return err
		}
	}
	return editPins(s, names, (*config.Editor).Pin, "pinned %s for %s", "%s is pinned for %s already")
}

func newUnpinCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use: "unpin NAME…", Short: "Take back that an agent is always offered skills", Long: unpinHelp, Example: "  skills --agent reviewer unpin code-review",
		Args:              pinArgs,
		ValidArgsFunction: e.each(skillNames),
		RunE:              e.run(runUnpin),
	}
}

func runUnpin(_ context.Context, s *session, names []string) error {
	return editPins(s, names, (*config.Editor).Unpin, "unpinned %s for %s", "%s is not pinned for %s")
}

// pinArgs checks the arguments of commands about the pins of an agent.
func pinArgs(cmd *cobra.Command, names []string) error {
	if err := args(1, -1)(cmd, names); err != nil {
		return err
	}
	if cmd.Flag("agent").Value.String() == "" {
		return &usageError{cmd.CommandPath(), errors.New("--agent is missing: it names the agent whose pins change")}
	}
	return nil
}

func editPins(s *session, names []string, change func(e *config.Editor, agent, name string) (bool, error), did, was string) error {
	return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
		for _, name := range names {
			changed, err := change(e, s.agent, name)
			if err != nil {
				return err
			}
			done(changed, fmt.Sprintf(did, name, s.agent), fmt.Sprintf(was, name, s.agent))
		}
		return nil
	})
}

// editConfig changes the configuration file, all or nothing, and prints what was done, or what
// was so already.
func editConfig(s *session, change func(e *config.Editor, done func(changed bool, did, was string)) error) error {
	var result editResult
	err := s.changeConfig(func(e *config.Editor) error {
		result = editResult{e.File, []string{}, []string{}}
		return change(e, func(changed bool, did, was string) {
			if changed {
				result.Changed = append(result.Changed, did)
			} else {
				result.Unchanged = append(result.Unchanged, was)
			}
		})
	})
	switch {
	case err != nil:
		return err
	case s.json:
		return s.printJSON(result)
	}
	for _, what := range result.Unchanged {
		s.note("%s", what)
	}
	for i, what := range result.Changed {
		result.Changed[i] = lineOf("%s", what)
	}
	if len(result.Changed) > 0 && !s.quiet {
		return s.printText(strings.Join(result.Changed, "") + "in " + result.File)
	}
	return nil
}

// changeConfig changes the configuration file, all or nothing. If somebody else changes the file at the same
// time, change is called again.
func (s *session) changeConfig(change func(e *config.Editor) error) error {
	const tries = 20
	err := config.ErrChanged
	for i := 0; i < tries && errors.Is(err, config.ErrChanged); i++ {
		e, openErr := config.Edit(s.config)
		if openErr != nil {
			return openErr
		}
		if err = change(e); err == nil {
			err = e.Save()
		}
	}
	return err
}

// checkKnown returns an error that suggests others for the first rule that matches no skill. Where the
// catalog has no file to be in, nobody can know, and the configuration can be written all the same.
func checkKnown(ctx context.Context, s *session, rules []config.Rule) error {
	all := *s
	all.agent = "" // what the agent does not see may be disabled for it too
	c, err := all.openFresh(ctx, freshen)
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		s.note("nobody has looked whether there is such a skill, and the index is as before: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	if err != nil {
		return err
	}
	for _, r := range rules {
		if err := matchesSkill(ctx, c, r, list); err != nil {
			return fmt.Errorf("%w (--force writes it all the same)", err)
		}
	}
	return nil
}

// matchesSkill returns an error unless a rule matches one of the skills.
func matchesSkill(ctx context.Context, c *catalog, r config.Rule, all []repertoire.Entry) (err error) {
	switch r.Kind {
	case config.KindTag:
		_, err = search.Filter(all, "", r.Text)
	case config.KindSource:
		if labels := c.Labels(); !slices.Contains(labels, r.Text) {
			err = unknown("source", r.Text, "", labels)
		}
	default:
		if slices.ContainsFunc(all, func(e repertoire.Entry) bool { return search.Rules{Names: []string{r.Text}}.MatchSkill(&e.Meta) }) {
			return nil
		}
		var e repertoire.Entry
		if e, err = c.Lookup(ctx, r.Text, nil); err == nil && e.Name != r.Text {
			err = fmt.Errorf("rules name skills by their own names; write %s", e.Name)
		}
	}
	return err
}

// ruleText names what a rule matches.
func ruleText(r config.Rule) string {
	switch r.Kind {
	case config.KindTag:
		return "everything with the tag " + r.Text
	case config.KindSource:
		return "everything from " + r.Text
	}
	return r.Text
}
