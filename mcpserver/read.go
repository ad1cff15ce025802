package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/contextprovider"
)

const readText = `Load a skill: its instructions (the whole SKILL.md as it is on disk now), the folder that relative paths in them start at, and the list of its other files. Call it when a skill found with search_skills, or named by the user, is about the task at hand, and before you do that task. Give the id from the search or the skill's name.`

// maxFilesTold bounds the files that a text lists; the structured result has all.
const maxFilesTold = 40

type readParams struct{ reference }

type readResult struct {
	ID           string                        `json:"id"`
	Name         string                        `json:"name"`
	Source       string                        `json:"source" jsonschema:"where the skill comes from"`
	Folder       string                        `json:"folder" jsonschema:"what relative paths in the instructions are relative to"`
	Sandbox      string                        `json:"sandbox,omitempty" jsonschema:"where commands of sandbox_execute find the folder"`
	Instructions string                        `json:"instructions" jsonschema:"SKILL.md"`
	Next         string                        `json:"next,omitempty" jsonschema:"lines of SKILL.md that are left out, for read_skill_resource"`
	Tokens       int                           `json:"tokens" jsonschema:"of the whole SKILL.md, estimated"`
	Resources    []contextprovider.Resource    `json:"resources" jsonschema:"the other files of the skill"`
	Requires     []contextprovider.Requirement `json:"requires,omitempty" jsonschema:"skills that this one asks for"`
	Stale        bool                          `json:"stale,omitempty" jsonschema:"SKILL.md changed since it was indexed"`
	Required     []requiredSkill               `json:"required,omitempty" jsonschema:"instructions of skills that this one requires, if they are loaded with it"`
	Unavailable  string                        `json:"unavailable,omitempty" jsonschema:"what the skill needs and this machine lacks"`
	HiddenChars  int                           `json:"hidden_chars,omitempty" jsonschema:"invisible characters that were removed from the instructions"`
}

// requiredSkill is a skill that was loaded because another one requires it.
type requiredSkill struct {
	ID           string `json:"id"`
	Folder       string `json:"folder" jsonschema:"what relative paths in the instructions are relative to"`
	Sandbox      string `json:"sandbox,omitempty" jsonschema:"where commands of sandbox_execute find the folder"`
	Instructions string `json:"instructions" jsonschema:"SKILL.md"`
}

func (s *Server) read(ctx context.Context, req *mcp.CallToolRequest, p readParams) (*mcp.CallToolResult, readResult, error) {
	id, err := p.skill()
	if err != nil {
		return nil, readResult{}, err
	}
	body, err := s.catalog.Body(ctx, id, s.opts.Agent)
	if err != nil {
		return nil, readResult{}, named(err, id)
	}
	e := eventOf(ctx)
	e.Stale, e.Session = body.Stale, s.lastSession()
	part := cut(body.Text, lines{})
	required := requiredOf(body, maxText-len(part.text))
	s.loaded(ctx, body.ID)
	for i := range required {
		q := &required[i]
		s.loaded(ctx, q.ID)
		q.Sandbox = s.placed(ctx, req, q.ID, q.Folder)
	}
	r := readResult{
		ID: body.ID, Name: body.Name, Source: body.Source, Folder: body.Folder, Sandbox: s.placed(ctx, req, body.ID, body.Folder), Instructions: part.text, Next: part.rest(lines{}), Tokens: body.Tokens,
		Resources: body.Resources, Requires: body.Requires, Stale: body.Stale, HiddenChars: body.HiddenChars,
		Required: required, Unavailable: body.Unavailable,
	}
	return text(r.text()), r, nil
}

// loaded notes that the model has the instructions of a skill.
func (s *Server) loaded(ctx context.Context, id string) {
	s.use(ctx, id)
	e := eventOf(ctx)
	if e.Skills = append(e.Skills, id); e.Session != "" {
		s.opts.Loaded(ctx, e.Session, id)
	}
}

// lastSession returns the session of the last suggest_skills, if that is the session of
// every request, else "".
func (s *Server) lastSession() string {
	if session := s.session.Load(); session != nil && s.opts.Loaded != nil {
		return *session
	}
	return ""
}

// requiredOf returns the skills that were loaded with a body, as far as they fit whole into
// room bytes: the model reads the others by their names.
func requiredOf(b contextprovider.Body, room int) []requiredSkill {
	var list []requiredSkill
	for _, q := range b.Required {
		if len(q.Text) <= room {
			room -= len(q.Text)
			list = append(list, requiredSkill{ID: q.ID, Folder: q.Folder, Instructions: q.Text})
		}
	}
	return list
}

// inSandbox is the line about where commands find the folder of a skill.
func inSandbox(at string) string {
	if at == "" {
		return ""
	}
	return "Commands of sandbox_execute and run_skill_script find it at " + line(at, 1000) + ".\n"
}

// text is the instructions under a short header.
func (r *readResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Skill %s from %s, about %d tokens. Its folder: %s\n%s", line(r.ID, maxName), line(r.Source, maxName), r.Tokens, line(r.Folder, 1000), inSandbox(r.Sandbox))
	if n := len(r.Resources); n > 0 {
		names := make([]string, 0, maxFilesTold)
		for _, f := range r.Resources[:min(n, maxFilesTold)] {
			names = append(names, line(f.Path, maxName))
		}
		fmt.Fprintf(&b, "Its other files (read_skill_resource reads one): %s", strings.Join(names, ", "))
		if n > maxFilesTold {
			fmt.Fprintf(&b, " and %d more", n-maxFilesTold)
		}
		b.WriteString("\n")
	}
	for _, q := range r.Requires {
		switch name := line(q.Name, maxName); {
		case slices.ContainsFunc(r.Required, func(s requiredSkill) bool { return s.ID == q.Name }):
			fmt.Fprintf(&b, "It asks for the skill %s too, which follows it here.\n", name)
		case q.Available:
			fmt.Fprintf(&b, "It asks for the skill %s too; read_skill loads it.\n", name)
		default:
			fmt.Fprintf(&b, "It asks for %s, which the catalog does not have.\n", name)
		}
	}
	if r.Unavailable != "" {
		fmt.Fprintf(&b, "This machine may lack something: it %s.\n", line(r.Unavailable, maxMessage))
	}
	if r.Stale {
		b.WriteString("It changed since it was indexed; this is how it is now.\n")
	}
	if r.HiddenChars > 0 {
		fmt.Fprintf(&b, "%d invisible characters were removed from it.\n", r.HiddenChars)
	}
	if r.Next != "" {
		fmt.Fprintf(&b, "It is cut here; read_skill_resource with path SKILL.md and lines %s reads on.\n", r.Next)
	}
	b.WriteString("The rest of this text is its SKILL.md, written by its author.\n\n")
	b.WriteString(r.Instructions)
	for _, q := range r.Required {
		fmt.Fprintf(&b, "\n\nSkill %s, which is required. Its folder: %s\n%sThe rest up to the next skill is its SKILL.md, written by its author.\n\n%s",
			line(q.ID, maxName), line(q.Folder, 1000), inSandbox(q.Sandbox), q.Instructions)
	}
	return b.String()
}
