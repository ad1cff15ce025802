package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/pushback"
	"github.com/repertoire-skills/repertoire/proposal"
)

const applyHelp = `Apply brings approved changes of a shared catalog back to the git repositories
that its skills are pushed from. Each becomes a branch "proposal/ID" with one
commit on top of what is checked out, whose message says who proposed and who
approved it. What is checked out stays as it is. Merge the branch and push the
skills ("skills push"): then everybody has the change.

Without an ID it applies all that are approved and not applied yet, of the roots
that "skills push" would push from here: what --root names and those of your
configuration. --push REMOTE pushes the branches to a remote of git, such as
origin. A change that does not fit what is in the repository is left out, and the
status is then 1. With an ID it makes the branch again, for instance if somebody
has lost it.

Where there is no git repository, "skills proposals patch ID" prints a change as
a patch.

When the output is piped, each line holds the ID, the skill, and where the change
is, separated by tabs.

--json prints an object with others (how many wait for other roots) and
proposals, a list of objects as "skills proposals --json" prints them, and error
(why one was not applied).`

// appliedResult is what "proposals apply --json" prints.
type appliedResult struct {
	Others    int           `json:"others"`
	Proposals []appliedItem `json:"proposals"`
}

type appliedItem struct {
	proposal.Proposal
	Error string `json:"error,omitempty"`
}

func newApplyCommand(e env) *cobra.Command {
	var o pushback.Options
	cmd := &cobra.Command{
		Use:               "apply [ID…]",
		Short:             "Bring approved changes of a shared catalog to their repositories",
		Long:              applyHelp,
		Example:           "  skills proposals apply --store postgres://db.example/skills --root ./skills\n  skills proposals apply --root ./skills --push origin",
		ValidArgsFunction: arguments(anyText()),
	}
	cmd.RunE = e.run(func(ctx context.Context, s *session, ids []string) error {
		settings, err := s.settings()
		if err != nil {
			return err
		}
		db, err := openDatabase(s, cmd.CommandPath(), settings, true)
		if err != nil {
			return err
		}
		defer db.Close()
		var roots push.Options
		sources, err := pushedSources(s, cmd, &settings, &roots)
		if err != nil {
			return err
		}
		o.IDs, o.Origins = ids, make(map[string]string)
		for label, origin := range roots.Origins {
			o.Origins[label] = origin.ID
		}
		list, others, err := pushback.Apply(ctx, db, sources, &o)
		if err != nil && len(list) == 0 {
			return err
		}
		return errors.Join(printApplied(s.screen, list, others), err)
	})
	cmd.Flags().StringVar(&o.Remote, "push", "", "push the branches to this `remote` of git, such as origin")
	return cmd
}

func printApplied(ui *screen, list []pushback.Result, others []string) error {
	out := appliedResult{Others: len(others), Proposals: []appliedItem{}}
	var rows [][]string
	failed := false
	for _, r := range list {
		item := appliedItem{Proposal: r.Proposal}
		if r.Err != nil {
			item.Error, failed = r.Err.Error(), true
			ui.note("%s was not applied to %s: %v", r.ID, r.Skill, r.Err)
		} else {
			rows = append(rows, cells(r.ID, r.Skill, r.Where))
		}
		out.Proposals = append(out.Proposals, item)
	}
	if ui.json {
		return errors.Join(ui.printJSON(out), reportedIf(failed))
	}
	if len(list) == 0 {
		ui.note("no approved change of these roots waits to be applied")
	}
	if len(others) > 0 {
		slices.Sort(others)
		ui.note("%s to apply where other roots are pushed from: %s", count(len(others), "approved change"), strings.Join(slices.Compact(others), ", "))
	}
	return errors.Join(ui.rows([]string{"ID", "SKILL", "WHERE"}, rows), reportedIf(failed))
}

func newPatchCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "patch ID",
		Short: "Print an approved change of a shared catalog as a patch",
		Long: `Patch prints an approved change of a shared catalog as a patch for the skill as
the catalog has it. Its paths begin in the folder of the skill's root: "git am
--keep-cr --directory=FOLDER" makes a commit of it, and "patch -p1" in the
folder changes the files. It says who proposed and who approved it. "skills
proposals apply" then notes that the change is made.`,
		Example:           "  skills proposals patch 0tro8w0 | git am --keep-cr --directory=skills",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText()),
		RunE: e.onProposals(func(ctx context.Context, s *session, _ *catalog, desk proposal.Desk, args []string) error {
			shared, ok := desk.(*proposal.Shared)
			if !ok {
				return fmt.Errorf("only a shared catalog has changes that are approved and not made; \"skills proposals show %s\" prints this one", args[0])
			}
			text, err := shared.Patch(ctx, args[0])
			if err == nil {
				_, err = io.WriteString(s.exact(), text)
			}
			return err
		}),
	}
}
