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
they are due: repositories, archives and sites. Without LABEL it fetches all. A
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

func (a *app) rootUpdateCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "update [LABEL…]",
		Short:   "Fetch roots that are elsewhere",
		Long:    rootUpdateHelp,
		Example: "  skills root update\n  skills root update git:team/skills",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, labels []string) error {
			return a.updateRoots(cmd.Context(), labels)
		},
	}
}

func (a *app) updateRoots(ctx context.Context, labels []string) error {
	roots, err := a.remotes(labels)
	if err != nil {
		return err
	}
	result := rootUpdateResult{Roots: []updatedRoot{}}
	failed := false
	for _, r := range roots {
		changed, err := remote.Fetch(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		one := updatedRoot{Label: r.Label, Path: r.Path, Changed: changed}
		if s, stateErr := remote.ReadState(r.Path); stateErr == nil {
			one.From, one.Ref, one.Commit, one.FetchedAt = s.From, s.Ref, s.Commit, s.FetchedAt
			one.FailedSince, one.Refused = s.FailedSince, s.Refused
		}
		if err != nil {
			failed, one.Error = true, err.Error()
			a.note("%v", err)
		}
		result.Roots = append(result.Roots, one)
	}
	if err := a.printRoots(result); err != nil {
		return err
	}
	if failed {
		return errReported
	}
	return nil
}

// maxRefused is how many refused skills of a root are told.
const maxRefused = 3

func (a *app) printRoots(result rootUpdateResult) error {
	if a.json {
		return a.printJSON(result)
	}
	if len(result.Roots) == 0 {
		a.note("no root of your configuration is elsewhere")
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
				a.note("%s: refused: %s", r.Label, why)
			}
			if n > maxRefused {
				a.note("%s: %d more are refused; \"skills doctor\" says why", r.Label, n-maxRefused)
			}
		}
		rows = append(rows, []string{r.Label, state, r.Commit[:min(12, len(r.Commit))], r.From, refused})
	}
	return a.rows([]string{"ROOT", "STATE", "COMMIT", "FROM", "REFUSED"}, rows)
}

// remotes returns the roots that are elsewhere, or those with some labels.
func (a *app) remotes(labels []string) ([]remote.Root, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	all := s.Remotes()
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

// fetchRoots fetches the roots that are due, or all of them. A root that cannot be fetched
// stays as it is.
func (a *app) fetchRoots(ctx context.Context, all bool) error {
	roots, err := a.remotes(nil)
	if err != nil {
		return err
	}
	if err := remote.FetchDue(ctx, roots, all); err != nil && ctx.Err() == nil {
		a.note("%v", err)
	}
	return ctx.Err()
}

// noteUnfetched says of which roots the skills may be old.
func (a *app) noteUnfetched(c *catalog) {
	for _, src := range c.Config().Sources {
		if r, ok := src.(*remote.Source); ok && r.Failure() != "" {
			a.note("%s: %s", r.Info().Label, r.Failure())
		}
	}
}
