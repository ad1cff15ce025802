package agent

import (
	"context"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// Run runs a command of a skill as it would for the model. The Conversation sets what the
// catalog and the Config know: the skill and its files, the workspace and the limits, but
// for a timeout that r has. The
// tools that the skill allows are added to r.Allowed. A command that did not run is a
// [*sandbox.Error].
func (c *Conversation) Run(ctx context.Context, skill string, r sandbox.Request) (sandbox.Result, error) {
	return c.run(ctx, skill, r)
}
