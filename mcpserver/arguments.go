package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A reference names the skill that a tool is about. Models give what they have at hand, an ID
// or a name. The schema does not say that one of the two is required: model APIs refuse, or
// clients drop, tools with a choice (anyOf) at the top of their schema.
type reference struct {
	ID   string `json:"id,omitempty" jsonschema:"the id or the name of the skill; id or name is required"`
	Name string `json:"name,omitempty" jsonschema:"the same as id: give one of the two"`
}

// skill returns the ID or the name that is given.
func (r reference) skill() (string, error) {
	switch {
	case r.ID == "" && r.Name == "":
		return "", access.Mistake("id is missing: give the id or the name of a skill, as search_skills returns them")
	case r.ID == "":
		return r.Name, nil
	case r.Name != "" && r.Name != r.ID:
		return "", mistake("id %s and name %s differ; give only the id", quoted(r.ID), quoted(r.Name))
	}
	return r.ID, nil
}

// checkArguments is the middleware that refuses calls with unknown or missing arguments, with
// an error that a model can act on. The protocol library checks the types of the others.
func (s *Server) checkArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok {
			if schema := s.inputs[call.Params.Name]; schema != nil {
				if err := checkNames(call.Params.Name, schema, call.Params.Arguments); err != nil {
					eventOf(ctx).Tool = call.Params.Name
					r := new(mcp.CallToolResult)
					r.SetError(err)
					return r, nil
				}
			}
		}
		return next(ctx, method, req)
	}
}

// checkNames returns an error for the first argument that the tool does not take, or else for
// the first that it needs and does not get.
func checkNames(tool string, schema *jsonschema.Schema, arguments json.RawMessage) error {
	var given map[string]json.RawMessage
	if len(arguments) > 0 && json.Unmarshal(arguments, &given) != nil {
		return nil // the protocol library says that they are no object
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if schema.Properties[name] == nil {
			similar := words.DidYouMean(words.Similar(name, schema.PropertyOrder))
			if similar != "" {
				similar += " "
			}
			return mistake("no argument %s; %s%s", quoted(name), similar, taken(tool, schema))
		}
	}
	for _, name := range schema.Required {
		if given[name] == nil {
			return mistake("%s is missing; %s", name, taken(tool, schema))
		}
	}
	return nil
}

// taken says which arguments a tool takes.
func taken(tool string, schema *jsonschema.Schema) string {
	if len(schema.PropertyOrder) == 0 {
		return tool + " takes no arguments"
	}
	list := slices.Clone(schema.PropertyOrder)
	for i, name := range list {
		if slices.Contains(schema.Required, name) {
			list[i] += " (required)"
		}
	}
	return tool + " takes " + strings.Join(list, ", ")
}
