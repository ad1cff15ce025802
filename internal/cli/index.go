package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/slots"
	"github.com/repertoire-skills/repertoire/internal/status"
	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

const indexHelp = `Index brings the catalog in step with all sources and embeds what has no vector
yet. Other commands look for changes by themselves, but only for a second, and
leave embedding by a server to index, which does everything. Index also ranks
500 prompts that need no skill in the catalog, unless it is known how they rank
there: from that follows which prompts are offered skills, see --disturb of
"skills context".

At the end the built-in encoder embeds names and descriptions, some 10 ms a
skill. Meanwhile the catalog answers already, and what an interrupted run has
done is kept. --no-contextual leaves that to hooks and to programs that stay
running; "contextual: off" in your configuration does without. On a machine that
needs more than 60 ms for a prompt it is off by itself.

A skill that cannot be used never stops anything: it is reported. Skills that
are gone are removed, except in folders that could not be read. An interrupted
run keeps what it did. A folder that is given with --root counts for one
command; the configuration names those that always count.

A root that cannot be read at all, such as a share that is not mounted, is
away: its skills are kept and listed, but not offered until it is back. So is a
root in whose place another folder lies that is empty, as a mount point is.
--forget removes them. --full reads every skill again and replaces what is
indexed of it, one by one, so that nobody finds fewer skills meanwhile.

What is on this machine comes first. Then roots that are elsewhere
(repositories, archives, sites) are fetched if they are due, or all of them with
--fetch, and read too. With --watch they are fetched meanwhile. A root that
cannot be fetched within ten minutes, or that sends less than 1 KB a second,
stays as it is and is named at the end; the exit status is 0 all the same.

--json prints an object with offered and found (numbers of skills and of
SKILL.md files), mode, needless (of the prompts that need no skill: prompts, how
many were ranked in this catalog, and offered, how many get an offer, and
higher, as in "why --json") and unfit (of those that none of these skills is
for, the same, and near, how many were left out because one may be), db (the
catalog file), took_ms, and sources, a list of objects with source, found,
added, changed, removed, unchanged, refused, unreadable, complete, away and
problems (rule, severity, path, line, message, hint) in what was read.`

// indexRun says what "skills index" is to do.
type indexRun struct {
	full, watch bool
	due, fetch  bool   // fetch roots that are due, or all of them
	without     bool   // the encoder embeds nothing
	forget      string // a root to remove; "" means none
}

func newIndexCommand(e env) *cobra.Command {
	o := indexRun{due: true}
	var lock, place string
	cmd := &cobra.Command{
		Use:     "index",
		Short:   "Bring the catalog up to date",
		Long:    indexHelp,
		Example: "  skills index --root ~/skills\n  skills index --full\n  skills index --forget root:share",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := e.session(cmd)
			if o.watch && s.json {
				return &usageError{cmd.CommandPath(), errors.New("--watch and --json do not go together")}
			}
			if lock != "" {
				return indexLocked(cmd.Context(), s, lock, place)
			}
			return runIndex(cmd.Context(), s, o)
		},
	}
	cmd.Flags().BoolVar(&o.full, "full", false, "read every skill again, whether or not it has changed")
	cmd.Flags().BoolVar(&o.fetch, "fetch", false, "fetch all roots that are elsewhere, also those that are not due")
	cmd.Flags().StringVar(&o.forget, "forget", "", "remove the skills of this `root`, a label or a path, which is away")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "stay running and rescan on the configured schedule")
	cmd.Flags().BoolVar(&o.without, "no-contextual", false, "do not wait for the encoder; programs that stay running, hooks and the next index go on")
	cmd.Flags().StringVar(&lock, "lock", "", "do nothing while another process holds the lock `file`")
	cmd.Flags().StringVar(&place, "place", "", "with --lock: hold this `file` too, and wait for a slot beside it")
	cmd.Flags().MarkHidden("lock") // for the process that a hook starts
	cmd.Flags().MarkHidden("place")
	return cmd
}

// indexLocked is index in the background: for one process at a time, and a bounded number for all catalogs.
func indexLocked(ctx context.Context, s *session, lock, place string) error {
	for _, file := range []string{lock, place} {
		if file == "" {
			continue
		}
		held, err := slots.Take(ctx, file)
		if held == nil {
			return err
		}
		defer held.Close()
	}
	if place != "" {
		turn, err := slots.Turn(ctx, filepath.Dir(place))
		if turn == nil {
			return err
		}
		defer turn.Close()
	}
	s.lastGood = true // as the hook that started this process
	return runIndex(turns.WithClient(ctx, turns.Background), s, indexRun{})
}

