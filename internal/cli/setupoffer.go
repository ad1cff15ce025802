package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// offer sets up the clients on this machine: all of them with --yes, on a terminal those
// that the user chooses. Elsewhere it says what it would do.
func (s *setupRun) offer(ctx context.Context) error {
	s.Clients = setup.Offers(s.env, s.Request)
	if len(s.Clients) == 0 {
		return fmt.Errorf("no client was found on this machine; \"skills setup CLIENT\" sets one up all the same, %s", words.ThereAre(client.Names()))
	}
	plan, err := setup.NewPlan(s.env, s.Request)
	if err != nil {
		return err
	}
	if s.yes || s.dryRun {
		return s.carryOut(ctx, plan)
	}
	names := plan.Changed()
	if err := s.printOffer(plan, len(names) > 0 && !s.canAsk()); err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		s.note("nothing is left to set up; \"skills doctor\" shows whether all is well")
		return nil
	case !s.canAsk():
		return fmt.Errorf("nothing was written: nobody can be asked here; name clients, as in %q, or set up all of these with --yes", s.path+" "+strings.Join(names, " "))
	}
	if s.Clients, err = s.chosen(names); err != nil {
		return err
	}
	if plan, err = setup.NewPlan(s.env, s.Request); err != nil {
		return err
	}
	s.yes, s.brief = true, true // the answer was given, and the files were named
	return s.carryOut(ctx, plan)
}

// printOffer prints what a plan would do, with --json only if that is the result.
func (s *setupRun) printOffer(plan *setup.Plan, isResult bool) error {
	dryRun, stdout := s.dryRun, s.stdout
	defer func() { s.dryRun, s.stdout = dryRun, stdout }()
	if s.dryRun = true; s.json {
		if isResult || len(plan.Edits) == 0 {
			return s.printJSON(setupResult{Changes: plan.Changes, Warnings: plan.Warnings})
		}
		s.stdout = s.stderr // it is part of the question
	}
	s.printChanges(setupResult{Changes: plan.Changes})
	s.printWarnings(plan)
	if refused := s.printRefusals(plan.Changes, nil); refused != nil && !slices.ContainsFunc(plan.Changes, func(c setup.Change) bool { return c.Action != setup.Refused }) {
		return refused // else it hinders nobody
	}
	return nil
}

// chosen asks the user which of some clients to set up.
func (s *setupRun) chosen(names []string) ([]client.Client, error) {
	choices := "y/N"
	if len(names) > 1 {
		choices += ", or the names of some"
	}
	answer := s.user.ask("set up %s? [%s]", strings.Join(names, ", "), choices)
	switch some := strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' }); {
	case answer == "y" || answer == "yes":
	case answer == "" || answer == "n" || answer == "no":
		s.note("nothing was written")
		return nil, errReported
	default:
		for _, name := range some {
			if !slices.Contains(names, name) {
				return nil, fmt.Errorf("nothing was written: %w", unknown("client", name, "", names))
			}
		}
		names = some
	}
	var clients []client.Client
	for _, name := range names {
		c, _ := client.Find(name)
		clients = append(clients, c)
	}
	return clients, nil
}

// removeAll takes back everything that was ever written.
func (s *setupRun) removeAll(ctx context.Context) error {
	plan, err := setup.NewRemovalPlan(s.env)
	if err != nil {
		return err
	}
	if len(plan.Changes) == 0 && !s.json {
		s.note("nothing is set up, so there is nothing to take back")
		return nil
	}
	return s.carryOut(ctx, plan)
}

// errAll is the error for a wrong use of --all.
var errAll = errors.New("--all takes back everything: it is for --remove, without clients")
