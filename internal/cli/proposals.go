package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/sandbox"
)

const proposalsHelp = `Proposals lists the proposed changes of skills that wait for a decision, which
agents ("skills mcp --allow-proposals") and people make.

  skills proposals              list what waits; --all lists the others too
  skills proposals show ID      print a proposal, and what it would do now
  skills proposals check ID     print only that; the status is 1 if it fails
  skills proposals approve ID   make the change
  skills proposals reject ID    keep it with the --reason
  skills proposals propose NAME          propose a change, or a new skill
  skills proposals history NAME          list the versions of a skill
  skills proposals revert NAME VERSION   go back to one of them
  skills proposals apply        bring what is approved to its repositories
  skills proposals patch ID     print it as a patch

An ID may be cut short. What a proposal would do is checked: the changed skill
follows the specification, "skills doctor" finds nothing that was not there
before, and the skill's own prompts (its description, and those in evals/*.json)
still find it, and as many of its evals get what their author wants, asked as
"skills evals" asks them. Approve refuses a change
that fails, unless --force is given. On a terminal it shows the change and asks;
elsewhere it needs --yes.

A skill that has been changed since is merged, or the lines in conflict are
named. All files are changed at once or none, and scripts stay scripts. What is
compiled in or fetched stays; --to FOLDER makes a changed copy there. A new
skill goes to your folder (user_dir in the configuration, or ~/.agents/skills)
or to FOLDER. History shows what was changed, and revert undoes it.

A shared catalog (--store) keeps its proposals in the database, for all its
machines. There approve only says that a change is to be made; apply and patch
make it where the skill is pushed from. A new skill goes to the only root, or to
the one whose label --to names.

When the output is piped, each line of the list holds id, state, kind, skill,
agent and time, separated by tabs.

--json prints the list as an object with waiting (how many wait) and proposals,
a list of objects with id, kind, skill, source, dir, base, base_text, made, why,
agent, state, reason, by and decided, as propose prints them, and of a shared
catalog digest, applied (when) and where. For one proposal it
prints these and justification, evidence, diff, conflict (why it does not fit
the skill as it is), moved (the skill was changed since), notes, and check: an
object with ok, findings (rule, severity, path, line, message, hint) and bench:
prompts (how many), evals (how many prompts of its evals, near misses too),
among (which skills they were asked among), before and after (hit1 and hit3: how
many prompts find the skill first, and among the first three; right: how many
evals get what their author wants, as "skills evals" says), and worse, a list of
prompt, rank_before and rank_after.`

// The actions of the command proposals.
const (
	listAction    = "list"
	showAction    = "show"
	checkAction   = "check"
	approveAction = "approve"
	rejectAction  = "reject"
)

// proposalsResult is what "proposals --json" prints as a list.
type proposalsResult struct {
	Waiting   int                 `json:"waiting"`
	Proposals []proposal.Proposal `json:"proposals"`
}

// decision holds the flags of the command proposals.
type decision struct {
	all, force, yes bool
	to, reason      string
}

func newProposalsCommand(e env) *cobra.Command {
	var d decision
	actions := []string{listAction, showAction, checkAction, approveAction, rejectAction}
	cmd := &cobra.Command{
		Use:       "proposals [ACTION] [ID]",
		Short:     "List proposed changes of skills, and decide on them",
		Long:      proposalsHelp,
		Example:   "  skills proposals\n  skills proposals show 0tro8w0\n  skills proposals approve 0tro8w0 --reason \"Tried it\"\n  skills proposals reject 0tro8w0 --reason \"Outdated\"",
		Args:      args(0, 2),
		ValidArgs: actions,
		PreRunE: checked(func(args []string) error {
			action := append(args, listAction)[0]
			switch err := isOneOf("action", action, append(actions, "propose", "history", "revert", "apply", "patch")); {
			case err != nil:
				return err
			case action == listAction && len(args) == 2:
				return errors.New("list takes no ID")
			case action != listAction && len(args) == 1:
				return fmt.Errorf("ID is missing. Usage: skills proposals %s ID", action)
			case action == rejectAction && d.reason == "":
				return errors.New("--reason is missing: whoever proposed the change learns from it")
			}
			return nil
		}),
		RunE: e.onProposals(func(ctx context.Context, s *session, c *catalog, desk proposal.Desk, args []string) error {
			if len(args) < 2 {
				return listProposals(ctx, s.screen, c, desk, d.all)
			}
			return decide(ctx, s, c, desk, args[0], args[1], &d)
		}),
	}
	cmd.AddCommand(newProposeCommand(e), newHistoryCommand(e), newRevertCommand(e), newApplyCommand(e), newPatchCommand(e))
	f := cmd.Flags()
	f.BoolVar(&d.all, "all", false, "list also what was decided on")
	f.StringVar(&d.to, "to", "", "approve: make the skill in this `folder`; of a shared catalog, a new one in the root with this label")
	f.StringVar(&d.reason, "reason", "", "approve, reject: why, as `text`")
	f.BoolVar(&d.force, "force", false, "approve: although the check fails")
	f.BoolVarP(&d.yes, "yes", "y", false, "approve: do not ask")
	return cmd
}

