package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// about says what the program is.
const about = `Skills finds the agent skills that fit a prompt, among thousands of them, by
their full text. It gives a model the few that matter, or none.`

// A topic is a text of the help that belongs to no command.
type topic struct{ name, about, text string }

// topics returns the topics of the help. The configuration and evals are
// two more: their texts are the help of the commands of these names.
func topics() []topic {
	return []topic{
		{"catalog", "How skills are indexed and ranked", catalogTopic},
		{"folders", "Where skills are looked for", foldersTopic},
		{"output", "What commands print, and their exit status", outputTopic},
		{"writing", "How to write a skill, and to see that it is offered", writingTopic},
	}
}

const foldersTopic = `{folders}

"skills paths" prints these places on this machine, and "skills root" adds and
removes folders.`

const catalogTopic = `The catalog is the index of all skills. It is kept by itself: every command
looks first whether a skill has changed, and reads what has. It is a cache, in
$REPERTOIRE_CACHE or your cache folder: deleting it costs a rebuild, no more.
Each set of folders has a catalog of its own; a catalog that nobody opens for
some weeks is removed.

Ranking is by the full text of the skills and by the vectors of a built-in
embedder. A prompt that needs no skill gets none: how often that fails is a rate
that you set (--disturb), and that "skills index" makes hold in your catalog.

Nothing leaves this machine unless you configure a server that is elsewhere, for
embeddings, for ranking, or with skills.`

const writingTopic = `A skill is a folder of its own in one of the folders of "skills paths", such as
.agents/skills of a project, with a file SKILL.md:

  ---
  name: csv-cleanup
  description: >-
    Mends CSV files: separators, encodings, quotes. Use when somebody has a CSV
    or TSV file that a program cannot read. Not for spreadsheets (xlsx).
  ---
  1. Run scripts/look.py on the file. …

The folder has the same name as the skill: small letters, digits and hyphens.
Clients show models only the description. So it says what the skill does, when
to use it, and what it is not for. After ">-" it may hold colons. Put longer
texts into files of their own, to which SKILL.md refers.

  skills doctor FOLDER        is anything wrong with it? Also in CI
  skills try "PROMPT"         is it offered for this prompt?
  skills evals NAME           and for its evals? See "skills help evals"
  skills why NAME "PROMPT"    what decided, with the words that the skill lacks
  skills test NAME            do its scripts work? See "skills help test"
  skills publish DIR          hand it out, see "skills help publish"

A prompt that is below the rate lacks evidence: put its words into the
description, or into triggers in the frontmatter, a list of keywords. Prompts
that the skill is for count as examples: up to five in metadata.examples, and
those of its evals. Where a
skill loses to another one, say in each description what only this skill does,
and when to use the other one.`

const outputTopic = `The result is on standard output, messages are on standard error. On a terminal
tables are aligned, coloured and cut to its width; in a pipe each line holds one
thing, with tabs between its fields. --json prints an object, which the help of
each command explains; in a pipe it is exact. Control and other hidden
characters of texts and names are printed as escapes, such as \x1b.

-v tells what is done, -q nothing but the result and errors. The variable
NO_COLOR turns colours off.

Exit status:
  0  done, also when nothing is relevant
  1  an error; of doctor, verify and test: something is wrong
  2  wrong usage: no such command, flag or argument`

// helpCommand replaces cobra's, which exits with status 0 for an unknown command.
func newHelpCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND | TOPIC]",
		Short:             "Print the help of a command, or about a topic",
		Long:              "Help prints the help of a command, of a topic, or of the program.\n\n" + topicsHelp(),
		Example:           "  skills help search\n  skills help folders",
		ValidArgsFunction: completeTopics,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			if t := slices.IndexFunc(topics(), func(t topic) bool { return len(args) == 1 && t.name == args[0] }); t >= 0 {
				return s.printText(e.filled(topics()[t].text))
			}
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = noCommand(found, rest)
			}
			if err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// topicsHelp lists the topics.
func topicsHelp() string {
	list := "The topics are:\n  config    The configuration, with examples\n" +
		"  evals     Prompts with which the author of a skill tries it\n"
	for _, t := range topics() {
		list += fmt.Sprintf("  %-8s  %s\n", t.name, t.about)
	}
	return strings.TrimSuffix(list, "\n")
}

