package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// addTools adds the tools. Each is in a file of its own.
func (s *Server) addTools() {
	add(s, "search_skills", "Search skills", searchText, s.search)
	add(s, "suggest_skills", "Suggest skills for a prompt", suggestText, s.suggest)
	add(s, "read_skill", "Read the instructions of a skill", readText, s.read)
	add(s, "read_skill_resource", "Read a file of a skill", resourceText, s.resource)
	add(s, "list_skills", "List skills", listText, s.list)
	s.addProposals()
	s.addRuns()
}

// add adds one tool that only reads what is on this machine.
func add[In, Out any](s *Server, name, title, description string, h mcp.ToolHandlerFor[In, Out]) {
	addAs(s, name, title, description, mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}, h)
}

// addAs adds one tool with these annotations, and makes it set its name in the event of a
// request. No tool reaches beyond this machine, and a tool is destructive only if it says so.
func addAs[In, Out any](s *Server, name, title, description string, hints mcp.ToolAnnotations, h mcp.ToolHandlerFor[In, Out]) {
	no := false
	hints.Title, hints.OpenWorldHint = title, &no
	if hints.DestructiveHint == nil {
		hints.DestructiveHint = &no
	}
	input, err := jsonschema.For[In](nil)
	output, err2 := jsonschema.For[Out](nil)
	if err := errors.Join(err, err2); err != nil {
		panic(err) // unreachable: arguments and results are structs of plain fields
	}
	s.inputs[name] = input
	mcp.AddTool(s.mcp, &mcp.Tool{
		Name: name, Title: title, Description: description, InputSchema: input, OutputSchema: withoutNull(output), Annotations: &hints,
	}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		eventOf(ctx).Tool = name
		res, out, err := h(ctx, req, in)
		if err != nil {
			err = s.told(ctx, name, err)
		}
		return res, out, err
	})
}

// withoutNull removes null from the types of lists in a schema: lists are never null,
// and some clients do not know a choice of types.
func withoutNull(s *jsonschema.Schema) *jsonschema.Schema {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	return s
}

// text returns a result with a text block, which is written for a model.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// setCacheable sets how long a client may cache results of the protocol library. They
// change only with the program, but belong to one user.
func setCacheable(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
	*c = mcp.Cacheable{TTLMs: 300_000, CacheScope: "private"}
}

// agent returns the scope of a search. A name may narrow the scope of the server, but
// never widen it.
func (s *Server) agent(name string) (*search.Agent, error) {
	fixed := s.opts.Agent
	switch {
	case name == "" || fixed != nil && name == fixed.Name:
		return fixed, nil
	case fixed != nil:
		return nil, mistake("this server serves the agent %s only; leave agent out", fixed.Name)
	}
	var names []string
	for _, a := range s.opts.Agents {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, mistake("no agent %s: the configuration names none; leave agent out", quoted(name))
	}
	return nil, mistake("no agent %s%s", quoted(name), words.Suggest(name, names))
}

// named rewrites an error about a skill that was not found, so that it quotes the ID, and one
// about a skill that is held back, so that a model may read it.
func named(err error, id string) error {
	r, ok := search.RefusalOf(err)
	switch {
	case !ok:
		return err
	case r.Held:
		return mistake("the skill %s is held back; only the user can release it, after a review", quoted(id))
	}
	hint := "search_skills finds skills by what they are for"
	if len(r.Similar) > 0 {
		hint = line(words.DidYouMean(r.Similar), 4*skill.MaxName)
	}
	if r.Unread > 0 {
		hint += "; " + search.TryAgain(r.Unread)
	}
	if len(r.Similar) > 0 {
		return mistake("no skill %s; %s", quoted(id), hint)
	}
	return mistake("no skill %s among %d; %s", quoted(id), r.Known, hint)
}

// Bounds of quotations from text that somebody else wrote.
const (
	maxQuoted  = 80   // characters of a name that is quoted
	maxMessage = 1000 // characters of an error
)

// line returns s on one line, with at most n characters.
func line(s string, n int) string {
	return words.Shorten(words.Line(s), n)
}

// quoted returns the start of s in quotes, for a message: text from a caller must not
// look as if this server had written it.
func quoted(s string) string { return strconv.Quote(line(s, maxQuoted)) }
