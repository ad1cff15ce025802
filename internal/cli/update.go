package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/origins"
)

const updateHelp = `Update looks for new versions of installed skills where they came from: all of
them, or the named ones. A skill that was installed at a branch follows it, and
one that was installed at a commit stays; --ref makes the named ones follow
another branch, tag or commit. Update shows the differences, asks on
a terminal, and puts the new versions into place. Elsewhere it needs --yes.

It also tells which skills a repository has now that it did not have when the
installed ones were.

Skills that "npx skills" or "gh skill" have installed are theirs to update:
update says which these are, and where they came from.

Update also restores a skill whose folder is gone, and follows one that has
moved in its source, if no other skill there has its name.

A skill that you have edited is not updated. --force replaces it, or restores
it if there is no new version, and keeps a copy in the folder edited of the
data folder ($REPERTOIRE_DATA). --check only shows what is new. The status is 1
if a skill could not be updated, because its source is away, it was edited, or
its new version is refused; that there is something new does not count.

--json prints an object with dir, source, ref and commit (of install), done,
and changes, a list of objects with
` + changeHelp

func newUpdateCommand(e env) *cobra.Command {
	var force, verify, accept bool
	var ref string
	r := &installRun{verb: "update", needsYes: func([]*install.Change) error { return errNeedsYes }}
	cmd := &cobra.Command{
		Use:               "update [NAME…]",
		Short:             "Bring installed skills up to date",
		Long:              updateHelp,
		Example:           "  skills update --check\n  skills update pdf docx --yes\n  skills update pdf --ref v2",
		Args:              args(0, -1),
		ValidArgsFunction: e.each(installedNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.session = e.session(cmd)
			switch {
			case verify && (r.only || force || r.yes || ref != ""):
				return &usageError{cmd.CommandPath(), errors.New("--verify changes nothing, and takes none of --check, --force, --ref and --yes")}
			case ref != "" && len(args) == 0:
				return &usageError{cmd.CommandPath(), errors.New("--ref needs the names of the skills that are to follow it")}
			case verify:
				return runVerify(cmd.Context(), r.session, args, accept)
			case accept:
				return &usageError{cmd.CommandPath(), errors.New("--accept is for --verify")}
			}
			from, _ := r.origins() // "skills doctor" says what is wrong with a lock
			err := r.run(func(in *install.Installer) (*install.Result, error) {
				return in.Update(cmd.Context(), install.Order{Names: args, Ref: ref, Force: force}, r)
			})
			return r.withOthers(err, args, from)
		},
	}
	f := cmd.Flags()
	f.StringVar(&ref, "ref", "", "make the named skills follow this branch, tag or commit (`name`)")
	f.BoolVar(&r.only, "check", false, "only show what is new")
	f.BoolVar(&force, "force", false, "replace skills that you have edited too, and keep a copy")
	f.BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&verify, "verify", false, "only check whether skills are as they were installed")
	f.BoolVar(&accept, "accept", false, "with --verify: accept the named skills with the edits that they have now")
	return cmd
}

// withOthers adds to the result of an update which skills other programs have installed.
func (r *installRun) withOthers(err error, names []string, from *origins.Origins) error {
	if errors.Is(err, install.ErrNotInstalled) {
		for _, name := range names {
			if origin, ok := from.Named(name); ok {
				return fmt.Errorf("%s was %v, which updates it", name, origin)
			}
		}
	}
	if others := from.Others(); err == nil && len(names) == 0 && len(others) > 0 {
		r.note("%s, installed by %s, which updates them: %s", count(len(others), "more skill"), origins.Others, strings.Join(others, ", "))
	}
	return err
}

const removeHelp = `Remove removes installed skills. It asks on a terminal. Elsewhere it does not
ask, but needs --yes for a skill that you have edited: the edits are lost.
Skills that were not installed by this program are never removed.

--json prints an object with dir, source, ref and commit (of install), done,
and changes, a list of objects with
` + changeHelp

func newRemoveCommand(e env) *cobra.Command {
	r := &installRun{verb: "remove", needsYes: func(changes []*install.Change) error {
		if slices.ContainsFunc(changes, func(c *install.Change) bool { return !c.Edits.Same() }) {
			return errNeedsYes
		}
		return nil
	}}
	cmd := &cobra.Command{
		Use:               "remove NAME…",
		Aliases:           []string{"uninstall"},
		Short:             "Remove installed skills",
		Long:              removeHelp,
		Example:           "  skills remove pdf docx",
		Args:              args(1, -1),
		ValidArgsFunction: e.each(installedNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.session = e.session(cmd)
			return r.run(func(in *install.Installer) (*install.Result, error) { return in.Remove(cmd.Context(), args, r) })
		},
	}
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	return cmd
}
