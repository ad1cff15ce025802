package agent

import "github.com/repertoire-skills/repertoire/internal/lazyregexp"

// Servers write a conversation as one text, in which such marks end a message and begin the
// next one. Many also take a mark for one that stands in a message.
var templateMark = lazyregexp.New(`(<)([|｜][^\s<>|｜]{1,40}[|｜]>|/?(?:start|end)_of_turn>)|(\[)(/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])`)

// unmarked breaks the marks in a text that others wrote: with a blank they are text. So no
// file or output ends its message and goes on as the user or the system.
func unmarked(text string) string { return templateMark().ReplaceAllString(text, "${1}${3} ${2}${4}") }