func listProposals(ctx context.Context, ui *screen, c *catalog, desk proposal.Desk, all bool) error {
	list, err := desk.List(ctx, c.agent, all)
	switch {
	case err != nil && list == nil:
		return err
	case err != nil:
		ui.note("%v", err) // of single proposals: the others are listed
	}
	if ui.json {
		open := slices.DeleteFunc(slices.Clone(list), func(p proposal.Proposal) bool { return p.State != proposal.StateOpen })
		return ui.printJSON(proposalsResult{len(open), list})
	}
	if len(list) == 0 {
		ui.note("no proposals")
		return nil
	}
	return ui.rows([]string{"ID", "STATE", "KIND", "SKILL", "AGENT", "TIME"}, mapped(list, func(p proposal.Proposal) []string {
		return cells(p.ID, p.State, p.Kind, p.Skill, p.Agent, p.Made.Format(time.RFC3339))
	}))
}

// decide does what is to be done with one proposal.
func decide(ctx context.Context, s *session, c *catalog, desk proposal.Desk, action, id string, d *decision) error {
	switch action {
	case approveAction:
		return approve(ctx, s, c, desk, id, d)
	case rejectAction:
		p, err := desk.Reject(ctx, c.who(), id, d.reason)
		if err == nil && s.json {
			return s.printJSON(p)
		}
		if err == nil {
			err = s.printText(lineOf("Rejected %s.", p.ID))
		}
		return err
	}
	shown, err := desk.Show(ctx, c.agent, id)
	if err != nil {
		return err
	}
	if s.json {
		err = s.printJSON(shown)
	} else {
		err = printProposal(s.screen, &shown, action == showAction)
	}
	if failed := shown.Conflict != "" || shown.Check != nil && !shown.Check.OK; err == nil && failed && action == checkAction {
		err = errReported
	}
	return err
}

func approve(ctx context.Context, s *session, c *catalog, desk proposal.Desk, id string, d *decision) error {
	o := proposal.Approval{To: d.to, Reason: d.reason, Force: d.force}
	if !d.yes {
		user := s.reader()
		if user == nil {
			return errNeedsYes
		}
		o.Confirm = func(shown proposal.Shown) bool {
			if err := printProposal(s.screen, &shown, true); err != nil {
				return false
			}
			return user.agrees("make this change?")
		}
	}
	done, err := desk.Approve(ctx, c.who(), id, o)
	if err != nil {
		return err
	}
	if _, ok := desk.(*proposal.Shared); ok {
		if s.json {
			return s.printJSON(done)
		}
		return s.printText(s.named(lineOf("Approved %s; \"skills proposals apply\" makes the change where %s is pushed from, and the next push brings it to everybody.", done.ID, done.Source)))
	}
	if _, err := s.rescan(ctx, c); err != nil {
		s.note("the change is made, but the catalog is as before: %v", err)
	}
	if _, err := c.Lookup(ctx, done.Skill, c.agent); isHeld(err) && d.to == "" {
		s.note("%v", err) // such as a project's skill, whose new version nobody has trusted yet
	}
	if s.json {
		return s.printJSON(done)
	}
	for _, n := range done.Notes {
		s.note("%s", n)
	}
	switch {
	case d.to != "":
		return s.printText(s.named(lineOf("Made %s; \"skills list --shadowed\" shows which skill of this name is offered.", filepath.Join(d.to, done.Skill))))
	case done.Kind == proposal.KindNew:
		return s.printText(s.named(madeNew(ctx, s, c, done.Skill)))
	}
	return s.printText(s.named(lineOf("Changed %s; \"skills proposals history %s\" shows its versions.", done.Skill, done.Skill)))
}

