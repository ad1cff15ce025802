package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/install"
)

const verifyHelp = `Verify hashes all files of installed skills, or of the named ones, and compares
them with skills.lock. Each line holds a name and either ok or what is
different: a file that is changed, missing or extra. Folders that were not
installed by this program are told, but are no difference.

With --accept the named skills are accepted with the edits that they have now:
they count as ok, and are offered also if the configuration says "trust:
{require_digest: true}". An update still shows the edits before it replaces
them.

Exit status: 1 if anything is different.

--json prints an object with dir, ok, unknown (folders that were not
installed), and skills, a list of objects with name, ok, missing (the folder is
gone), accepted (with its edits), and edits (with changed, missing and extra).`

// verifyResult is what "verify --json" prints.
type verifyResult struct {
	Dir     string            `json:"dir"`
	OK      bool              `json:"ok"`
	Skills  []install.Verdict `json:"skills"`
	Unknown []string          `json:"unknown"`
}

func newVerifyCommand(e env) *cobra.Command {
	var accept bool
	cmd := &cobra.Command{
		Use:               "verify [NAME…]",
		Short:             "Check whether installed skills are as they were installed",
		Long:              verifyHelp,
		Example:           "  skills verify\n  skills verify pdf --json",
		Args:              args(0, -1),
		ValidArgsFunction: e.each(installedNames),
		RunE:              e.run(func(ctx context.Context, s *session, args []string) error { return runVerify(ctx, s, args, accept) }),
	}
	cmd.Flags().BoolVar(&accept, "accept", false, "accept the named skills with the edits that they have now")
	return cmd
}

func runVerify(ctx context.Context, s *session, names []string, accept bool) error {
	in, err := openInstaller(s)
	if err != nil {
		return err
	}
	if accept {
		if err := in.Accept(ctx, names); err != nil {
			return err
		}
	}
	verdicts, unknown, err := in.Verify(ctx, names)
	if err != nil {
		return err
	}
	return printVerdicts(s.screen, verifyResult{in.Dir(), true, verdicts, append([]string{}, unknown...)})
}

// printVerdicts prints the result, and returns the exit status.
func printVerdicts(ui *screen, r verifyResult) error {
	edited := 0
	for _, v := range r.Skills {
		if !v.OK {
			edited++
		}
	}
	r.OK = edited == 0
	if ui.json {
		if err := ui.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, v := range r.Skills {
			fmt.Fprint(ui.stdout, verdictLines(v))
		}
		for _, name := range r.Unknown {
			ui.note("%s was not installed by this program", name)
		}
		switch {
		case len(r.Skills) == 0:
			ui.note(noInstalled)
		case edited > 0:
			ui.note("%d of %s differ; \"skills update NAME --force\" brings back what was installed and keeps a copy of your edits, \"skills update --verify NAME --accept\" accepts them", edited, count(len(r.Skills), "skill"))
		}
	}
	return reportedIf(!r.OK)
}

func verdictLines(v install.Verdict) string {
	switch {
	case v.Accepted:
		return lineOf("%s\tok, with edits that you accepted", v.Name)
	case v.OK:
		return lineOf("%s\tok", v.Name)
	case v.Missing:
		return lineOf("%s\tthe folder is gone", v.Name)
	}
	text := ""
	for _, e := range editsOf(v.Edits) {
		text += lineOf("%s\t%s", v.Name, e)
	}
	return text
}
