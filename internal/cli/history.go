package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/proposal"
)

const historyHelp = `History lists the versions of a skill that are kept: what it was before the
first approved proposal, each change since by "skills proposals approve" and
"skills proposals revert", and edits that "skills index" and running servers
have noticed. The newest 50 versions are kept, up to 10 MB for a skill, and
always the last two.

Of a shared catalog it lists the approved changes of the skill instead.

--record keeps the skill as it is now, which begins the history of a skill that
has none: from then on edits are kept too.

The versions are folders of files below history in $REPERTOIRE_STATE, or the
folder repertoire in your state folder, each with a log that you can read.

When the output is piped, each line holds version, time, who, digest and why,
separated by tabs.

--json prints an object with skill, folder and versions, a list of objects with
version (a number), time, who, why, digest, and proposal (its ID, if one made
the version).`

func newHistoryCommand(e env) *cobra.Command {
	var record bool
	cmd := &cobra.Command{
		Use:               "history NAME",
		Short:             "List the versions of a skill",
		Long:              historyHelp,
		Example:           "  skills proposals history pdf-forms\n  skills proposals history pdf-forms --record",
		Args:              args(1, 1),
		ValidArgsFunction: e.first(skillNames),
		RunE: e.onProposals(func(ctx context.Context, s *session, c *catalog, desk proposal.Desk, args []string) (err error) {
			var log proposal.Log
			if record {
				var box *proposal.Box
				if box, err = boxOf(desk); err == nil {
					log, err = box.Record(ctx, c.who(), args[0])
				}
			} else {
				log, err = desk.History(ctx, c.agent, args[0])
			}
			if err != nil {
				return err
			}
			_, shared := desk.(*proposal.Shared)
			return printHistory(s.screen, &log, shared)
		}),
	}
	cmd.Flags().BoolVar(&record, "record", false, "keep the skill as it is now")
	return cmd
}

func printHistory(ui *screen, log *proposal.Log, shared bool) error {
	log.Versions = append([]proposal.Version{}, log.Versions...)
	if ui.json {
		return ui.printJSON(log)
	}
	if len(log.Versions) == 0 {
		none := "no version of %s is kept; --record keeps the skill as it is"
		if shared {
			none = "no change of %s was approved yet"
		}
		ui.note(none, log.Skill)
		return nil
	}
	return ui.rows([]string{"VERSION", "TIME", "WHO", "DIGEST", "WHY"}, mapped(log.Versions, func(v proposal.Version) []string {
		return cells(v.Number, v.Time.Format(time.RFC3339), v.Who, v.Digest[:min(len(v.Digest), len("sha256:")+12)], v.Why)
	}))
}

const revertHelp = `Revert makes a skill what it was in a version that "skills proposals history"
lists. VERSION is its number, or the start of its digest. The result is a new
version, so that a revert can be reverted. All files are changed at once, or
none. Revert asks on a terminal, unless --yes is given.

--json prints what "skills proposals history --json" prints.`

func newRevertCommand(e env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:               "revert NAME VERSION",
		Short:             "Make a skill what it was",
		Long:              revertHelp,
		Example:           "  skills proposals revert pdf-forms 3",
		Args:              args(2, 2),
		ValidArgsFunction: e.first(skillNames),
		RunE: e.onProposals(func(ctx context.Context, s *session, c *catalog, desk proposal.Desk, args []string) error {
			box, err := boxOf(desk)
			if err != nil {
				return err
			}
			if !s.confirmed(yes, "make %s what it was in version %s?", args[0], args[1]) {
				return errReported
			}
			log, err := box.Revert(ctx, c.who(), args[0], args[1])
			if err != nil {
				return err
			}
			if _, err := s.rescan(ctx, c); err != nil {
				s.note("the skill is changed, but the catalog is as before: %v", err)
			}
			return printHistory(s.screen, &log, false)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// recordEdits keeps what has become of skills that have a history.
func recordEdits(ctx context.Context, s *session, c *catalog) {
	var edited []string
	desk, err := ownersDesk(s, c)
	if box, ok := desk.(*proposal.Box); ok {
		edited, err = box.Rescan(ctx)
	}
	for _, name := range edited {
		s.noteVerbose("kept the edit of %s in its history", name)
	}
	if err != nil && ctx.Err() == nil {
		s.note("keeping edited skills in the history: %v", err)
	}
}
