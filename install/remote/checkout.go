package remote

import (
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/install/unpack"
)

// Checkout writes files and folders of a fetched commit into the folder of the repository, with what the links
// in them lead to elsewhere in the commit. No path is all of it.
func Checkout(ctx context.Context, repo git.Repo, commit string, paths []string) error {
	const (
		most   = 256 // paths
		rounds = 16  // each gets where the links of the one before lead
	)
	for round := 1; ; round++ {
		if err := repo.Checkout(ctx, commit, paths); err != nil || len(paths) == 0 {
			return err
		}
		targets, err := unpack.Targets(ctx, repo.Dir(), paths)
		targets = slices.DeleteFunc(targets, func(name string) bool {
			return slices.ContainsFunc(paths, func(dir string) bool { return git.In(name, dir) })
		})
		if err != nil || len(targets) == 0 {
			return err
		}
		if paths = slices.Concat(paths, targets); len(targets) > most || round == rounds {
			paths = nil
		}
	}
}
