package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// keepListings keeps in step how clients list skills by themselves, where setup has turned that down: what is
// new is listed by name, what is disabled is not listed, and what is gone leaves nothing.
func (e env) keepListings(cmd *cobra.Command, _ []string) {
	s := e.session(cmd)
	if err := s.keepListings(cmd.Context()); err != nil {
		s.note("the listings of clients are as before: %v", err)
	}
}

func (s *session) keepListings(ctx context.Context) error {
	machine, err := s.setupEnv("")
	if err != nil {
		return nil // nothing is set up
	}
	for _, c := range client.All() {
		scopes, err := setup.ListingsSet(machine, c)
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			if err := s.keepListing(ctx, machine, c, scope); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepListing keeps in step how one client lists skills. It does so until nothing is left to change: another
// process may have done it at the same time with an older configuration.
func (s *session) keepListing(ctx context.Context, machine *setup.Env, c client.Client, scope client.Scope) error {
	s.lastGood, s.warn = true, func(error) {} // the command has told
	const tries = 5
	var failed error
	told := false
	for range tries {
		skills, err := s.listedBy(ctx, machine, c, scope)
		if err != nil {
			return err
		}
		plan, err := setup.NewListingPlan(machine, c, scope, skills, true)
		if err != nil {
			return err
		}
		for _, ch := range plan.Changes {
			if ch.Action == setup.Refused {
				return errors.New(ch.Message)
			}
		}
		if len(plan.Edits) == 0 {
			return nil
		}
		if failed = plan.Apply(machine); failed == nil && !told {
			told = true
			s.note("what %s lists by itself is kept in step, in %s", c.Title, plan.Edits[0].Shown)
		}
	}
	return failed
}

// listedBy returns the names of the skills that a client lists by itself, and whether they are disabled.
func (s *session) listedBy(ctx context.Context, machine *setup.Env, lists client.Client, scope client.Scope) (map[string]bool, error) {
	c, err := s.openFresh(ctx, freshen)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	skills, err := c.listable(ctx)
	return setup.NamesIn(machine, lists, scope, skills), err
}

// indexBehind brings the catalog up to date in the background after a command that changed what is
// offered, if a client's hook asks it: its next prompt finds the skills read and the threshold measured.
func (e env) indexBehind(cmd *cobra.Command, _ []string) {
	e.keepListings(cmd, nil)
	s := e.session(cmd)
	if err := s.indexBehind(cmd.Context()); err != nil {
		s.note("the next prompt brings the catalog up to date: %v", err)
	}
}

func (s *session) indexBehind(ctx context.Context) error {
	machine, err := s.setupEnv("")
	if err != nil || !slices.ContainsFunc(setup.Scan(machine), asksHere) {
		return nil // nobody asks soon
	}
	s.lastGood, s.warn = true, func(error) {} // the command has told
	c, err := s.open(ctx)
	if err != nil {
		return err
	}
	db, shared := c.Path(), c.Shared().State != ""
	if err := c.Catalog.Close(); err != nil || shared {
		return err
	}
	return s.goOn(db)
}

// goOn indexes in the background what a command has left unread.
func (s *session) goOn(db string) error {
	state, err := config.StateDir()
	if err != nil {
		return err
	}
	index := hook.Background{State: state, Dir: s.dir, DB: db, Args: s.indexArgs}
	return index.Start()
}

// asksHere reports whether a client has a hook that asks the catalog of this machine.
func asksHere(st setup.Status) bool {
	return slices.ContainsFunc(st.Registrations, func(r setup.Registration) bool {
		return r.Kind == setup.Hook && !r.Gone && r.Host() == ""
	})
}

// indexArgs returns the arguments with which this program indexes in the background.
func (s *session) indexArgs(db, lock, place string) ([]string, error) {
	flags, err := s.flags()
	return append(flags, "--db", db, "--quiet", "index", "--lock", lock, "--place", place), err
}
