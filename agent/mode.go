package agent

import (
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
)

// A mode is how a model is told of skills and how it asks for them.
type mode interface {
	// intro is the sentence of the list of skills that says how the model loads one.
	intro() string

	// offer returns what the model is told of the skills that fit a prompt: text that stands
	// in the system prompt, and tools.
	offer(ctx context.Context, c *Conversation, b contextprovider.Block) (system string, tools []Tool, err error)

	// act does what the model asks for in its answer m, and returns what the model reads
	// next: a Result for each Call of m, or a message of the User. None means that the model
	// asked for nothing, and that m is its answer to the prompt.
	act(ctx context.Context, c *Conversation, m Message) []Message
}
