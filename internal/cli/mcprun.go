package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/runner"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// running says whether a server runs scripts, and how.
type running struct {
	allowed    bool
	executor   string
	unconfined bool
}

func (r *running) flags(f *pflag.FlagSet) {
	f.BoolVar(&r.allowed, "allow-run", false, "agents may run scripts of skills that you trust")
	f.StringVar(&r.executor, "executor", "", "run scripts with the executor of this `name`: confined, bubblewrap, container, virtual or plain")
	f.BoolVar(&r.unconfined, "allow-unconfined", false, "scripts may run without walls around them")
}

func (r *running) check(http bool) error {
	switch {
	case r.allowed && http:
		return errors.New("--allow-run is not for --http: whoever can reach the server could run scripts on this machine")
	case !r.allowed && (r.executor != "" || r.unconfined):
		return errors.New("--executor and --allow-unconfined need --allow-run")
	}
	return nil
}

// open returns the tools that run scripts; nil means that there are none.
func (r *running) open(s *served) (*mcpserver.Runs, error) {
	if !r.allowed {
		return nil, nil
	}
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	e, open, err := runner.Executor(r.executor, r.unconfined, s.agent)
	if err != nil {
		return nil, err
	}
	run, err := runner.New(s.Catalog, s.agent, e, trust.Open(state))
	if err != nil {
		return nil, err
	}
	return &mcpserver.Runs{OpenWorld: open, Call: run.Call, Tools: func(ctx context.Context) ([]mcpserver.RunTool, error) {
		tools, err := run.Tools(ctx)
		return mapped(tools, func(t agent.Tool) mcpserver.RunTool { return mcpserver.RunTool(t) }), err
	}}, nil
}