func runIndex(ctx context.Context, s *session, o indexRun) error {
	start := time.Now()
	setGarbage(100) // a run of seconds is no slower with half of the memory
	c, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.forget != "" && c.Shared().State != "" {
		return &usageError{"skills index", errors.New("--forget is for folders of this machine; whoever pushes the shared catalog removes a source there")}
	}
	if o.forget != "" {
		if err := forgetRoot(ctx, s, c, o.forget); err != nil {
			return err
		}
	}
	scan := c.Owner().Rescan
	if o.full {
		scan = c.Owner().RescanAll
	}
	reports, err := completeIndex(ctx, s, c, scan, o.without)
	if err == nil && (o.fetch || o.due && !o.watch) {
		var fetched fetchedRoots
		reports, fetched, err = fetchAndIndex(ctx, s, c, reports, o)
		defer fetched.note(s.screen)
	}
	if err != nil {
		return err
	}
	if err := printIndex(ctx, s.screen, c, reports, start); err != nil || !o.watch {
		return err
	}
	return watchCatalog(ctx, s)
}

// fetchAndIndex fetches roots, after what is on this machine has been indexed, and indexes what has come. It returns the
// reports of both.
func fetchAndIndex(ctx context.Context, s *session, c *catalog, reports []repertoire.Report, o indexRun) ([]repertoire.Report, fetchedRoots, error) {
	fetched, err := fetchRoots(ctx, s, o.fetch)
	if fetched.tried == 0 || err != nil {
		return reports, fetched, err
	}
	more, err := completeIndex(ctx, s, c, c.Owner().Rescan, o.without)
	if err == nil && len(more) == len(reports) {
		for i := range more {
			more[i] = reports[i].Then(more[i])
		}
	}
	return more, fetched, err
}

// completeIndex does everything that makes a catalog answer at once, with progress bars: it scans,
// embeds and calibrates, and then lets the encoder embed, unless it is to be left out.
func completeIndex(ctx context.Context, s *session, c *catalog, scan scanner, without bool) ([]repertoire.Report, error) {
	start := time.Now()
	reports, err := s.rescanWith(ctx, scan)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	recordEdits(ctx, s, c) // also of changes that other commands have indexed
	if err := embedMissing(ctx, s.screen, c.Owner().EmbedWords); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil { // a server does not answer, but text ranks too
		s.warnOnce(fmt.Errorf("%w; ranking does without these vectors until nearly all are there (\"skills index\" goes on)", err))
	}
	if err := calibrate(ctx, s.screen, c); err != nil || without {
		return reports, err
	}
	err = embedMissing(ctx, s.screen, func(ctx context.Context, progress func(done, all int)) error {
		return c.Owner().EmbedSentences(ctx, s.sayingFound(took, progress))
	})
	if err != nil {
		return nil, err
	}
	return reports, calibrate(ctx, s.screen, c)
}

// sayingFound returns a function that shows the progress of the encoder. Once, on a terminal, it says that
// skills are found already after so much time, if it lasts until all are embedded.
func (s *session) sayingFound(took time.Duration, progress func(done, all int)) func(done, all int) {
	const many = 500 // texts
	_, tell := terminal(s.stderr)
	return func(done, all int) {
		if tell && all-done >= many {
			s.note("after %s skills are found by their words already; the encoder reads what %s texts mean now, and goes on later if it is interrupted", figures.Duration(took), figures.Thousands(all-done))
		}
		tell = false
		progress(done, all)
	}
}

// calibrate calibrates a catalog, which also answers without.
func calibrate(ctx context.Context, ui *screen, c *catalog) error {
	if err := c.Owner().Calibrate(ctx); err != nil && ctx.Err() == nil {
		ui.note("%v; until \"skills index\" succeeds, the threshold is that of a typical catalog", err)
	}
	return ctx.Err()
}

// forgetRoot removes the skills of a source that is away, given by its label or path.
func forgetRoot(ctx context.Context, s *session, c *catalog, root string) error {
	reports, err := s.rescan(ctx, c)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	var away []string
	for i, src := range c.Config().Sources {
		info := src.Info()
		named := root == info.Label || info.Root != "" && (root == info.Root || abs == info.Root)
		switch {
		case named && reports[i].Away:
			return c.Owner().Forget(ctx, info.Label)
		case named:
			return fmt.Errorf("%s can be read, so its skills would come back; remove the folder from the configuration instead", info.Label)
		case reports[i].Away:
			away = append(away, info.Label)
		}
	}
	if len(away) == 0 {
		return fmt.Errorf("no root %q is away, nor is any other", root)
	}
	return fmt.Errorf("no root %q is away; %s", root, words.ThereAre(away))
}

