package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/search"
)

const suggestText = `The skills that a user's prompt wants, as a block of text for the model's context, if it wants any. Made for clients that call it for every prompt, such as a hook: these give a session, and then a prompt that wants no skill gets an empty text, and a skill is suggested once. To look for a skill yourself, call search_skills: that also finds skills that fit less surely.`

// nothingFits is the text for a model that asks about a prompt that wants no skill. Hooks, which
// give a session, get no text, because it would stand before each such prompt.
const nothingFits = "No skill of the catalog fits this prompt."

type suggestParams struct {
	Prompt  string `json:"prompt" jsonschema:"the prompt as the user wrote it"`
	CWD     string `json:"cwd,omitempty" jsonschema:"the folder that the user works in"`
	Session string `json:"session,omitempty" jsonschema:"for hooks: an identifier of the conversation"`
}

type suggestResult struct {
	Block  string   `json:"block" jsonschema:"for the model's context; empty when no skill is wanted"`
	Skills []found  `json:"skills" jsonschema:"that the block lists, best first"`
	Pinned []string `json:"pinned,omitempty" jsonschema:"skills that the block holds in full"`
	Tokens int      `json:"tokens" jsonschema:"of the block, estimated"`
}

// idsOf returns the IDs of hits.
func idsOf(hits []search.Hit) []string {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return ids
}

func (s *Server) suggest(ctx context.Context, _ *mcp.CallToolRequest, p suggestParams) (*mcp.CallToolResult, suggestResult, error) {
	e := eventOf(ctx)
	if p.Session != "" {
		s.session.Store(&p.Session)
	}
	if p.Prompt = intent.Typed(p.Prompt); strings.TrimSpace(p.Prompt) == "" {
		e.Session, e.Because, e.Abstained = p.Session, string(intent.Empty), true
		return s.suggested(p, suggestResult{Skills: []found{}})
	}
	b, err := s.opts.Suggest(ctx, Prompt{Text: p.Prompt, Dir: p.CWD, Session: p.Session, Client: e.Client}, s.opts.Agent)
	if err != nil {
		return nil, suggestResult{}, err
	}
	for _, p := range b.Problems {
		s.opts.Logger.Warn("pinned skill is left out", "problem", p)
	}
	r := suggestResult{Block: b.Text, Skills: foundOf(b.Skills), Tokens: b.Tokens}
	for _, body := range b.Pinned {
		r.Pinned = append(r.Pinned, body.ID)
	}
	for _, h := range slices.Backward(b.Skills) { // so that the best counts as the most recent
		s.use(ctx, h.ID)
	}
	e.Skills, e.Session, e.Prompt, e.Because = idsOf(b.Skills), p.Session, p.Prompt, b.Kind
	e.Offered, e.Abstained = len(b.Skills), len(b.Skills) == 0
	return s.suggested(p, r)
}

// suggested returns the answer to a prompt.
func (s *Server) suggested(p suggestParams, r suggestResult) (*mcp.CallToolResult, suggestResult, error) {
	if r.Block == "" && p.Session == "" {
		return text(nothingFits), r, nil
	}
	return text(r.Block), r, nil
}
