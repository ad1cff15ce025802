package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/index"
)

const indexHelp = `Index brings the catalog in step with all sources and embeds what has no vector
yet. Other commands look for changes by themselves, but only for a second, and
leave embedding by a server to index, which does everything.

A skill that cannot be used never stops anything: it is reported. Skills that
are gone are removed only when their source could be read completely. An
interrupted run keeps what it did. A folder that is given with --root counts for
one command; the configuration names those that always count.

--json prints an object with offered and found (numbers of skills and of
SKILL.md files), mode, db (the catalog file), took_ms, and sources, a list of
objects with source, found, added, changed, removed, unchanged, refused,
complete and problems (rule, severity, path, line, message, hint) in what was
read.`

func (a *app) indexCommand() *cobra.Command {
	var full, watch bool
	var lock string
	cmd := &cobra.Command{
		Use:     "index",
		Short:   "Bring the catalog up to date",
		Long:    indexHelp,
		Example: "  skills index --root ~/skills\n  skills index --full\n  skills index --watch",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && a.json {
				return &usageError{cmd.CommandPath(), errors.New("--watch and --json do not go together")}
			}
			if lock != "" {
				return a.indexLocked(cmd.Context(), lock)
			}
			return a.index(cmd.Context(), full, watch)
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "forget what is indexed and read every skill again")
	cmd.Flags().BoolVar(&watch, "watch", false, "stay running and rescan on the configured schedule")
	cmd.Flags().StringVar(&lock, "lock", "", "do nothing while another process holds the lock `file`")
	cmd.Flags().MarkHidden("lock") // for the process that a hook starts
	return cmd
}

// indexLocked is index for one process at a time.
func (a *app) indexLocked(ctx context.Context, name string) error {
	lock := flock.New(name, flock.SetPermissions(0o600))
	// The process that started this one may hold the lock for another moment.
	wait, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := lock.TryLockContext(wait, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", name, err)
	}
	defer lock.Close()
	a.lastGood = true // as the hook that started this process
	return a.index(ctx, false, false)
}

func (a *app) index(ctx context.Context, full, watch bool) error {
	start := time.Now()
	setGarbage(100) // a run of seconds is no slower with half of the memory
	c, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if full {
		if err := c.Forget(ctx); err != nil {
			return err
		}
	}
	reports, err := a.rescan(ctx, c)
	if err != nil {
		return err
	}
	if err := a.embed(ctx, c); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil { // a server does not answer, but text ranks too
		a.note("%v; ranking does without these vectors until nearly all are there (\"skills index\" goes on)", err)
	}
	if err := a.printIndex(ctx, c, reports, start); err != nil || !watch {
		return err
	}
	return a.watch(ctx)
}

func (a *app) printIndex(ctx context.Context, c *catalog, reports []repertoire.Report, start time.Time) error {
	mode, err := c.Mode(ctx)
	if err != nil {
		return err
	}
	offered, found, err := c.Size(ctx)
	if err != nil {
		return err
	}
	if a.json {
		took := milliseconds(time.Since(start))
		return a.printJSON(indexResult{offered, found, mode, c.Path(), took, append([]repertoire.Report{}, reports...)})
	}
	total := index.Total(reports)
	err = a.printText(lineOf("%s offered, of %d found in %s: %d added, %d changed, %d removed",
		count(offered, "skill"), found, count(len(reports), "source"), total.Added, total.Changed, total.Removed) +
		lineOf("ranking: %s", mode) + lineOf("catalog: %s", c.Path()))
	if problems := len(total.Problems); problems > 0 {
		a.note("%s in what was read; \"skills doctor\" shows all", count(problems, "problem"))
	}
	return err
}

// watch reopens the catalog with a schedule and waits to be interrupted.
func (a *app) watch(ctx context.Context) error {
	a.verbose = true // the log of rescans is what one watches
	cfg, err := a.readConfig(true)
	if err != nil {
		return err
	}
	if cfg.Schedule == repertoire.Never {
		return errors.New("the configured schedule is never, so there is nothing to watch")
	}
	watched, err := a.openWith(ctx, cfg)
	if err != nil {
		return err
	}
	defer watched.Close()
	a.note("watching; interrupt to end (process %d)", os.Getpid())
	<-ctx.Done()
	return nil
}
