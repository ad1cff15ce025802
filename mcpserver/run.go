package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Runs are the tools that run scripts of skills. Which there are depends on the catalog and
// on what the user trusts, so they are listed anew for each request.
type Runs struct {
	// Tools returns the tools as they may be called now. stay means that a session has several
	// calls; else each call has a session of its own.
	Tools func(ctx context.Context, stay bool) ([]RunTool, error)

	// Begin returns a new session of a client, see Prompt.Client.
	Begin func(client string) RunSession

	// OpenWorld says that scripts can reach other machines.
	OpenWorld bool
}

// A RunSession answers the calls of one session, which has files of its own. Its methods may
// be called from several goroutines.
type RunSession interface {
	// Call answers a call: a JSON object, with the fields error and hint if it failed, and
	// the ID of the skill that it is about, "" for none. It also refuses tools that do not
	// exist.
	Call(ctx context.Context, name, arguments string) (answer, skill string)

	// Load notes that a skill was loaded, and returns where commands see its files from now on;
	// "" means that none of its commands run.
	Load(ctx context.Context, id string) string

	// End ends the session. Its files are gone.
	End()
}

// A RunTool is one of these tools.
type RunTool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
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

// calledKey is the context key of the name by which a tool was called.
type calledKey struct{}

// running are the sessions that have run something, until their clients or the server end them.
type running struct {
	mu   sync.Mutex
	open map[*mcp.ServerSession]RunSession
}

// runSession returns the session in which the scripts of a request run.
func (s *Server) runSession(req *mcp.CallToolRequest) RunSession {
	s.running.mu.Lock()
	defer s.running.mu.Unlock()
	if r, ok := s.running.open[req.Session]; ok {
		return r
	}
	client, _ := clientOf(req)
	r := s.opts.Runs.Begin(client)
	if s.running.open == nil {
		s.running.open = make(map[*mcp.ServerSession]RunSession)
	}
	s.running.open[req.Session] = r
	go func() { // ends with the session
		_ = req.Session.Wait() // how it ended says nothing
		s.running.mu.Lock()
		defer s.running.mu.Unlock()
		delete(s.running.open, req.Session)
		r.End()
	}()
	return r
}

// placed returns where commands see the files of a skill that a request loads; "" means in its
// folder, or nowhere.
func (s *Server) placed(ctx context.Context, req *mcp.CallToolRequest, id, folder string) string {
	if s.opts.Runs == nil {
		return ""
	}
	if at := s.runSession(req).Load(ctx, id); at != folder {
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

// addRuns adds the tools, if there are any.
func (s *Server) addRuns() {
	if s.opts.Runs == nil {
		return
	}
	s.mcp.AddTool(&mcp.Tool{Name: runScript, InputSchema: json.RawMessage(`{"type":"object"}`)}, s.callRun)
	s.mcp.AddReceivingMiddleware(s.run)
}

// run is the middleware that lists these tools, and finds them in calls.
func (s *Server) run(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req := req.(type) {
		case *mcp.ListToolsRequest:
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
				err = s.listRuns(ctx, list, stays(req))
			}
			return res, err
		case *mcp.CallToolRequest:
			name := req.Params.Name
			if !isRun(name) {
				break
			}
			call, params := *req, *req.Params
			params.Name, call.Params = runScript, &params
			return next(context.WithValue(ctx, calledKey{}, name), method, &call)
		}
		return next(ctx, method, req)
	}
}

// listRuns puts the tools as they are now into a list. A script may do anything that its
// walls let through, and the next time something else.
func (s *Server) listRuns(ctx context.Context, list *mcp.ListToolsResult, stay bool) error {
	at := slices.IndexFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == runScript })
	if at < 0 {
		return nil // another page
	}
	tools, err := s.opts.Runs.Tools(ctx, stay)
	if err != nil {
		return s.internal(ctx, err)
	}
	list.Tools = slices.Delete(list.Tools, at, at+1)
	if list.TTLMs > fresh.TTLMs {
		list.Cacheable = fresh
	}
	yes, open := true, s.opts.Runs.OpenWorld
	for _, t := range tools {
		list.Tools = append(list.Tools, &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters,
			Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &open}})
	}
	return nil
}

// callRun calls one of the tools. In the event, a script that is a tool of its own counts as
// run_skill_script: there may be any number of names.
func (s *Server) callRun(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, _ := ctx.Value(calledKey{}).(string)
	answer, skill := s.runSession(req).Call(ctx, name, string(req.Params.Arguments))
	e := eventOf(ctx)
	e.Tool = runScript
	if name == runShell {
		e.Tool = runShell
	}
	if skill != "" {
		e.Skills = []string{skill}
		s.use(ctx, skill)
	}
	var failed struct{ Error, Hint string }
	if json.Unmarshal([]byte(answer), &failed) == nil && failed.Error != "" {
		r := text(strings.TrimSuffix(failed.Error+"; "+failed.Hint, "; "))
		r.IsError = true
		return r, nil
	}
	r := text(answer)
	r.StructuredContent = json.RawMessage(answer)
	return r, nil
}
