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
	now    string // what does the same now, for a command that is hidden because it has moved
}

// traits say what is special about a command.
type traits uint8

const (
	rare      traits = 1 << iota // few people need it: the help of the program lists only its name
	onFolders                    // it works on folders of this machine, which a shared catalog does not have
	hidden                       // programs call it, or makers of rankings: the help does not list it
	changing                     // it changes which skills there are, or who is offered them
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
	cmd.Hidden = c.traits&hidden != 0
	if c.name == "index" { // which a hook starts when it finds new skills
		cmd.PostRun = e.keepListings
	}
	if c.traits&changing != 0 {
		for _, changes := range append(cmd.Commands(), cmd) {
			if changes.Name() != "list" {
				changes.PostRun = e.indexBehind
			}
		}
	}
	if c.now != "" {
		cmd.PreRunE = hinting(e, c.now, cmd.PreRunE)
	}
	return cmd
}

// hinting returns a step that first says, on a terminal, which command does the same now, and
// then does what step does. Programs see no difference.
func hinting(e env, now string, step func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if _, ok := terminal(e.stderr); ok {
			e.session(cmd).note("%q does the same now", now)
		}
		if step == nil {
			return nil
		}
		return step(cmd, args)
	}
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
			{"setup", newSetupCommand, 0, ""},
			{"status", newStatusCommand, hidden, "skills"},
			{"try", newTryCommand, 0, ""},
			{"doctor", newDoctorCommand, onFolders, ""},
		}},
		{"Find skills", []entry{
			{"search", newSearchCommand, 0, ""},
			{"context", newContextCommand, 0, ""},
			{"why", newWhyCommand, 0, ""},
			{"list", newListCommand, 0, ""},
			{"show", newShowCommand, 0, ""},
			{"read", newReadCommand, 0, ""},
			{"web", newWebCommand, 0, ""},
			{"prompt", newPromptCommand, hidden, ""},
		}},
		{"Get skills", []entry{
			{"install", newInstallCommand, onFolders | changing, ""},
			{"root", newRootCommand, changing, ""},
			{"update", newUpdateCommand, rare | changing, ""},
			{"verify", newVerifyCommand, hidden, "skills update --verify"},
			{"remove", newRemoveCommand, rare | changing, ""},
			{"index", newIndexCommand, rare, ""},
			{"embed", newEmbedCommand, onFolders | rare, ""},
			{"push", newPushCommand, rare, ""},
			{"store", newStoreCommand, rare, ""},
		}},
		{"Decide what is offered", []entry{
			{"config", newConfigCommand, 0, ""},
			{"disable", newDisableCommand, changing, ""},
			{"enable", newEnableCommand, rare | changing, ""},
			{"pin", newPinCommand, hidden, "skills enable --pin"},
			{"unpin", newUnpinCommand, hidden, "skills disable --pin"},
			{"trust", newTrustCommand, onFolders | rare | changing, ""},
		}},
		{"Use skills", []entry{
			{"mcp", newMCPCommand, 0, ""},
			{"token", newTokenCommand, rare, ""},
			{"chat", newChatCommand, onFolders, ""},
			{"run", newRunCommand, onFolders, ""},
			{"hook", newHookCommand, hidden, ""},
			{"tools", newToolsCommand, hidden, ""},
			{"call", newCallCommand, hidden, ""},
			{"publish", newPublishCommand, rare, ""},
			{"well-known", newWellKnownCommand, hidden, "skills publish"},
		}},
		{"Improve skills", []entry{
			{"stats", newStatsCommand, 0, ""},
			{"evals", newEvalsCommand, 0, ""},
			{"test", newTestCommand, onFolders, ""},
			{"proposals", newProposalsCommand, 0, ""},
			{"propose", newProposeCommand, hidden, "skills proposals propose"},
			{"history", newHistoryCommand, hidden, "skills proposals history"},
			{"revert", newRevertCommand, onFolders | hidden, "skills proposals revert"},
			{"bench", newBenchCommand, hidden, ""},
		}},
		{"This program", []entry{
			{"paths", newPathsCommand, rare, ""},
			{"completion", newCompletionCommand, rare, ""},
			{"version", newVersionCommand, rare, ""},
			{"help", newHelpCommand, rare, ""},
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
