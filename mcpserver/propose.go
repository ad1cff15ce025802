package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/proposal"
)

const proposeUpdateText = `Propose a change of a skill, for a person to decide on. The skill stays as it is until then. Call it when a skill turned out to be wrong, outdated or incomplete while you followed it, and you know what would have helped. The diff is a unified diff of the skill's files (SKILL.md and others) with a few unchanged lines around each change; line numbers do not matter, but each hunk must fit in exactly one place. Removed and new files are possible (/dev/null), renames are not. Keep it small: one idea, in the style of the skill.`

const proposeNewText = `Propose a new skill, for a person to decide on. No skill is added until then. Call it when you have worked out how to do a kind of task that will come again, and no skill of the catalog says it (search_skills first). It needs a SKILL.md with a frontmatter of name (as given here) and description (what it does, and when to use it), then instructions.`

type proposeUpdateParams struct {
	reference
	Diff          string `json:"diff" jsonschema:"unified diff of its files"`
	Justification string `json:"justification" jsonschema:"why the change helps, for the person who decides"`
	Evidence      string `json:"evidence,omitempty" jsonschema:"what happened: an error, a log, a quotation"`
}

type proposeNewParams struct {
	Name          string         `json:"name" jsonschema:"lower-case letters, digits and single hyphens"`
	Files         []proposedFile `json:"files" jsonschema:"SKILL.md and the files that it refers to"`
	Justification string         `json:"justification" jsonschema:"why the skill helps, for the person who decides"`
}

type proposedFile struct {
	Path string `json:"path" jsonschema:"relative to the folder of the skill, such as SKILL.md or scripts/run.sh"`
	Text string `json:"text" jsonschema:"the whole file"`
}

type proposedResult struct {
	Proposal string         `json:"proposal" jsonschema:"id of the proposal"`
	Skill    string         `json:"skill" jsonschema:"id of the skill"`
	State    proposal.State `json:"state" jsonschema:"open, or rejected if the same was rejected before"`
	Reason   string         `json:"reason,omitempty" jsonschema:"why it was rejected"`
}

// addProposals adds the tools that propose, and those that decide on proposals.
func (s *Server) addProposals() {
	if s.opts.Proposals == nil {
		return
	}
	keeps := mcp.ToolAnnotations{IdempotentHint: true} // the same proposal twice is one
	addAs(s, "propose_skill_update", "Propose a change of a skill", proposeUpdateText, keeps, s.proposeUpdate)
	addAs(s, "propose_skill", "Propose a new skill", proposeNewText, keeps, s.proposeNew)
	if s.opts.Reviews {
		s.addReviews()
	}
}

func (s *Server) proposeUpdate(ctx context.Context, req *mcp.CallToolRequest, p proposeUpdateParams) (*mcp.CallToolResult, proposedResult, error) {
	id, err := p.skill()
	if err != nil {
		return nil, proposedResult{}, err
	}
	kept, err := s.opts.Proposals.ProposeUpdate(ctx, s.who(req), proposal.Change{Skill: id, Diff: p.Diff, Justification: p.Justification, Evidence: p.Evidence})
	if err != nil {
		return nil, proposedResult{}, named(err, id)
	}
	return proposed(ctx, kept)
}

func (s *Server) proposeNew(ctx context.Context, req *mcp.CallToolRequest, p proposeNewParams) (*mcp.CallToolResult, proposedResult, error) {
	files := make(proposal.Files)
	for _, f := range p.Files {
		if _, ok := files[f.Path]; ok {
			return nil, proposedResult{}, mistake("file %s is there twice", quoted(f.Path))
		}
		if strings.Contains(f.Text, "\x00") { // no diff would show it
			return nil, proposedResult{}, mistake("file %s is no text", quoted(f.Path))
		}
		files[f.Path] = proposal.File{Data: []byte(f.Text)}
	}
	kept, err := s.opts.Proposals.ProposeNew(ctx, s.who(req), proposal.Addition{Name: p.Name, Files: files, Justification: p.Justification})
	if err != nil {
		return nil, proposedResult{}, err
	}
	return proposed(ctx, kept)
}

func proposed(ctx context.Context, p proposal.Proposal) (*mcp.CallToolResult, proposedResult, error) {
	noteProposal(ctx, p)
	r := proposedResult{Proposal: p.ID, Skill: p.Skill, State: p.State, Reason: p.Reason}
	if p.State == proposal.StateRejected {
		return text(fmt.Sprintf("The same was proposed before as %s, and rejected: %s", p.ID, line(p.Reason, maxMessage))), r, nil
	}
	return text(fmt.Sprintf("Proposal %s for the skill %s waits for a decision. Until then the skill is as it was.", p.ID, line(p.Skill, maxName))), r, nil
}

// noteProposal notes in the event of a request which proposal it was about.
func noteProposal(ctx context.Context, p proposal.Proposal) {
	e := eventOf(ctx)
	e.Skills, e.Change = []string{p.Skill}, p.ID
}

// who returns who calls a tool: the agent whose scope is served, or else the caller, or else
// the client as it names itself.
func (s *Server) who(req *mcp.CallToolRequest) proposal.Who {
	if a := s.opts.Agent; a != nil {
		return proposal.Who{Agent: a, Name: a.Name}
	}
	client, caller := clientOf(req)
	if caller != "" {
		return proposal.Who{Name: "token " + caller}
	}
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return proposal.Who{Name: "client " + line(p.ClientInfo.Name, maxName)}
	}
	return proposal.Who{Name: "client " + client}
}
