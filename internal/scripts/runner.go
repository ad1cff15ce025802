// Package scripts lets the clients of a server run scripts of skills that the owner of the
// catalog trusts.
//
// The one rule: before each run it compares the digest of all files of the skill, as they
// are now, with what is trusted. A skill that changed has to be trusted again.
package scripts

import (
	"cmp"
	"context"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/sandbox/executors"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// A Catalog has the skills; *repertoire.Catalog is one.
type Catalog interface {
	agent.Catalog
	Lister
}

// A Runner answers calls of the tools that run scripts. It may be used from several
// goroutines.
type Runner struct {
	catalog Catalog
	scope   *search.Agent
	trusted *trust.File
	agent   *agent.Agent
	room    *Limits
}

// Executors say where scripts run.
type Executors struct {
	Executor sandbox.Executor // of all skills but those that For is asked for

	// For returns the executor of a skill whose configuration names one; nil means that
	// Executor runs all scripts.
	For func(search.Script) (sandbox.Executor, error)

	Open bool // scripts can reach other machines
}

// Options of New. nil means all zero.
type Options struct {
	Limits  *Limits                                     // that the runner shares with others; nil means one of its own
	Observe func(usage.Event)                           // is called for each event; nil means no call
	Tell    func(ctx context.Context, err error) string // see agent.Config
}

// ExecutorsFor returns the executor of that name for all scripts. For "", skills run in the one
// that the configuration names for the scope or the skill, or else in the best that works here.
func ExecutorsFor(name string, unconfined bool, scope *search.Agent) (e Executors, err error) {
	pool := executors.NewPool(executors.Options{AllowUnconfined: unconfined, Disk: maxFiles, Work: maxWork})
	if name == "" {
		e.For = func(s search.Script) (sandbox.Executor, error) { return pool.Get(s.Executor, s.Runtime) }
	}
	runtime := ""
	if scope != nil {
		name, runtime = cmp.Or(name, scope.Script.Executor), scope.Script.Runtime
		e.Open = len(scope.Script.Network) > 0
	}
	e.Executor, err = pool.Get(name, runtime)
	e.Open = e.Open || name == "plain" || name == "" && unconfined
	return e, err
}

// New returns a runner for the skills that scope may see, nil for all.
func New(c Catalog, scope *search.Agent, e Executors, trusted *trust.File, o *Options) (*Runner, error) {
	if o == nil {
		o = new(Options)
	}
	r := &Runner{catalog: c, scope: scope, trusted: trusted, room: o.Limits}
	if r.room == nil {
		r.room = NewLimits()
	}
	gate := &Gate{Catalog: c, Scope: scope, Trusted: trusted, Hint: "ask the user to look at its scripts and to type: skills trust %s"}
	var err error
	r.agent, err = agent.New(agent.Config{Catalog: c, Agent: scope, Executor: e.Executor, Executors: e.For, Allow: gate.Allow, Observe: o.Observe, Tell: o.Tell,
		Offer: []string{"run_skill_script", "sandbox_execute"}})
	return r, err
}

// maxTools bounds the scripts that are tools of their own.
const maxTools = 32

// Tools returns the definitions of the tools: run_skill_script, sandbox_execute if the
// executor is a sandbox with files of its own, and the scripts of trusted skills that
// declare parameters. stay means that there is one Session for several calls.
func (r *Runner) Tools(ctx context.Context, stay bool) ([]agent.Tool, error) {
	tools, err := r.agent.Definitions(stay)
	if err != nil {
		return nil, err
	}
	own, err := r.scripts(ctx)
	return append(tools, own...), err
}

// scripts returns the tools of the skills whose indexed digest is trusted. Whether the skill
// is still the same, a run finds out.
func (r *Runner) scripts(ctx context.Context) ([]agent.Tool, error) {
	entries, err := r.catalog.List(ctx, r.scope, nil)
	if err != nil {
		return nil, err
	}
	var tools []agent.Tool
	for _, e := range entries {
		if e.State != search.Offered || e.Away || !trusts(r.trusted, e.Digest) || len(tools) >= maxTools {
			continue
		}
		if own, _, err := r.agent.ScriptTools(ctx, e.ID); err == nil { // else it is gone since
			tools = append(tools, own...)
		}
	}
	return tools[:min(len(tools), maxTools)], ctx.Err()
}
