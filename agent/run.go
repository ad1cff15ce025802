package agent

import (
	"context"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// Run runs a command of a skill as it would for the model. Of r, what the catalog and the
// Config know is replaced: the skill and its files, the tools that it allows and the
// workspace. A command that did not run is a [*sandbox.Error].
func (c *Conversation) Run(ctx context.Context, skill string, r sandbox.Request) (sandbox.Result, error) {
	return c.run(ctx, skill, r)
}