// completeTopics completes the arguments of help: a topic, or a command and its commands.
func completeTopics(cmd *cobra.Command, args []string, begun string) (list []string, _ cobra.ShellCompDirective) {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	add := func(name, about string) {
		if strings.HasPrefix(name, begun) {
			list = append(list, name+"\t"+about)
		}
	}
	for _, c := range found.Commands() {
		if c.IsAvailableCommand() || c == cmd {
			add(c.Name(), c.Short)
		}
	}
	if len(args) == 0 {
		for _, t := range topics() {
			add(t.name, t.about)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// setHelp has the help of a command completed when it is printed. The program has a help of
// its own form.
func (e env) setHelp(root *cobra.Command) {
	print := root.HelpFunc()
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			fmt.Fprint(cmd.OutOrStdout(), e.filled(programHelp(root)))
			return
		}
		e.completeHelp(cmd)
		print(cmd, args)
	})
}

// completeHelp completes the texts of a command.
func (e env) completeHelp(cmd *cobra.Command) {
	cmd.Long, cmd.Example = e.filled(cmd.Long), e.named(cmd.Example)
}

// filled fills marks such as {folders} of a text in, from the descriptions of clients, and
// the name of the program.
func (e env) filled(text string) string {
	marks := strings.NewReplacer("{folders}", foldersHelp(), "{events}", eventsHelp(), "{clients}", clientsHelp(), "{configuration}", configExample)
	return e.named(marks.Replace(text))
}

// programHelp returns the help of the program on little more than one screen: its commands by
// groups, the main ones with a line each.
func programHelp(root *cobra.Command) string {
	var b strings.Builder
	name := root.Name()
	fmt.Fprintf(&b, "%s\n\nUsage: %s [COMMAND]   (without one: how things stand)\n\n", root.Long, name)
	for _, group := range root.Groups() {
		b.WriteString(groupHelp(root, group.ID))
	}
	names := append(mapped(topics(), func(t topic) string { return t.name }), "config", "evals")
	slices.Sort(names)
	fmt.Fprintf(&b, "Topics: %s\n", strings.Join(names, ", "))
	fmt.Fprintf(&b, "\"%s help NAME\" explains a command or a topic.\n\n", name)
	b.WriteString(wrap("Flags of all commands: "+strings.Join(flagsOf(root.PersistentFlags()), ", ")) + "\n")
	b.WriteString("Exit status: 0 (also when nothing fits), 1 for errors, 2 for wrong usage.\n")
	return b.String()
}

// groupHelp returns the help of a group of commands. A group of rare commands has one line.
func groupHelp(root *cobra.Command, group string) string {
	var lines, others []string
	for _, c := range root.Commands() {
		_, isRare := c.Annotations[rareMark]
		switch {
		case c.GroupID != group || c.Hidden:
		case isRare:
			others = append(others, c.Name())
		default:
			lines = append(lines, fmt.Sprintf("  %-11s %s\n", c.Name(), c.Short))
		}
	}
	switch also := strings.Join(others, ", "); {
	case len(lines) == 0:
		return group + ": " + also + "\n"
	case also != "":
		group += "; also: " + also
	}
	return group + "\n" + strings.Join(lines, "") + "\n"
}

// flagsOf lists flags, each with what it takes.
func flagsOf(set *pflag.FlagSet) (list []string) {
	set.VisitAll(func(f *pflag.Flag) {
		takes, _ := pflag.UnquoteUsage(f)
		text := strings.TrimSpace("--" + f.Name + " " + strings.ToUpper(takes))
		if f.Shorthand != "" {
			text = "-" + f.Shorthand + ", " + text
		}
		list = append(list, text)
	})
	return list
}

// printUsage prints how a command is used, in at most 80 columns.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s %s\n", cmd.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, set := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", cmd.LocalFlags()}, {"Flags of all commands", cmd.InheritedFlags()}} {
		if set.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", set.title, set.flags.FlagUsagesWrapped(80))
		}
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}
