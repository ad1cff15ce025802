package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/install/remote"
	"github.com/repertoire-skills/repertoire/internal/words"
)

const rootUpdateHelp = `Update fetches the roots of your configuration that are elsewhere, whether or not
they are due: repositories, archives and sites. Without LABEL it fetches all,
several at a time; a root has an hour. A
root whose ref is a branch, or that has none, is then at the newest commit.

Beside the folder of each root, in your data folder, a file with the same name
and .json tells what was fetched. A root that cannot be fetched stays as it is,
and the exit status is 1. A skill that is refused is left out, or stays as it
was if it comes from a site: standard error and "skills doctor" say why.

--json prints an object with roots, a list of objects with label, path, from,
ref, commit, changed, fetched_at, failed_since, error and refused.`

// rootUpdateResult is what "root update --json" prints.
type rootUpdateResult struct {
	Roots []updatedRoot `json:"roots"`
}

type updatedRoot struct {
	Label       string    `json:"label"`
	Path        string    `json:"path"`
	From        string    `json:"from"`
	Ref         string    `json:"ref,omitempty"`
	Commit      string    `json:"commit,omitempty"`
	Changed     bool      `json:"changed"`
	FetchedAt   time.Time `json:"fetched_at,omitzero"`
	FailedSince time.Time `json:"failed_since,omitzero"`
	Error       string    `json:"error,omitempty"`
	Refused     []string  `json:"refused,omitempty"`
}

func newRootUpdateCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:               "update [LABEL…]",
		Short:             "Fetch roots that are elsewhere",
		Long:              rootUpdateHelp,
		Example:           "  skills root update\n  skills root update git:team/skills",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: e.each(sourceLabels),
		RunE:              e.run(updateRoots),
	}
}

func updateRoots(ctx context.Context, s *session, labels []string) error {
	roots, err := remotes(s, labels)
	if err != nil {
		return err
	}
	result := rootUpdateResult{Roots: []updatedRoot{}}
	failed := false
	changed, errs := make([]bool, len(roots)), make([]error, len(roots))
	bar := s.progress("fetching", 1)
	remote.Each(len(roots), bar.set, func(i int) { changed[i], errs[i] = remote.Fetch(ctx, roots[i]) })
	bar.done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, r := range roots {
		one, err := updatedRoot{Label: r.Label, Path: r.Path, Changed: changed[i]}, errs[i]
		if state, stateErr := remote.ReadState(r.Path); stateErr == nil {
			one.From, one.Ref, one.Commit, one.FetchedAt = state.From, state.Ref, state.Commit, state.FetchedAt
			one.FailedSince, one.Refused = state.FailedSince, state.Refused
		}
		if err != nil {
			failed, one.Error = true, err.Error()
			s.note("%v", err)
		}
		result.Roots = append(result.Roots, one)
	}
	if err := printRoots(s.screen, result); err != nil {
		return err
	}
	return reportedIf(failed)
}

// maxRefused is how many refused skills of a root are told.
const maxRefused = 3

func printRoots(ui *screen, result rootUpdateResult) error {
	if ui.json {
		return ui.printJSON(result)
	}
	if len(result.Roots) == 0 {
		ui.note("no root of your configuration is elsewhere")
	}
	var rows [][]string
	for _, r := range result.Roots {
		state := "unchanged"
		switch {
		case r.Error != "":
			state = "failed"
		case r.Changed:
			state = "changed"
		}
		refused := ""
		if n := len(r.Refused); n > 0 {
			refused = count(n, "skill") + " refused"
			for _, why := range r.Refused[:min(n, maxRefused)] {
				ui.note("%s: refused: %s", r.Label, why)
			}
			if n > maxRefused {
				ui.note("%s: %d more are refused; \"skills doctor\" says why", r.Label, n-maxRefused)
			}
		}
		rows = append(rows, []string{r.Label, state, r.Commit[:min(12, len(r.Commit))], r.From, refused})
	}
	return ui.rows([]string{"ROOT", "STATE", "COMMIT", "FROM", "REFUSED"}, rows)
}

// remotes returns the roots that are elsewhere, or those with some labels.
func remotes(s *session, labels []string) ([]remote.Root, error) {
	settings, err := s.settings()
	if err != nil {
		return nil, err
	}
	all := settings.Remotes()
	if len(labels) == 0 {
		return all, nil
	}
	var known []string
	for _, r := range all {
		known = append(known, r.Label)
	}
	var chosen []remote.Root
	for _, label := range labels {
		i := slices.Index(known, label)
		if i < 0 {
			return nil, fmt.Errorf("no root %q is elsewhere%s", label, words.Suggest(label, known))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// fetchedRoots says what became of roots that were due.
type fetchedRoots struct {
	tried  int
	failed error // of those that could not be fetched; they stay as they are
}

// fetchRoots fetches the roots that are due, or all of them.
func fetchRoots(ctx context.Context, s *session, all bool) (f fetchedRoots, err error) {
	roots, err := remotes(s, nil)
	if err != nil {
		return f, err
	}
	bar := s.progress("fetching", 1)
	f.failed = remote.FetchDue(ctx, roots, all, func(done, due int) {
		f.tried = due
		bar.set(done, due)
	})
	bar.done()
	return f, ctx.Err()
}

// note names at the end of a command what could not be fetched.
func (f fetchedRoots) note(ui *screen) {
	if f.failed != nil {
		ui.note("%v; what is there of it stays, and \"skills root update LABEL\" tries for up to an hour", f.failed)
	}
}

// noteUnfetched says of which roots the skills may be old.
func noteUnfetched(ui *screen, c *catalog) {
	for _, src := range c.Config().Sources {
		if r, ok := src.(*remote.Source); ok && r.Failure() != "" {
			ui.note("%s: %s", r.Info().Label, r.Failure())
		}
	}
}
