package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/words"
)

const completionHelp = `Completion prints a script that makes a shell complete commands, flags, and
names of skills, agents, sources, tags and the like. Names are those of the
catalog as it was last indexed. Bash needs the package bash-completion.

  bash        source <(skills completion bash)
  zsh         skills completion zsh > "${fpath[1]}/_skills"
  fish        skills completion fish > ~/.config/fish/completions/skills.fish
  powershell  skills completion powershell | Out-String | Invoke-Expression`

// completionCommand replaces cobra's, which exits with status 0 for an unknown shell.
func newCompletionCommand(e env) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	var bare bool
	cmd := &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a script for completion in a shell",
		Long:      strings.ReplaceAll(completionHelp, ownName, cmp.Or(e.name, ownName)),
		Example:   "  skills completion bash",
		Args:      args(1, 1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(e.raw, !bare)
			case "zsh":
				if bare {
					return root.GenZshCompletionNoDesc(e.raw)
				}
				return root.GenZshCompletion(e.raw)
			case "fish":
				return root.GenFishCompletion(e.raw, !bare)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(e.raw)
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
	return &usageError{cmd.CommandPath(), unknown("command", args[0], "", mapped(cmd.Commands(), (*cobra.Command).Name))}
}

// flagError returns the error for an unknown or malformed flag.
func flagError(cmd *cobra.Command, err error) error {
	if notExist, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		dashes := "--"
		if notExist.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		name := dashes + notExist.GetSpecifiedName()
		if err = gone(cmd.Name() + " " + name); err == nil {
			err = unknown("flag", name, "--", names)
		}
		if strings.HasSuffix(cmd.Use, " -") { // the command takes a text
			err = fmt.Errorf("%w (put -- before a text that starts with -)", err)
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, takes(invalid.GetFlag()), invalid.GetValue())
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		name, _ := pflag.UnquoteUsage(f)
		err = fmt.Errorf("%s is missing after --%s. Usage: %s", strings.ToUpper(name), f.Name, cmd.UseLine())
	}
	return &usageError{cmd.CommandPath(), err}
}

// gone says what to do instead of a flag that older versions had; nil means that there was none.
func gone(flag string) error {
	switch flag {
	case "evals --write", "evals --limit", "evals --yes", "evals --model", "evals --base-url", "evals --key-env":
		return fmt.Errorf("%s is no more: let your agent write evals, with the skill writing-skills, and check them with \"skills evals NAME\"", flag)
	case "embed --detect", "embed --port", "bench --port", "evals --port":
		return fmt.Errorf(`%s is no more: name your server in the configuration, as "embedder: {openai: {base_url: \"http://127.0.0.1:11434/v1\", model: NAME, key_env: \"-\"}}"`, flag)
	}
	return nil
}

// takes says what kind of value a flag takes.
func takes(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "intSlice":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 300ms or 2s"
	case "bool":
		return "true or false"
	}
	return "another value"
}

// atLeast returns an error for a flag whose number is below the least one.
func atLeast(flag string, n, least int) error {
	if n >= least {
		return nil
	}
	return fmt.Errorf("--%s is at least %d, not %d", flag, least, n)
}

// isOneOf returns an error, which suggests others, for a value that is not among names.
func isOneOf[S ~string](kind string, value S, names []S) error {
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("no %s %q%s", kind, value, words.Suggest(string(value), mapped(names, func(s S) string { return string(s) })))
}

// unsetOrOneOf is isOneOf for a value that may be left out.
func unsetOrOneOf[S ~string](kind string, value S, names []S) error {
	if value == "" {
		return nil
	}
	return isOneOf(kind, value, names)
}

// unknown returns the error for a name that is not among names. It suggests similar ones,
// each with the prefix.
func unknown(kind, name, prefix string, names []string) error {
	similar := words.Similar(strings.TrimLeft(name, "-"), names)
	if len(similar) == 0 {
		return fmt.Errorf("no %s %q", kind, name)
	}
	similar = mapped(similar, func(s string) string { return prefix + s })
	return fmt.Errorf("no %s %q; %s", kind, name, words.DidYouMean(similar))
}

// args checks the number of arguments of a command; a most of -1 means no limit.
func args(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			name := strings.Trim(strings.Fields(cmd.Use)[1+len(args)], "[]…")
			return &usageError{cmd.CommandPath(), fmt.Errorf("%s is missing. Usage: %s", name, cmd.UseLine())}
		case most >= 0 && len(args) > most:
			return &usageError{cmd.CommandPath(), fmt.Errorf("%q is an argument too many. Usage: %s", args[most], cmd.UseLine())}
		}
		return nil
	}
}

// foldersHelp returns the text that says where skills are looked for. It names the folders of
// the clients that setup serves.
func foldersHelp() string {
	var folders []string
	for _, c := range client.All() {
		for _, dir := range (&client.Machine{Project: "."}).SkillDirs(c, client.Project) {
			folders = append(folders, filepath.ToSlash(dir))
		}
	}
	slices.Sort(folders)
	folders = slices.Compact(folders) // .agents is the first
	return wrap("A skill is a folder with a SKILL.md. Skills are looked for in the folders given with --root and in the configuration, among " +
		"those that you installed, in " + folders[0] + " of the project (from the working folder up to the root of its repository), then in its " +
		strings.Join(folders[1:], ", ") + " and the folders of " + fmt.Sprint(len(client.Others())) + " other clients, in the same folders of " +
		"your home and those that clients have there only (such as ~/.copilot/skills and ~/.config/agents/skills), " +
		"among those that are compiled in, and last in repositories, archives and sites that the configuration names without " +
		"\"trusted: true\". Of two skills of the same name the one that is found first is offered; " +
		"\"skills doctor\" reports the other. The key order of the configuration sets another order.")
}

// wrap breaks an ASCII text into lines of at most 80 characters.
func wrap(text string) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+len(" ")+len(word) <= 80 {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

// eventsHelp lists the clients that ask for context, each with its event.
func eventsHelp() string {
	var lines []string
	for _, c := range client.All() {
		if c.Hook == nil || c.Hook.Arg != c.Name {
			continue
		}
		if ev, ok := c.Hook.Event(client.Prompt); ok {
			lines = append(lines, fmt.Sprintf("  %-12s  %s", c.Name, ev.Name))
		}
	}
	return strings.Join(lines, "\n")
}

// clientsHelp lists the clients in two columns: the first eight by column, others by line.
func clientsHelp() string {
	const rows = 4
	all := client.All()
	order := slices.Clone(all)
	for i := range rows {
		order[2*i], order[2*i+1] = all[i], all[i+rows]
	}
	var lines []string
	for pair := range slices.Chunk(order, 2) {
		line := fmt.Sprintf("  %-8s  %-13s  %-14s", pair[0].Name, pair[0].Title, kindsOf(pair[0]))
		if len(pair) == 2 {
			line += fmt.Sprintf("  %-8s  %-12s  %s", pair[1].Name, pair[1].Title, kindsOf(pair[1]))
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// kindsOf names what a client can use: the MCP server, the hook or both.
func kindsOf(c client.Client) string {
	switch {
	case c.Hook == nil:
		return "MCP"
	case c.Hook.Arg == client.SessionStart:
		return "MCP and hook"
	}
	return "MCP and hooks"
}
