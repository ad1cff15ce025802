package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/usage"
)

// Runs are the tools that run scripts of skills. Which there are depends on the catalog and
// on what the user trusts, so they are listed anew for each request.
type Runs struct {
	// Tools returns the tools as they may be called now. stay means that a session has several
	// calls; else each call has a session of its own.
	Tools func(ctx context.Context, stay bool) ([]agent.Tool, error)

	// Begin returns a new session of a client, see Prompt.Client.
	Begin func(client string) RunSession

	// OpenWorld says that scripts can reach other machines.
	OpenWorld bool
}

// A RunSession answers the calls of one session, which has files of its own. Its methods may
// be called from several goroutines.
type RunSession interface {
	// Call answers a call. It also refuses tools that do not exist.
	Call(ctx context.Context, name, arguments string) agent.Reply

	// Load notes that a skill was loaded, and returns where commands see its files from now on;
	// "" means that none of its commands run.
	Load(ctx context.Context, id string) string

	// End ends the session. Its files are gone.
	End()
}

// runScript is the tool that the protocol library knows; calls of the others are handed to
// it. Scripts that are tools of their own hold "__" in their names.
const (
	runScript = "run_skill_script"
	runShell  = "sandbox_execute"
)

// isRun reports whether a tool is one of these.
func isRun(name string) bool {
	return name == runScript || name == runShell || strings.Contains(name, "__")
}

// runs are the sessions that have run something, until their clients or the server end them.
type runs struct {
	*Runs
	opts *Options
	used *recent

	mu   sync.Mutex
	open map[*mcp.ServerSession]RunSession
}

// newRuns returns nil for a server that runs nothing.
func newRuns(o *Options, used *recent) *runs {
	if o.Runs == nil {
		return nil
	}
	return &runs{Runs: o.Runs, opts: o, used: used, open: make(map[*mcp.ServerSession]RunSession)}
}

// session returns the session in which the scripts of a request run.
func (r *runs) session(req *mcp.CallToolRequest) RunSession {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.open[req.Session]; ok {
		return s
	}
	client, _ := clientOf(req)
	s := r.Begin(client)
	r.open[req.Session] = s
	go func() { // ends with the session
		_ = req.Session.Wait() // how it ended says nothing
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, req.Session)
		s.End()
	}()
	return s
}

// place returns where commands see the files of a skill that a request loads; "" means in its
// folder, or nowhere.
func (r *runs) place(ctx context.Context, b contextprovider.Body) string {
	if at := r.session(requestOf(ctx).call).Load(ctx, b.ID); at != b.Folder {
		return at
	}
	return ""
}

// stays reports whether the session of a request has more calls. Over HTTP without sessions,
// each request has a session of its own.
func stays(req mcp.Request) bool {
	extra := req.GetExtra()
	return extra == nil || extra.Header == nil || req.GetSession().ID() != ""
}

// addTo adds the tools to a server of the protocol.
func (r *runs) addTo(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: runScript, InputSchema: json.RawMessage(`{"type":"object"}`)}, r.call)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				err = r.list(ctx, list, stays(req))
			}
			return res, err
		}
	})
}

// list puts the tools as they are now into a list. A script may do anything that its
// walls let through, and the next time something else.
func (r *runs) list(ctx context.Context, list *mcp.ListToolsResult, stay bool) error {
	at := slices.IndexFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == runScript })
	if at < 0 {
		return nil // another page
	}
	tools, err := r.Tools(ctx, stay)
	if err != nil {
		return internal(ctx, r.opts.Logger, err)
	}
	list.Tools = slices.Delete(list.Tools, at, at+1)
	if list.TTLMs > fresh.TTLMs {
		list.Cacheable = fresh
	}
	for i := range tools {
		list.Tools = append(list.Tools, toolOf(&tools[i], r.OpenWorld))
	}
	return nil
}

// call calls one of the tools.
func (r *runs) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	reply, e := r.session(req).Call(ctx, requestOf(ctx).called, string(req.Params.Arguments)), eventOf(ctx)
	for _, happened := range reply.Events {
		if len(happened.Skills) > 0 {
			e.Skills = happened.Skills[:1]
		}
		if happened.Kind == usage.Ran {
			e.What, e.Exit, e.Duration, e.Tokens = happened.What, happened.Exit, happened.Duration, happened.Tokens
		}
	}
	for _, s := range e.Skills {
		r.used.use(ctx, s.ID)
	}
	return resultOf(&reply), nil
}
