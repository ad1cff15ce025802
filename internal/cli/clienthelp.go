package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/client"
)

// completeHelp fills in the marks such as {folders} in the help of commands from the
// descriptions of clients, when help is printed.
func completeHelp(root *cobra.Command) {
	print := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		marks := strings.NewReplacer("{folders}", foldersHelp(), "{events}", eventsHelp(), "{clients}", clientsHelp())
		cmd.Long = marks.Replace(cmd.Long)
		print(cmd, args)
	})
}

// foldersHelp returns the text that says where skills are looked for.
func foldersHelp() string {
	var folders []string
	for _, f := range client.SkillFolders() {
		folders = append(folders, f+"/skills")
	}
	last := len(folders) - 1
	return wrap("A skill is a folder with a SKILL.md. Skills are looked for in the folders given with --root, then in "+
		strings.Join(folders[:last], ", ")+" and "+folders[last]+" of the project (from the working folder up to the root of its repository) "+
		"and of your home, in ~/.config/agents/skills, and last among those that are compiled in. Of two skills of the same name "+
		"the one that is found first is offered; \"skills doctor\" reports the other.", 80)
}

// wrap breaks a text into lines of at most width characters.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
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

// clientsHelp lists the clients in two columns. The first eight are ordered by column,
// the others by line.
func clientsHelp() string {
	all := client.All()
	var lines []string
	add := func(left, right client.Client) {
		line := fmt.Sprintf("  %-8s  %-13s  %-14s", left.Name, left.Title, kindsOf(left))
		if right.Name != "" {
			line += fmt.Sprintf("  %-8s  %-12s  %s", right.Name, right.Title, kindsOf(right))
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	for ; len(all) >= 8; all = all[8:] {
		for i, left := range all[:4] {
			add(left, all[i+4])
		}
	}
	for ; len(all) > 0; all = all[min(2, len(all)):] {
		add(all[0], append(all[1:], client.Client{})[0])
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
