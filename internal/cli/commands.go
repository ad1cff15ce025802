package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An entry is a row of the table of commands.
type entry struct {
	name   string
	make   func(env) *cobra.Command
	traits traits
}

// traits say what is special about a command.
type traits uint8

const (
	rare      traits = 1 << iota // few people need it: the help of the program lists only its name
	onFolders                    // it works on folders of this machine, which a shared catalog does not have
)

// The traits of a command are annotations of it.
const (
	rareMark    = "rare"
	foldersMark = "folders"
)

// new makes the command.
func (c entry) new(e env) *cobra.Command {
	cmd := c.make(e)
	cmd.Annotations = make(map[string]string)
	for trait, mark := range map[traits]string{rare: rareMark, onFolders: foldersMark} {
		if c.traits&trait != 0 {
			cmd.Annotations[mark] = ""
		}
	}
	return cmd
}

// A group is commands that the help lists together, below a title.
type group struct {
	title    string
	commands []entry
}

// groups returns all commands in the order in which the help lists them.
func groups() []group {
	return []group{
		{"Start", []entry{
			{"setup", newSetupCommand, 0},
			{"status", newStatusCommand, 0},
			{"try", newTryCommand, 0},
			{"doctor", newDoctorCommand, onFolders},
		}},
		{"Find skills", []entry{
			{"search", newSearchCommand, 0},
			{"context", newContextCommand, 0},
			{"why", newWhyCommand, 0},
			{"list", newListCommand, 0},
			{"show", newShowCommand, 0},
			{"read", newReadCommand, 0},
			{"web", newWebCommand, 0},
			{"prompt", newPromptCommand, rare},
		}},
		{"Get skills", []entry{
			{"install", newInstallCommand, onFolders},
			{"root", newRootCommand, 0},
			{"update", newUpdateCommand, rare},
			{"verify", newVerifyCommand, rare},
			{"remove", newRemoveCommand, rare},
			{"index", newIndexCommand, rare},
			{"embed", newEmbedCommand, onFolders | rare},
			{"push", newPushCommand, rare},
			{"store", newStoreCommand, rare},
		}},
		{"Decide what is offered", []entry{
			{"config", newConfigCommand, 0},
			{"disable", newDisableCommand, 0},
			{"enable", newEnableCommand, rare},
			{"pin", newPinCommand, rare},
			{"unpin", newUnpinCommand, rare},
			{"trust", newTrustCommand, onFolders | rare},
		}},
		{"Use skills", []entry{
			{"mcp", newMCPCommand, 0},
			{"token", newTokenCommand, rare},
			{"chat", newChatCommand, onFolders},
			{"run", newRunCommand, onFolders},
			{"hook", newHookCommand, rare},
			{"tools", newToolsCommand, rare},
			{"call", newCallCommand, rare},
			{"well-known", newWellKnownCommand, rare},
		}},
		{"Improve skills", []entry{
			{"stats", newStatsCommand, 0},
			{"test", newTestCommand, onFolders},
			{"proposals", newProposalsCommand, onFolders},
			{"propose", newProposeCommand, onFolders | rare},
			{"history", newHistoryCommand, onFolders | rare},
			{"revert", newRevertCommand, onFolders | rare},
			{"bench", newBenchCommand, rare},
		}},
		{"This program", []entry{
			{"paths", newPathsCommand, rare},
			{"completion", newCompletionCommand, rare},
			{"version", newVersionCommand, rare},
			{"help", newHelpCommand, rare},
		}},
	}
}

// addCommands adds all commands.
func (e env) addCommands(root *cobra.Command) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			cmd := c.new(e)
			cmd.GroupID = g.title
			if c.name == "help" {
				root.SetHelpCommand(cmd)
			}
			root.AddCommand(cmd)
		}
	}
}

// addAsked adds the command that args call, if that needs no other: to make all of them would
// take a tenth of the time of a hook.
func (e env) addAsked(root *cobra.Command, args []string) bool {
	name := commandIn(args, root.PersistentFlags())
	if name == "help" || name == "completion" {
		return false
	}
	for _, g := range groups() {
		for _, c := range g.commands {
			if c.name == name {
				root.CompletionOptions.DisableDefaultCmd = true
				root.SetHelpCommand(new(cobra.Command))
				root.AddCommand(c.new(e))
				return true
			}
		}
	}
	return false
}

// commandIn returns the first of args that is neither one of the flags nor the value of one; ""
// if there is none, or if a flag before it is unknown.
func commandIn(args []string, flags *pflag.FlagSet) string {
	for i := 0; i < len(args); i++ {
		long, isLong := strings.CutPrefix(args[i], "--")
		name, _, given := strings.Cut(long, "=")
		f := flags.Lookup(name)
		switch {
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		case !isLong && args[i] != "-q" && args[i] != "-v", isLong && f == nil:
			return ""
		case isLong && !given && f.NoOptDefVal == "":
			i++ // its value
		}
	}
	return ""
}
