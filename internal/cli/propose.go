package cli

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/proposal/check"
)

const proposeHelp = `Propose keeps a change of a skill, or a new skill, for a person to decide on
("skills proposals"). It changes no skill.

--diff FILE (- for standard input) is a unified diff of the files of the skill
NAME, as a model writes it: line numbers and counts may be wrong, and fences and
prefixes such as a/ do not matter. Each hunk must fit in exactly one place, so
it needs enough lines around the change. New and removed files are taken, but no
renames. --files FOLDER holds the files of a new skill NAME.

--why says why, --evidence FILE holds what happened: a log, an error, a review.
The same proposal twice is one. At most 200 proposals wait, of them 50 of one
agent, and one agent makes at most 30 in an hour. With --agent NAME it is the
proposal of that agent, for which other skills than those in its scope do not
exist.

A proposal is a folder below proposals/open in $REPERTOIRE_STATE, or the folder
repertoire in your state folder, with files that you can read and change. The
proposals of a shared catalog (--store) are in its database.

--json prints an object with id, kind (update, new), skill, source, dir (of the
skill in its source), base and base_text (digests of the skill and of its
SKILL.md when it was proposed), made (when), agent, why (the first line), state
(open; or, if the same was decided on before, rejected), and then reason, by
(who decided) and decided (when). In a shared catalog it may also have digest
(of the skill with an approved change), applied (when) and where.`

func newProposeCommand(e env) *cobra.Command {
	var diff, folder, why, evidence string
	cmd := &cobra.Command{
		Use:               "propose NAME",
		Short:             "Propose a change of a skill, or a new skill",
		Long:              proposeHelp,
		Example:           "  skills proposals propose pdf-forms --diff change.diff --why \"Step 3 fails\"\n  skills proposals propose release-notes --files ./draft --why \"Asked often\"",
		Args:              args(1, 1),
		ValidArgsFunction: e.first(skillNames),
		PreRunE: checked(func([]string) error {
			switch {
			case (diff == "") == (folder == ""):
				return errors.New("give either --diff, the change of a skill, or --files, the files of a new one")
			case why == "":
				return errors.New("--why is missing: say why the change helps")
			}
			return nil
		}),
		RunE: e.onProposals(func(ctx context.Context, s *session, c *catalog, desk proposal.Desk, args []string) error {
			proof, err := readText(ctx, s.screen, evidence)
			if err != nil {
				return err
			}
			var p proposal.Proposal
			if diff != "" {
				text, err := readText(ctx, s.screen, diff)
				if err != nil {
					return err
				}
				p, err = desk.ProposeUpdate(ctx, c.who(), proposal.Change{Skill: args[0], Diff: text, Justification: why, Evidence: proof})
				return printProposed(s.screen, p, err)
			}
			files, _, err := proposal.ReadFolder(ctx, folder)
			if err == nil {
				p, err = desk.ProposeNew(ctx, c.who(), proposal.Addition{Name: args[0], Files: files, Justification: why, Evidence: proof})
			}
			return printProposed(s.screen, p, err)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&diff, "diff", "", "the change of the skill is in this `file`; - means standard input")
	f.StringVar(&folder, "files", "", "the files of the new skill are in this `folder`")
	f.StringVar(&why, "why", "", "why the change helps, as `text`")
	f.StringVar(&evidence, "evidence", "", "what happened is in this `file`")
	return cmd
}

// readText reads a text file; "-" is standard input, and "" no file.
func readText(ctx context.Context, ui *screen, name string) (string, error) {
	switch name {
	case "":
		return "", nil
	case "-":
		return ui.prompt(ctx, []string{"-"})
	}
	data, err := os.ReadFile(name)
	return string(data), err
}

func printProposed(ui *screen, p proposal.Proposal, err error) error {
	switch {
	case err != nil:
		return err
	case ui.json:
		return ui.printJSON(p)
	case p.State == proposal.StateRejected:
		return ui.printText(lineOf("The same was rejected as %s: %s", p.ID, p.Reason))
	}
	return ui.printText(ui.named(lineOf("Kept as %s, which waits for a decision; \"skills proposals show %s\" shows what it would do.", p.ID, p.ID)))
}

// ownersDesk opens the proposals for a command.
func ownersDesk(s *session, c *catalog) (proposal.Desk, error) {
	settings, err := s.settings()
	if err != nil {
		return nil, err
	}
	return check.OpenOwners(c.Catalog, &settings)
}

// boxOf returns the proposals of a catalog of folders, which alone has what its caller does.
func boxOf(desk proposal.Desk) (*proposal.Box, error) {
	box, ok := desk.(*proposal.Box)
	if !ok {
		return nil, errors.New("the catalog is shared: change its skills where they are pushed from, or propose a change")
	}
	return box, nil
}

// onProposals is onCatalog for a command about proposals.
func (e env) onProposals(do func(ctx context.Context, s *session, c *catalog, desk proposal.Desk, args []string) error) func(*cobra.Command, []string) error {
	return e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
		desk, err := ownersDesk(s, c)
		if err != nil {
			return err
		}
		return do(ctx, s, c, desk, args)
	})
}

// who returns who runs the command.
func (c *catalog) who() proposal.Who {
	if c.agent != nil {
		return proposal.Who{Agent: c.agent, Name: c.agent.Name}
	}
	return proposal.Who{Name: userName()}
}

// userName returns who runs the command; "" means unknown.
func userName() string { return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME")) }
