// Package runner lets the clients of a server run scripts of skills that the owner of the
// catalog trusts.
//
// The one rule: before each run it compares the digest of all files of the skill, as they
// are now, with what is trusted. A skill that changed has to be trusted again.
package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
)

// A Catalog has the skills; *repertoire.Catalog is one.
type Catalog interface {
	agent.Catalog
	Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error)
}

// A Runner answers calls of the tools that run scripts. It may be used from several
// goroutines.
type Runner struct {
	catalog Catalog
	scope   *search.Agent
	trusted *trust.File
	agent   *agent.Agent
	running chan struct{} // holds a value for each call that is answered
}

// maxRunning is how many calls are answered at once: each may take the memory and the
// processes of a whole command. The others wait.
const maxRunning = 8

// New returns a runner for the skills that scope may see, nil for all.
func New(c Catalog, scope *search.Agent, e sandbox.Executor, w sandbox.Workspace, trusted *trust.File) (*Runner, error) {
	r := &Runner{catalog: c, scope: scope, trusted: trusted, running: make(chan struct{}, maxRunning)}
	var err error
	r.agent, err = agent.New(agent.Config{Catalog: c, Agent: scope, Executor: e, Workspace: w, Allow: r.allow,
		Offer: []string{"run_skill_script", "sandbox_execute"}})
	return r, err
}

// maxTools bounds the scripts that are tools of their own.
const maxTools = 32

// Tools returns the definitions of the tools: run_skill_script, sandbox_execute if the
// executor is a sandbox with files of its own, and the scripts of trusted skills that
// declare parameters.
func (r *Runner) Tools(ctx context.Context) ([]agent.Tool, error) {
	tools, err := r.agent.Tools(ctx, "")
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
		if e.State != search.Offered || e.Away || !r.trusts(e.Digest) || len(tools) >= maxTools {
			continue
		}
		if own, _, err := r.agent.ScriptTools(ctx, e.ID); err == nil { // else it is gone since
			tools = append(tools, own...)
		}
	}
	return tools[:min(len(tools), maxTools)], ctx.Err()
}

// Call answers a call, and returns the skill whose script ran or was refused, "" for none.
func (r *Runner) Call(ctx context.Context, name, arguments string) (answer, skill string) {
	select {
	case r.running <- struct{}{}:
		defer func() { <-r.running }()
	case <-ctx.Done():
		return `{"error":"not done: too many other scripts run now"}`, ""
	}
	answer, events := r.agent.HandleEvents(ctx, name, arguments)
	for _, e := range events {
		if len(e.Skills) > 0 {
			skill = e.Skills[0]
		}
	}
	return answer, skill
}

func (r *Runner) trusts(digest string) bool {
	r.trusted.Version() // looks whether the file has changed
	return digest != "" && r.trusted.Trusted(digest)
}

// allow refuses a run of a skill that is not trusted as it is now.
func (r *Runner) allow(ctx context.Context, b contextprovider.Body, _ string) error {
	l, err := r.catalog.Listing(ctx, b.ID, r.scope, true)
	if err != nil {
		return err
	}
	refused := &sandbox.Error{Reason: sandbox.Refused, Fact: fmt.Sprintf("Scripts of the skill '%s' may not run: the user does not trust it as it is now", words.Line(b.ID))}
	if l.Partial {
		refused.Hint = "it cannot be trusted, because it has too many files or folders to be compared"
		return refused
	}
	if i := slices.IndexFunc(l.Files, func(f contextprovider.Resource) bool { return f.SHA256 == "" }); i >= 0 {
		refused.Hint = "it cannot be trusted, because its file " + words.Line(l.Files[i].Path) + " is too large to be compared"
		return refused
	}
	if r.trusts(l.Digest) {
		return nil
	}
	refused.Hint = "ask the user to look at its scripts and to type: skills trust " + quoted(b.ID)
	return refused
}

// quoted returns a name as it is typed in a shell.
func quoted(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" {
		return name
	}
	return "'" + strings.ReplaceAll(words.Line(name), "'", `'\''`) + "'"
}
