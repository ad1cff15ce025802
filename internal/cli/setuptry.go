package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/trial"
)

// tries reports whether what is set up is tried.
func (s *setupRun) tries() bool {
	return !s.dryRun && !s.noCheck && !s.Remove && s.listing == ""
}

// tryOut brings the catalog up to date, so that the first prompt is answered, and runs the
// commands that are registered in the files of a result. It prints what goes wrong.
func (s *setupRun) tryOut(ctx context.Context, r *setupResult) error {
	if !slices.ContainsFunc(r.Changes, func(c setup.Change) bool { return c.Action != setup.Refused }) {
		return nil
	}
	sample, err := s.prepareCatalog(ctx, r)
	if err != nil {
		fmt.Fprintf(s.stderr, "skills: what was written is not tried: %s\n", messageOf(err))
		return errReported
	}
	statuses := setup.ScanOf(s.env, s.Clients)
	for i := range statuses {
		st := &statuses[i]
		st.Registrations = slices.DeleteFunc(st.Registrations, func(reg setup.Registration) bool {
			return !slices.ContainsFunc(r.Changes, func(c setup.Change) bool {
				return c.Client == st.Client.Name && c.Kind == reg.Kind && c.Scope == reg.Scope && c.File == reg.File && c.Action != setup.Refused
			})
		})
	}
	if !s.json && len(sample.Skills) > 0 {
		fmt.Fprint(s.stdout, lineOf("sample prompt: %s", cutWords(oneLine(sample.Prompt), screenColumns-len("sample prompt: "))))
	}
	trial.Check(ctx, s.env, statuses, sample)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.printTried(statuses, sample, r)
}

// prepareCatalog indexes the catalog and returns a sample of what it answers.
func (s *setupRun) prepareCatalog(ctx context.Context, r *setupResult) (trial.Sample, error) {
	c, err := s.open(ctx)
	if err != nil {
		return trial.Sample{}, err
	}
	defer c.Close()
	if !s.noIndex {
		setGarbage(100)
		reports, err := completeIndex(ctx, s.session, c, c.Owner().Rescan, true)
		if err != nil {
			return trial.Sample{}, fmt.Errorf("indexing the catalog: %w", err)
		}
		offered, found, err := c.sizes(ctx)
		if err != nil {
			return trial.Sample{}, err
		}
		catalog := "catalog"
		if s.server.url != "" {
			catalog = "catalog of this machine, for when the server does not answer"
		}
		if r.Skills = offered; !s.json {
			fmt.Fprint(s.stdout, lineOf(catalog+": %s offered, of %d found in %s", count(offered, "skill"), found, count(len(reports), "source")))
		}
	}
	if err := s.noteListing(ctx, c); err != nil {
		return trial.Sample{}, err
	}
	return sampleOf(ctx, s.session, c)
}

// noteListing offers to have clients list names only that would list much less then, or says how.
func (s *setupRun) noteListing(ctx context.Context, c *catalog) error {
	const much = 2000 // characters, of which a model has room for 8,000
	if !slices.ContainsFunc(s.Clients, func(c client.Client) bool { return slices.Contains(setup.ListingClients(), c.Name) }) {
		return nil
	}
	skills, err := c.listable(ctx)
	if err != nil {
		return err
	}
	for _, cl := range s.Clients {
		n, chars, names := setup.ListedWhole(s.env, cl, skills)
		if chars-names < much {
			continue
		}
		saves := fmt.Sprintf("leaves %s of %s characters in each request", figures.Thousands(names), figures.Thousands(chars))
		if !s.canAsk() {
			s.note("%s lists the descriptions of %s by itself: \"skills setup %s --listing name-only\" %s", cl.Title, count(n, "skill"), cl.Name, saves)
			continue
		}
		if !s.user.agrees("%s lists the descriptions of %s by itself. To list their names only %s. Do that?", cl.Title, count(n, "skill"), saves) {
			continue
		}
		plan, err := setup.NewListingPlan(s.env, cl, client.User, setup.NamesIn(s.env, cl, client.User, skills), false)
		if err == nil {
			err = plan.Apply(s.env)
		}
		if err != nil {
			return fmt.Errorf("turning down what %s lists: %w", cl.Title, err)
		}
	}
	return nil
}

// sampleOf returns a prompt that a catalog has an answer for.
func sampleOf(ctx context.Context, s *session, c *catalog) (trial.Sample, error) {
	flags, err := s.flags()
	if err != nil {
		return trial.Sample{}, err
	}
	return trial.SampleFor(ctx, c.Catalog, c.agent, flags)
}

// printTried prints what came of running each command, and adds it to a result.
func (s *setupRun) printTried(statuses []setup.Status, sample trial.Sample, r *setupResult) error {
	var failed error
	for _, st := range statuses {
		for _, reg := range st.Registrations {
			if reg.Answer == nil {
				s.noteUntried(st.Client, reg)
				continue
			}
			a := *reg.Answer
			r.Tried = append(r.Tried, setupTried{st.Client.Name, reg.Kind, reg.Scope, reg.File, a})
			switch {
			case !a.OK:
				fmt.Fprintf(s.stderr, "skills: %s: the %s does not work: %s\n", st.Client.Name, kindName(reg.Kind), message(a.Problem))
				if a.Hint != "" {
					fmt.Fprintf(s.stderr, "skills: hint: %s\n", message(a.Hint))
				}
				failed = errReported
			case !s.json:
				fmt.Fprint(s.stdout, lineOf("%s: %s %s", st.Client.Name, kindName(reg.Kind), toldOf(a, reg.Kind, sample)))
			}
			if a.Late {
				s.note("%s: the answer took longer than the hook's deadline, so a prompt would go on without it", st.Client.Name)
			}
		}
	}
	return failed
}

// noteUntried says why a command was not run.
func (s *setupRun) noteUntried(c client.Client, r setup.Registration) {
	err := s.env.MayRun(r)
	if r.Gone {
		err = errors.New(r.Words[0] + " is not there")
	}
	s.note("%s: the %s was not tried: %v", c.Name, kindName(r.Kind), err)
}

// toldOf says what a command has answered.
func toldOf(a setup.Answer, kind string, sample trial.Sample) string {
	text := fmt.Sprintf("answered in %d ms", a.TookMS)
	switch {
	case kind == setup.MCP:
		return text + ": it has " + count(a.Tools, "tool")
	case len(a.Offered) > 0:
		return text + " and offered " + strings.Join(a.Offered, ", ")
	case len(sample.Skills) > 0:
		return text
	}
	return text + ": no skill, as there is none to offer"
}
