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

	// act does what the model asks for in m, an answer with one Call or with none, and
	// returns one Result: for the Call, or without a Call for what the text asks for. None
	// means that the text asks for nothing, and so is the answer to the prompt.
	act(ctx context.Context, c *Conversation, m Message) []Message
}

// modeOf returns the mode that a configuration asks for.
func modeOf(cfg *Config) mode {
	if cfg.Instructions {
		return byTags{}
	}
	return toolMode{}
}
