package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/source"
)

const doctorHelp = `Doctor reports what is wrong with the catalog: skills that were refused or had
to be repaired, hidden characters, over-long names, descriptions and bodies,
missing files, skills that another one of the same name shadows, descriptions
that are nearly the same, and required skills that are not there. It also checks
that every configured agent names only what exists, and tells which clients are
set up ("skills setup"), what is wrong with that, and which of them have no room
to list their skills.

With folders as arguments it checks the skills in them instead, without the
catalog. --strict applies the Agent Skills specification to the letter, as its
reference validator does: other clients may refuse what it reports.

On a terminal, a summary by rule with a few examples is printed, and with
--verbose everything. Otherwise each finding is a line
  PATH:LINE: SEVERITY: MESSAGE [RULE] (HINT)
The severities are error, warning and note. The exit status is 1 when there are
errors.

--json prints an object with skills (how many were looked at), errors, warnings,
notes (numbers), and problems, a list of objects with source, rule, severity,
path, line, message and hint.`

func (a *app) doctorCommand() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:     "doctor [FOLDER…]",
		Short:   "Report what is wrong with the skills",
		Long:    doctorHelp,
		Example: "  skills doctor\n  skills doctor --strict ./my-skill",
		Args:    args(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.diagnose(cmd.Context(), args, strict)
			if err != nil {
				return err
			}
			return a.printDiagnosis(d)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "apply the specification to the letter")
	return cmd
}

func (a *app) diagnose(ctx context.Context, folders []string, strict bool) (*diagnosis, error) {
	if len(folders) > 0 {
		return a.diagnoseFolders(ctx, folders, strict)
	}
	return a.diagnoseCatalog(ctx, strict)
}

// diagnoseFolders checks the skills in folders that need not be in the catalog.
func (a *app) diagnoseFolders(ctx context.Context, folders []string, strict bool) (*diagnosis, error) {
	var d diagnosis
	for _, folder := range folders {
		src, err := source.Dir(folder, &source.Options{Label: folder})
		if err != nil {
			return nil, err
		}
		skills, found := d.skills, len(d.found)
		d.walk(ctx, src, strict)
		if d.skills == skills && len(d.found) == found {
			return nil, fmt.Errorf("no SKILL.md in %s", folder)
		}
	}
	return &d, ctx.Err()
}

func (a *app) diagnoseCatalog(ctx context.Context, strict bool) (*diagnosis, error) {
	c, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := a.rescan(ctx, c); err != nil {
		return nil, err
	}
	var d diagnosis
	if strict {
		err = strictly(ctx, &d, c)
	} else {
		err = d.stored(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context, *catalog) error{d.shadowed, d.twins, d.requirements, d.clients} {
		if err := check(ctx, c); err != nil {
			return nil, err
		}
	}
	d.agents(ctx, c, c.Config().Agents)
	return &d, nil
}

// strictly checks every skill of every source anew.
func strictly(ctx context.Context, d *diagnosis, c *catalog) error {
	for _, src := range c.Config().Sources {
		d.walk(ctx, src, true)
	}
	return ctx.Err()
}
