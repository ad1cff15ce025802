package probe

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/setup"
)

// tryServer starts an MCP server and asks it for its tools.
func tryServer(ctx context.Context, r setup.Registration) setup.Answer {
	const hint = `"skills setup" writes the entry anew`
	var stderr output
	cmd := exec.CommandContext(ctx, r.Words[0], r.Words[1:]...)
	cmd.Env, cmd.Stderr = environ(r.Environ()...), &stderr
	cmd.WaitDelay = time.Second
	start := time.Now()
	tools, err := list(ctx, cmd)
	a := setup.Answer{TookMS: time.Since(start).Milliseconds(), Tools: tools, Hint: hint}
	switch {
	case ctx.Err() != nil:
		a.Problem = fmt.Sprintf("it has not listed its tools within %v%s", limit, stderr.printed())
	case err != nil:
		a.Problem = fmt.Sprintf("%v%s", err, stderr.printed())
	case tools == 0:
		a.Problem = "it has no tools"
	default:
		a.OK, a.Hint = true, ""
	}
	return a
}

// list returns how many tools a server has, which it starts and ends.
func list(ctx context.Context, cmd *exec.Cmd) (int, error) {
	transport := &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "skills-setup"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return 0, fmt.Errorf("starting it: %w", err)
	}
	defer session.Close()
	r, err := session.ListTools(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("listing its tools: %w", err)
	}
	return len(r.Tools), nil
}
