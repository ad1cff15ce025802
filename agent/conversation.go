package agent

import (
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
)

// A Conversation is a history of messages, and the skills that were loaded in it. It may be
// used from several goroutines, but it answers one prompt at a time.
type Conversation struct {
	acts
	agent *Agent
}

// NewConversation returns a conversation without messages.
func (a *Agent) NewConversation() *Conversation {
	return &Conversation{acts: acts{cfg: &a.cfg}, agent: a}
}

// block returns the skills that fit a prompt, in a list that says how this mode loads them,
// and notes which they are.
func (c *Conversation) block(ctx context.Context, prompt string) (contextprovider.Block, error) {
	budget := c.cfg.Budget
	if budget.Intro == "" {
		budget.Intro = c.agent.mode.intro()
	}
	b, err := c.cfg.Catalog.Block(ctx, prompt, budget, c.cfg.Agent)
	if err != nil {
		return b, err
	}
	ids := make([]string, 0, len(b.Pinned)+len(b.Skills))
	for i := range b.Pinned {
		ids = append(ids, b.Pinned[i].ID)
	}
	for i := range b.Skills {
		ids = append(ids, b.Skills[i].ID)
	}
	c.note(Event{Kind: Offered, Skills: ids, Tokens: b.Tokens})
	return b, nil
}
