package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/usage"
)

// toolbox answers calls of tools. It has the table of package agent and that of proposals; runs
// has the tools that run scripts.
type toolbox struct {
	opts    *Options
	agent   *agent.Agent
	used    *recent
	runs    *runs                  // nil means that no scripts run
	session atomic.Pointer[string] // the session that suggest_skills was last called with
}

// listedTools are the tools that a server lists, find_skills only with Options.Find. It answers all
// of the table.
var listedTools = []string{"search_skills", "suggest_skills", "read_skill", "read_skill_resource", "search_skill_files", "list_skills", "find_skills"}

func newToolbox(c Catalog, o *Options, used *recent) *toolbox {
	t := &toolbox{opts: o, used: used, runs: newRuns(o, used)}
	cfg := agent.Config{Catalog: c, Agent: o.Agent, Agents: o.Agents, More: proposalRows(o), Long: max(0, cmp.Or(o.Long, DefaultLong)), Offer: slices.Clone(listedTools), Suggest: t.suggest, Find: o.Find, Budget: contextprovider.Budget{Local: o.Local},
		Tell: func(ctx context.Context, err error) string {
			return shown(ctx, o.Logger, eventOf(ctx).Call, err).Error()
		},
	}
	for _, r := range cfg.More {
		cfg.Offer = append(cfg.Offer, r.Name)
	}
	if t.runs != nil {
		cfg.Place = t.runs.place
	}
	var err error
	if t.agent, err = agent.New(cfg); err != nil {
		panic(err) // unreachable: there is a catalog, and all else is zero
	}
	return t
}

// addTo adds the tools to a server of the protocol.
func (t *toolbox) addTo(s *mcp.Server) {
	list, err := t.agent.Definitions(true)
	if err != nil {
		panic(err) // unreachable: the names are those of the table
	}
	for i := range list {
		s.AddTool(toolOf(&list[i], list[i].Open), t.call)
	}
	if t.runs != nil {
		t.runs.addTo(s)
	}
	s.AddReceivingMiddleware(t.rename)
}

// toolOf returns the definition of a tool for clients. No tool reaches beyond this machine unless
// open says so.
func toolOf(t *agent.Tool, open bool) *mcp.Tool {
	def := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Parameters, Annotations: &mcp.ToolAnnotations{
		Title: t.Title, ReadOnlyHint: !t.Writes, IdempotentHint: !t.Destroys, DestructiveHint: &t.Destroys, OpenWorldHint: &open,
	}}
	if t.Output != nil { // a nil pointer in it would be a schema
		def.OutputSchema = t.Output
	}
	if slices.Contains(readyTools, t.Name) {
		def.Meta = mcp.Meta{"anthropic/alwaysLoad": true}
	}
	return def
}

// readyTools are the tools that Claude Code shows its model from the start. It gives the model
// others by name only, and their definition when the model asks for it, which costs a turn
// before each skill.
var readyTools = []string{"search_skills", "read_skill"}

// anyTool is a tool that the protocol library knows: calls of tools of the table that are not
// listed are handed to it.
const anyTool = "read_skill"

// rename is the middleware that lets the protocol library pass on calls of tools that are not listed.
func (t *toolbox) rename(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		r := requestOf(ctx)
		r.called = call.Params.Name
		name, known := t.agent.Known(r.called), anyTool
		switch {
		case isRun(name), name == "" && isRun(r.called):
			if known = runScript; t.runs == nil {
				return next(ctx, method, req) // which finds no such tool
			}
			r.event.Kind = usage.Ran
			r.event.Call = cmp.Or(name, runScript) // there may be any number of names of scripts
		case name == "":
			return next(ctx, method, req)
		default:
			r.event.Call = name
		}
		other, params := *call, *call.Params
		params.Name, other.Params = known, &params
		r.call = &other
		return next(ctx, method, &other)
	}
}

// call answers a call.
func (t *toolbox) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	reply, e := t.agent.Call(ctx, requestOf(ctx).called, string(req.Params.Arguments)), eventOf(ctx)
	e.Kind = cmp.Or(reply.Kind, usage.Proposed)
	for i := range reply.Events {
		t.note(ctx, e, &reply.Events[i])
	}
	return resultOf(&reply), nil
}

// note adds what happened in a call to the event of its request.
func (t *toolbox) note(ctx context.Context, e, happened *usage.Event) {
	if happened.Kind != e.Kind { // it failed
		return
	}
	e.Session = cmp.Or(happened.Session, t.lastSession())
	e.Stale = e.Stale || happened.Stale && len(e.Skills) == 0 // not of a skill that comes with it
	e.What, e.Prompt, e.Because, e.Wording = happened.What, happened.Prompt, happened.Because, happened.Wording
	e.Skills = append(e.Skills, happened.Skills...)
	if e.Kind == usage.Searched {
		return
	}
	for _, s := range slices.Backward(happened.Skills) { // so that the best counts as the most recent
		t.used.use(ctx, s.ID)
		if e.Kind == usage.Loaded && e.Session != "" {
			t.opts.Loaded(ctx, e.Session, s.ID)
		}
	}
}

// lastSession returns the session of the last suggest_skills, if that is the session of
// every request, else "".
func (t *toolbox) lastSession() string {
	if session := t.session.Load(); session != nil && t.opts.Loaded != nil {
		return *session
	}
	return ""
}

// suggest makes the block of suggest_skills.
func (t *toolbox) suggest(ctx context.Context, p agent.Prompt) (contextprovider.Block, error) {
	if p.Session != "" {
		t.session.Store(&p.Session)
	}
	return t.opts.suggest(ctx, Prompt{Text: p.Text, Dir: p.Dir, Session: p.Session, Client: eventOf(ctx).Address}, t.opts.Agent)
}

// maxBlob is the size in bytes of the largest binary file that is sent: a model cannot
// read binary files, and a client that can open one finds it on disk.
const maxBlob = 64 << 10

// resultOf returns an answer in the form of the protocol. What is written for a model stands in
// its text alone: clients show a model the structured content where there is any, and then a text
// in it arrives escaped.
func resultOf(r *agent.Reply) *mcp.CallToolResult {
	if r.Failed != "" {
		res := text(r.Failed)
		res.IsError = true
		return res
	}
	res := text(r.Text)
	res.StructuredContent = r.Data
	switch f := r.File; {
	case f == nil:
	case f.Size > maxBlob:
		res = text(r.Text + " It is too large to be sent here; it is in the skill's folder, which read_skill tells.")
	default:
		res.Content = append(res.Content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: below(uriOf(f.ID), f.Path), MIMEType: mimeType(f.Path), Blob: f.Data,
		}})
	}
	return res
}

// text returns a result with a text block, which is written for a model.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// Bounds of quotations from text that somebody else wrote.
const (
	maxName    = 200  // characters of a name
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of an error
)

// line returns s on one line, with at most n characters.
func line(s string, n int) string {
	return tidy.Shorten(tidy.Line(s), n)
}

// quoted returns the start of s in quotes, for a message: text from a caller must not
// look as if this server had written it.
func quoted(s string) string { return strconv.Quote(line(s, maxQuoted)) }