// sizes returns how many skills are offered, and how many SKILL.md files there are.
func (c *catalog) sizes(ctx context.Context) (offered, found int, err error) {
	if _, found, err = c.Size(ctx); err == nil {
		offered, err = c.Owner().Available(ctx, nil)
	}
	return offered, found, err
}

func printIndex(ctx context.Context, ui *screen, c *catalog, reports []repertoire.Report, start time.Time) error {
	mode, err := c.Mode(ctx)
	if err != nil {
		return err
	}
	offered, found, err := c.sizes(ctx)
	if err != nil {
		return err
	}
	var background search.Background
	if ui.json || !ui.quiet && c.Shared().State == "" { // nobody else reads it, and it costs a prompt
		if background, err = status.Background(ctx, c.Catalog, c.agent); err != nil {
			return err
		}
	}
	if ui.json {
		took := figures.Milliseconds(time.Since(start))
		return ui.printJSON(indexResult{offered, found, mode, background.Needless, background.Work, c.Path(), took, append([]repertoire.Report{}, reports...)})
	}
	total := index.Total(reports)
	n := figures.Thousands
	if now := c.Shared(); now.State != "" {
		return ui.printText(lineOf("%s offered, of %s found, as the shared catalog is now", count(offered, "skill"), n(found)) +
			lineOf("ranking: %s", mode) + lineOf("copy: %s", filepath.Dir(c.Path())))
	}
	text := lineOf("%s offered, of %s found in %s: %s added, %s changed, %s removed",
		count(offered, "skill"), n(found), count(len(reports), "source"), n(total.Added), n(total.Changed), n(total.Removed))
	if !ui.quiet {
		text += lineOf("ranking: %s", mode)
		if measured := background.Measured(); measured != "" {
			text += lineOf("silence: %s", measured)
		}
		text += lineOf("catalog: %s", c.Path())
	}
	if err = ui.printText(text); err == nil && !ui.quiet {
		err = noteLeftOut(ctx, ui, c, reports)
	}
	// Once: who has seen them need not see them with every index.
	first := total.Added > 0 && total.Unchanged+total.Changed+total.Removed == 0
	if problems := len(total.Problems); problems > 0 && (first || ui.verbose) {
		ui.note("%s found in the skills; \"skills doctor\" shows what matters", count(problems, "problem"))
	}
	return err
}

// noteLeftOut names the first skills that are refused, and the first things that somebody may
// mean as skills and that are none.
func noteLeftOut(ctx context.Context, ui *screen, c *catalog, reports []repertoire.Report) error {
	const most = 3
	refused, err := doctor.Refused(ctx, c.Catalog)
	for _, f := range refused[:min(most, len(refused))] {
		ui.note("%v", &doctor.RefusedError{Finding: f})
	}
	if more := len(refused) - most; more > 0 {
		ui.note("… and %s more that are refused; \"skills doctor\" counts them, --all shows each", figures.Thousands(more))
	}
	over := doctor.PassedOver(c.Config().Sources, reports)
	for _, p := range over[:min(most, len(over))] {
		ui.note("%s: %s; %s", p.Path, p.Message, p.Hint)
	}
	if more := len(over) - most; more > 0 {
		ui.note("… and %s more that are no skills of their own; \"skills doctor --all\" shows each", figures.Thousands(more))
	}
	return err
}

// watchCatalog reopens the catalog with a schedule and waits to be interrupted.
func watchCatalog(ctx context.Context, s *session) error {
	s.verbose = true // the log of rescans is what one watches
	cfg, err := s.readConfig(true)
	if err != nil {
		return err
	}
	if cfg.Schedule == repertoire.Never {
		return errors.New("the configured schedule is never, so there is nothing to watch")
	}
	var opened atomic.Pointer[catalog]
	cfg.Changed = func() {
		if c := opened.Load(); c != nil {
			recordEdits(ctx, s, c)
		}
	}
	watched, err := s.openWith(ctx, cfg)
	if err != nil {
		return err
	}
	defer watched.Close()
	opened.Store(watched)
	s.note("watching; interrupt to end (process %d)", os.Getpid())
	<-ctx.Done()
	return nil
}
