package cli

import "github.com/spf13/cobra"

const rootCommandHelp = `Root looks after the roots of your configuration, which are folders with skills,
and repositories, archives and sites that are fetched from elsewhere.`

func (a *app) rootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "root",
		Short:   "Look after the roots of your configuration",
		Long:    rootCommandHelp,
		Example: "  skills root",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.rootUpdateCommand())
	return cmd
}
