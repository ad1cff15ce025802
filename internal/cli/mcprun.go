package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/runner"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
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

func (r *running) check() error {
	switch {
	case !r.allowed && (r.executor != "" || r.unconfined):
		return errors.New("--executor and --allow-unconfined need --allow-run")
	}
	return nil
}

// checkToken refuses a server over HTTP that anybody on this machine could ask.
func (r *running) checkToken(closed bool) error {
	if r.allowed && !closed {
		return errors.New("--allow-run needs a token with --http, or whoever reaches the server could run scripts: \"skills token add\" makes one, or give one with --token-file or $REPERTOIRE_TOKEN")
	}
	return nil
}

// runs returns the tools with which the clients of a scope run scripts; nil means that there
// are none. Each session has the files of its executors for itself.
func (s *served) runs(scope *repertoire.Agent) (*mcpserver.Runs, error) {
	if !s.run.allowed {
		return nil, nil
	}
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	e, err := runner.ExecutorsFor(s.run.executor, s.run.unconfined, scope)
	if err != nil {
		return nil, err
	}
	log := usageOf(s.Catalog)
	run, err := runner.New(s.Catalog, scope, e, trust.Open(state), &runner.Options{
		Room: s.room,
		Observe: func(e agent.Event) {
			s.ran.Observe(e)
			if err := noteRun(log, scope, e); err != nil {
				s.log.Warn("usage is not noted", "error", err)
			}
		},
		Tell: func(ctx context.Context, err error) string {
			if mcpserver.IsOwner(ctx) {
				return ""
			}
			return access.Tell(s.log, "a run", err).Error()
		},
	})
	if err != nil {
		return nil, err
	}
	return &mcpserver.Runs{
		OpenWorld: e.Open,
		Begin:     func(client string) mcpserver.RunSession { return run.Begin(client) },
		Tools:     run.Tools,
	}, nil
}

// noteRun notes a command of a skill that a server ran. What its clients load and read, the
// server's own events tell.
func noteRun(log *usage.Log, scope *repertoire.Agent, e agent.Event) error {
	u, ok := runner.UsageOf(e)
	if log == nil || !ok || u.Kind != usage.Ran {
		return nil
	}
	if u.Client = "mcp"; scope != nil {
		u.Agent = scope.Name
	}
	return log.Add(u)
}
