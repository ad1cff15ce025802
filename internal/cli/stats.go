package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/usage"
)

const statsHelp = `Stats counts what the log of usage says: which skills were offered, loaded and
run, which were offered but never loaded, which were never offered, which a
session loaded without an offer, and which prompts got nothing. The tokens that
a skill added to conversations are known of those that this program holds
itself.

The log is off until "skills config set usage true". It stays on this
machine, in the folder usage of $REPERTOIRE_STATE or your state folder: a file
of JSON lines for each month, of the last twelve months. It has no prompts
unless the configuration says "usage: {prompts: true}". Ranking does not depend
on it. "skills stats forget" (or "usage forget", or --forget) removes it.

With --store, or a shared catalog in the configuration, stats counts the usage
of all its nodes ("skills mcp --http"). They keep it in its database for twelve
months, in lines of the same form. The users of the nodes need the role
repertoire_node ("skills store roles"). "skills stats forget --store URL"
empties that table, as a user who may push.

A load is seen when a model calls read_skill or "skills show", or when its
client tells the hook which tools it used. The table of clients says which ones
have told of loads; a skill that such a client never loads is not needed, of
other clients nobody knows.

--json prints an object with from, events, damaged (lines that cannot be read),
prompts, needed (that are no replies, logs or code), silent (of the needed, how
many got nothing), clients (name, prompts, offers, loads), callers (the same, of
servers, by the names of their tokens), skills (id, gone, offered, searched,
loaded, read, ran, failed_runs, run_seconds, tokens, followed (offers after
which the session loaded it)), wordings (name, offers, followed: how often the
best skill was loaded, by how certain its offer was), never (skills that were
never offered), gaps (prompt, times) and misses (id, times, searched, prompt).`

func newStatsCommand(e env) *cobra.Command {
	days := 30
	var forget bool
	cmd := &cobra.Command{
		Use:     "stats [forget]",
		Aliases: []string{"usage"},
		Short:   "Count which skills were offered, loaded and never used",
		Long:    statsHelp,
		Example: "  skills stats\n  skills stats --days 365 --json\n  skills usage forget",
		Args:    args(0, 1),
		PreRunE: checked(func(args []string) error {
			if len(args) > 0 {
				forget = true
				return isOneOf("action", args[0], []string{"forget"})
			}
			return atLeast("days", days, 1)
		}),
		ValidArgs: []string{"forget"},
		RunE: e.run(func(ctx context.Context, s *session, args []string) error {
			state, err := config.StateDir()
			if err != nil {
				return err
			}
			if forget {
				return forgetUsage(ctx, s, state)
			}
			return s.ask(ctx, freshen, args, func(ctx context.Context, s *session, c *catalog, _ []string) error {
				return runStats(ctx, s, c, state, days)
			})
		}),
	}
	cmd.Flags().IntVar(&days, "days", days, "count the last `number` of days")
	cmd.Flags().BoolVar(&forget, "forget", false, "remove the log instead")
	return cmd
}

// forgetUsage removes the log of this machine or, if a flag names a shared catalog, of its nodes. A
// configuration that names one is not enough: its log belongs to others too.
func forgetUsage(ctx context.Context, s *session, state string) error {
	settings, err := s.settings()
	switch {
	case err != nil:
		return err
	case settings.Store != "" && s.store == "":
		return &usageError{"skills stats", fmt.Errorf("whose log? --store %s means the usage of all nodes there, --store %s the log of this machine", endpoint.Shown(settings.Store), config.NoStore)}
	case settings.Store == "":
		if err := usage.New(state, usage.Options{}).Forget(ctx); err != nil {
			return err
		}
		s.note("the log of usage is removed")
		return nil
	}
	db, err := openDatabase(s, "skills stats", settings, false)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := usage.New(state, usage.Options{Shared: db}).Forget(ctx); err != nil {
		return err
	}
	s.note("the usage of all nodes of %s is removed", db.Name())
	return nil
}

func runStats(ctx context.Context, s *session, c *catalog, state string, days int) error {
	cfg := c.Config()
	shared, _ := cfg.Store.(store.UsageLog)
	log := usage.New(state, usage.Options{Shared: shared})
	entries, err := c.List(ctx, c.agent, &repertoire.ListOptions{Person: true})
	if err != nil {
		return err
	}
	counts, err := log.Stats(ctx, time.Now().AddDate(0, 0, -days), s.agent, entries)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(counts)
	}
	switch {
	case shared != nil:
		s.note("this is the usage of all nodes of the shared catalog; --store %s counts the log of this machine", config.NoStore)
	case !cfg.Usage:
		s.note("nothing is noted now; \"skills config set usage true\" notes what is offered")
	}
	if counts.Events == 0 {
		s.note("no event in the last %s", count(days, "day"))
		return nil
	}
	if counts.Damaged > 0 {
		s.note("%s cannot be read", count(counts.Damaged, "line"))
	}
	return printStats(s.screen, counts, len(entries))
}

