package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/status"
)

const pathsHelp = `Paths prints every place that this program reads or writes: the files of the
configuration, the catalog, the folders for state and for data with what is in
them, and the folders in which skills are looked for, the first wins. The
settings of clients, which "skills setup" edits, are shown by "skills setup
--list".

When the output is piped, each line holds use, "exists" or "missing", the path,
the variable that moves it, and the label of the source, separated by tabs.

--json prints an object with paths, a list of objects with use, path, exists,
variable and source.`

// pathsResult is what "paths --json" prints.
type pathsResult struct {
	Paths []status.Path `json:"paths"`
}

func newPathsCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "paths",
		Short:   "Print the files and folders that this program uses",
		Long:    pathsHelp,
		Example: "  skills paths\n  skills paths --json",
		Args:    args(0, 0),
		RunE: e.run(func(_ context.Context, s *session, _ []string) error {
			o, err := s.options()
			if err != nil {
				return err
			}
			paths, err := status.Paths(s.dir, (*config.Options)(o))
			return errors.Join(s.tableOr(pathsResult{paths}, []string{"USE", "STATE", "PATH", "VARIABLE", "SOURCE"}, mapped(paths, pathRow)), err)
		}),
	}
}

func pathRow(p status.Path) []string {
	state := "missing"
	if p.Exists {
		state = "exists"
	}
	variable := ""
	if p.Variable != "" {
		variable = "$" + p.Variable
	}
	return []string{p.Use, state, p.Path, variable, p.Source}
}
