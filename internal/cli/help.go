package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// helpCommand replaces the help command of cobra, which exits with status 0 for an
// unknown command.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Long:    "Help prints the help of a command, or of the program.",
		Example: "  skills help search",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = noCommand(topic, rest)
			}
			if err != nil {
				return err
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

const completionHelp = `Completion prints a script that makes a shell complete commands and flags.

  bash        source <(skills completion bash)
  zsh         skills completion zsh > "${fpath[1]}/_skills"
  fish        skills completion fish > ~/.config/fish/completions/skills.fish
  powershell  skills completion powershell | Out-String | Invoke-Expression`

// completionCommand replaces the completion command of cobra, which exits with status
// 0 for an unknown shell.
func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	var bare bool
	cmd := &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a script for completion in a shell",
		Long:      completionHelp,
		Example:   "  skills completion bash",
		Args:      args(1, 1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, !bare)
			case "zsh":
				if bare {
					return root.GenZshCompletionNoDesc(a.stdout)
				}
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, !bare)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return &usageError{cmd.CommandPath(), fmt.Errorf("no completion for %q%s", args[0], words.Suggest(args[0], shells))}
		},
	}
	cmd.Flags().BoolVar(&bare, "no-descriptions", false, "complete without descriptions")
	return cmd
}

// noCommand returns the error for an unknown command, which names similar commands.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return &usageError{cmd.CommandPath(), unknown("command", args[0], "", names)}
}

// flagError returns the error for an unknown or malformed flag.
func flagError(cmd *cobra.Command, err error) error {
	var notExist *pflag.NotExistError
	if errors.As(err, &notExist) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		dashes := "--"
		if notExist.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		err = unknown("flag", dashes+notExist.GetSpecifiedName(), "--", names)
		if strings.HasSuffix(cmd.Use, " -") { // the command takes a text
			err = fmt.Errorf("%w (put -- before a text that starts with -)", err)
		}
	}
	return &usageError{cmd.CommandPath(), err}
}

// unknown returns the error for a name that is not among names. It suggests similar
// names, each with the prefix.
func unknown(kind, name, prefix string, names []string) error {
	similar := words.Similar(strings.TrimLeft(name, "-"), names)
	if len(similar) == 0 {
		return fmt.Errorf("no %s %q", kind, name)
	}
	for i := range similar {
		similar[i] = prefix + similar[i]
	}
	return fmt.Errorf("no %s %q; %s", kind, name, words.DidYouMean(similar))
}

// args checks the number of arguments of a command: its error shows the usage. A most
// of -1 means no limit.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		if len(args) < least {
			name := strings.Trim(strings.Fields(cmd.Use)[1+len(args)], "[]…")
			return &usageError{cmd.CommandPath(), fmt.Errorf("%s is missing. Usage: %s", name, cmd.UseLine())}
		}
		return &usageError{cmd.CommandPath(), fmt.Errorf("too many arguments; usage: %s", cmd.UseLine())}
	}
}

// completed completes up to most arguments of a command with names; 0 means no limit.
// names is a function because most starts of the program need no names.
func completed(names func() []string, most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveDefault
		}
		others := func(name string) bool { return !strings.HasPrefix(name, begun) }
		return slices.DeleteFunc(names(), others), cobra.ShellCompDirectiveNoFileComp
	}
}