// madeNew says where a new skill is, and which command prints it: with the flags of this call,
// because without them another catalog may be asked.
func madeNew(ctx context.Context, s *session, c *catalog, id string) string {
	show := []string{"skills"}
	if flags, err := s.flags(); err == nil {
		for _, f := range flags {
			show = append(show, sandbox.Quote(f))
		}
	}
	show = append(show, "show", id)
	e, err := c.Lookup(ctx, id, c.agent)
	if err != nil {
		return lineOf("Made the new skill %s, which is not in the catalog: %v.", id, err)
	}
	return lineOf("Made the new skill %s in %s; \"%s\" prints it.", id, filepath.Dir(e.Location), strings.Join(show, " "))
}

// printProposal prints a proposal; texts: all of it, not only what it would do.
func printProposal(ui *screen, s *proposal.Shown, texts bool) error {
	var b strings.Builder
	if texts {
		what := map[proposal.Kind]string{proposal.KindUpdate: "Change of the skill", proposal.KindNew: "New skill"}[s.Kind]
		by := ""
		if s.Agent != "" {
			by = ", proposed by " + s.Agent
		}
		b.WriteString(lineOf("%s: %s %s%s on %s, %s", s.ID, what, s.Skill, by, s.Made.Format(time.RFC3339), s.State))
		if s.State != proposal.StateOpen && s.By != "" {
			b.WriteString(lineOf("Decided by: %s on %s", s.By, s.Decided.Format(time.RFC3339)))
		}
		if s.Reason != "" {
			b.WriteString(lineOf("Reason: %s", s.Reason))
		}
		if s.Where != "" {
			b.WriteString(lineOf("Applied on %s: %s", s.Applied.Format(time.RFC3339), s.Where))
		}
		section(&b, "Why", quotedLines(s.Justification))
		section(&b, "Evidence", quotedLines(s.Evidence))
		section(&b, "Change", s.Diff)
		b.WriteString("\n")
	}
	for _, n := range s.Notes {
		b.WriteString(lineOf("Note: %s", n))
	}
	switch {
	case s.Conflict != "":
		b.WriteString(lineOf("Does not fit: %s", s.Conflict))
	case s.Moved:
		b.WriteString("The skill was changed since; the proposal still fits.\n")
	}
	if s.Check != nil {
		printCheck(&b, s.Check)
	}
	return ui.printText(b.String())
}

// quotedLines marks each line of a text that an agent wrote, so that none of them looks like a
// line of the program.
func quotedLines(text string) string {
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> ")
}

func section(w io.Writer, title, text string) {
	if text != "" {
		fmt.Fprintf(w, "\n%s:\n%s\n", title, strings.TrimRight(text, "\n"))
	}
}

// printCheck prints what a check has found.
func printCheck(w io.Writer, c *proposal.Checked) {
	verdict := "passes"
	if !c.OK {
		verdict = "fails"
	}
	fmt.Fprintf(w, "Check: %s\n", verdict)
	for _, p := range c.Findings {
		line := p.String()
		if p.Hint != "" {
			line += " (" + p.Hint + ")"
		}
		fmt.Fprint(w, lineOf("  %s", line))
	}
	b := c.Bench
	if b == nil {
		return
	}
	fmt.Fprintf(w, "  found by its own prompts (%d): first %d, before %d; among the first three %d, before %d\n",
		b.Prompts, b.After.Hit1, b.Before.Hit1, b.After.Hit3, b.Before.Hit3)
	if b.Evals > 0 {
		fmt.Fprintf(w, "  evals that get what their author wants (%d): %d, before %d; %s\n", b.Evals, b.After.Right, b.Before.Right, b.Among)
	}
	for _, p := range b.Worse {
		fmt.Fprint(w, lineOf("  later for %q: rank %s, before %d", tidy.Shorten(tidy.Line(p.Prompt), 60), rankName(p.After), p.Before))
	}
}

// rankName returns a rank for people; 0 is none of the first ten.
func rankName(rank int) string {
	if rank == 0 {
		return "over 10"
	}
	return fmt.Sprint(rank)
}