// printStats prints the counts, the longest lists cut.
func printStats(ui *screen, s *usage.Stats, skills int) error {
	fmt.Fprintf(ui.stdout, "%s since %s. Of %s, %s wanted work done; %s of these got no skill.\n\n", count(s.Events, "event"), s.From.Local().Format(time.DateOnly),
		count(s.Prompts, "prompt"), figures.Thousands(s.Needed), figures.Thousands(s.Silent))
	clients := mapped(s.Clients, func(c usage.Client) []string {
		return cells(c.Name, c.Prompts, c.Offers, c.Loads, unseenLoads(c))
	})
	wordings := mapped(s.Wordings, func(w usage.Wording) []string {
		return cells(w.Name, w.Offers, w.Followed, figures.Percent(float64(w.Followed)/float64(max(1, w.Offers))))
	})
	counts := mapped(s.Skills[:min(len(s.Skills), 20)], func(n usage.Count) []string {
		if n.Gone {
			n.ID += " (gone)"
		}
		return cells(n.ID, n.Offered, n.Followed, n.Loaded, n.Searched, n.Read, runsOf(n), n.Tokens)
	})
	callers := mapped(s.Callers, func(c usage.Client) []string { return cells(c.Name, c.Prompts, c.Offers, c.Loads) })
	err := errors.Join(ui.rows([]string{"CLIENT", "PROMPTS", "OFFERS", "LOADS", ""}, clients),
		ui.further([]string{"CALLER", "PROMPTS", "OFFERS", "LOADS"}, callers),
		ui.further([]string{"OFFERED AS", "OFFERS", "LOADED AFTER", ""}, wordings),
		ui.further([]string{"SKILL", "OFFERED", "LOADED AFTER", "LOADED", "SEARCHED", "FILES READ", "RUNS", "TOKENS"}, counts))
	noteMore(ui, len(s.Skills)-20, "skill")
	unloaded, names := 0, []string{}
	for _, n := range s.Skills {
		if n.Offered > 0 && n.Loaded == 0 {
			unloaded++
			names = append(names, n.ID)
		}
	}
	printNames(ui, "Offered but never loaded: "+figures.Thousands(unloaded), names)
	printNames(ui, fmt.Sprintf("Never offered: %s of %s", figures.Thousands(len(s.Never)), count(skills, "skill")), s.Never)
	printNames(ui, "Loaded without an offer", mapped(s.Misses, func(m usage.Miss) string {
		return fmt.Sprintf("%s (%d×, %d after a search)", m.ID, m.Times, m.Searched)
	}))
	printNames(ui, "Prompts that got nothing", mapped(s.Gaps, func(g usage.Gap) string { return fmt.Sprintf("%q (%d×)", g.Prompt, g.Times) }))
	return err
}

// runsOf returns how often commands of a skill ran, and how many failed.
func runsOf(n usage.Count) string {
	if n.FailedRuns == 0 {
		return strconv.Itoa(n.Ran)
	}
	return fmt.Sprintf("%d (%d failed)", n.Ran, n.FailedRuns)
}

// printNames prints the first names of a list under a title, if there are any: one on a line, whatever
// somebody has written into the log.
func printNames(ui *screen, title string, names []string) {
	const most = 10
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(ui.stdout, "\n%s\n  %s\n", title, strings.Join(mapped(names[:min(len(names), most)], tidy.Line), "\n  "))
	noteMore(ui, len(names)-most, "")
}

// noteMore tells how many are left out.
func noteMore(ui *screen, n int, noun string) {
	if n > 0 {
		fmt.Fprintf(ui.stdout, "  and %s more; --json has all\n", strings.TrimSpace(strconv.Itoa(n)+" "+noun))
	}
}

// unseenLoads says why a client may have told of no loads.
func unseenLoads(c usage.Client) string {
	if c.Loads > 0 || c.Offers == 0 {
		return ""
	}
	if known, ok := client.Find(c.Name); ok && known.Hook != nil {
		if _, tells := known.Hook.Event(client.Tool); tells {
			return "loads are seen if its hook after tools is set up"
		}
	}
	return "its loads are not seen, but for those through read_skill or \"skills show\""
}
