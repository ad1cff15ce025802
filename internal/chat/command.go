// Package chat has what a chat with a person needs beside the conversation: lines with
// history and pastes, commands that begin with a slash, transcripts on disk, and what to do
// about errors of model servers.
//
// The one rule: what a person types is sent only when the person presses Enter, and nothing
// that exists on disk is overwritten.
package chat

import (
	"context"
	"fmt"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Command is a line that is for the chat, not for the model.
type Command struct {
	Name     string // one of Names
	Argument string // "" means none
}

// Names returns the names of all commands.
func Names() []string { return []string{"skills", "save", "compact", "help", "quit"} }

// Help explains the commands.
const Help = `/skills     what this chat did with skills, and how many tokens they took
/save FILE  write the chat to FILE.md or FILE.json
/compact    shorten what the model is told of the chat to half
/quit       end (Ctrl-D, too)
Ctrl-C stops an answer. Pasted lines are sent together when you press Enter.`

// ParseCommand reads a line. ok is false if the line is a prompt: it does not begin with a
// slash and a word of letters.
func ParseCommand(line string) (c Command, ok bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, slash := strings.CutPrefix(word, "/")
	if !slash || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || strings.Contains(rest, "\n") {
		return c, false, nil
	}
	c = Command{Name: name, Argument: strings.TrimSpace(rest)}
	switch c.Name {
	case "exit":
		c.Name = "quit"
	case "save":
		if c.Argument == "" {
			return c, true, fmt.Errorf("/save needs the name of a file, such as chat.md or chat.json")
		}
		return c, true, nil
	}
	for _, known := range Names() {
		if known == c.Name && c.Argument == "" {
			return c, true, nil
		}
		if known == c.Name {
			return c, true, fmt.Errorf("/%s takes no argument", c.Name)
		}
	}
	return c, true, fmt.Errorf("no command /%s%s", tidy.Line(c.Name), words.Suggest(c.Name, Names()))
}

// Compact shortens the history of a conversation to half.
func Compact(ctx context.Context, c *agent.Conversation) (agent.Compaction, error) {
	return c.Compact(ctx, agent.CompactOptions{Tokens: max(1, c.Tokens()/2)})
}
