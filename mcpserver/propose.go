package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/usage"
)

const proposeUpdateText = `Propose a change of a skill, for a person to decide on. The skill stays as it is until then. Call it when a skill turned out to be wrong, outdated or incomplete while you followed it, and you know what would have helped. The diff is a unified diff of the skill's files (SKILL.md and others) with a few unchanged lines around each change; line numbers do not matter, but each hunk must fit in exactly one place. Removed and new files are possible (/dev/null), renames are not. Keep it small: one idea, in the style of the skill.`

const proposeNewText = `Propose a new skill, for a person to decide on. No skill is added until then. Call it when you have worked out how to do a kind of task that will come again, and no skill of the catalog says it (search_skills first). It needs a SKILL.md with a frontmatter of name (as given here) and description (what it does, and when to use it), then instructions.`

// proposals are the tools that propose changes of skills, and those that decide on them.
type proposals struct {
	proposal.Desk
	opts *Options
}

// proposalRows returns the tools; none if nothing is proposed.
func proposalRows(o *Options) []tool.Row {
	if o.Proposals == nil {
		return nil
	}
	p := &proposals{o.Proposals, o}
	why := tool.Param{Name: "justification", Aliases: []string{"reason", "why"}, Required: true, Text: "why it helps, for the person who decides"}
	rows := []tool.Row{
		{Name: "propose_skill_update", Title: "Propose a change of a skill", Text: proposeUpdateText, Writes: true, Output: proposedResult{}, Do: p.proposeUpdate, Params: []tool.Param{
			agent.SkillParam(),
			{Name: "diff", Aliases: []string{"patch"}, Required: true, Text: "unified diff of its files"}, why,
			{Name: "evidence", Text: "what happened: an error, a log, a quotation"},
		}},
		{Name: "propose_skill", Title: "Propose a new skill", Text: proposeNewText, Writes: true, Output: proposedResult{}, Do: p.proposeNew, Params: []tool.Param{
			{Name: "name", Required: true, Text: "lower-case letters, digits and single hyphens"},
			{Name: "files", Required: true, Schema: filesSchema, Text: "SKILL.md and the files that it refers to"}, why,
		}},
	}
	if !o.Reviews {
		return rows
	}
	id := tool.Param{Name: "proposal", Aliases: []string{"id", "proposalid"}, Required: true, Text: "id of the proposal"}
	reason := tool.Param{Name: "reason", Aliases: []string{"why", "justification"}, Required: true, Text: "why, for the record"}
	reviews := []tool.Row{
		{Name: "list_proposals", Title: "List proposed changes of skills", Text: listProposalsText, Output: listProposalsResult{}, Do: p.list},
		{Name: "show_proposal", Title: "Show a proposed change of a skill", Text: showProposalText, Params: []tool.Param{id}, Output: showProposalResult{}, Do: p.show},
		{Name: "approve_proposal", Title: "Make a proposed change of a skill", Text: approveProposalText, Params: []tool.Param{id, reason}, Output: decidedResult{}, Writes: true, Destroys: true, Do: p.approve},
		{Name: "reject_proposal", Title: "Reject a proposed change of a skill", Text: rejectProposalText, Params: []tool.Param{id, reason}, Output: decidedResult{}, Writes: true, Destroys: true, Do: p.reject},
	}
	for i, r := range reviews {
		reviews[i].Do = func(ctx context.Context, in tool.Arguments) (string, any, error) {
			if err := p.mayDecide(ctx); err != nil {
				return "", nil, err
			}
			return r.Do(ctx, in)
		}
	}
	return append(rows, reviews...)
}

// mayDecide refuses the bearers of tokens of their own that are not for the reviewer: a token for the
// whole catalog shows the reviewer's scope at its path, and decides nothing there.
func (p *proposals) mayDecide(ctx context.Context) error {
	r := requestOf(ctx)
	extra := r.call.GetExtra() // nil of stdio
	if extra != nil && extra.TokenInfo != nil && !slices.Contains(extra.TokenInfo.Scopes, r.event.Agent) {
		return mistake("only tokens of the agent %s decide on proposals, and see them", quoted(r.event.Agent))
	}
	return nil
}

// filesSchema is the schema of the files of a new skill.
var filesSchema = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{
	Type: "object", Required: []string{"path", "text"}, PropertyOrder: []string{"path", "text"},
	Properties: map[string]*jsonschema.Schema{
		"path": {Type: "string", Description: "relative to the folder of the skill, such as SKILL.md or scripts/run.sh"},
		"text": {Type: "string", Description: "the whole file"},
	},
	AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
}}

type proposedFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

type proposedResult struct {
	Proposal string         `json:"proposal" jsonschema:"id of the proposal"`
	Skill    string         `json:"skill" jsonschema:"id of the skill"`
	State    proposal.State `json:"state" jsonschema:"open, or rejected if the same was rejected before"`
	Reason   string         `json:"reason,omitempty" jsonschema:"why it was rejected"`
}

func (p *proposals) proposeUpdate(ctx context.Context, in tool.Arguments) (text string, data any, err error) {
	kept, err := p.ProposeUpdate(ctx, p.who(ctx), proposal.Change{Skill: in.Text("name"), Diff: in.Text("diff"), Justification: in.Text("justification"), Evidence: in.Text("evidence")})
	if err != nil {
		return "", nil, err
	}
	return proposed(ctx, kept)
}

func (p *proposals) proposeNew(ctx context.Context, in tool.Arguments) (text string, data any, err error) {
	var list []proposedFile
	if err := in.Decode("files", &list); err != nil {
		return "", nil, err
	}
	files := make(proposal.Files)
	for _, f := range list {
		if _, ok := files[f.Path]; ok {
			return "", nil, mistake("file %s is there twice", quoted(f.Path))
		}
		if strings.Contains(f.Text, "\x00") { // no diff would show it
			return "", nil, mistake("file %s is no text", quoted(f.Path))
		}
		files[f.Path] = proposal.File{Data: []byte(f.Text)}
	}
	kept, err := p.ProposeNew(ctx, p.who(ctx), proposal.Addition{Name: in.Text("name"), Files: files, Justification: in.Text("justification")})
	if err != nil {
		return "", nil, err
	}
	return proposed(ctx, kept)
}

func proposed(ctx context.Context, p proposal.Proposal) (text string, data any, err error) {
	noteProposal(ctx, p)
	text = fmt.Sprintf("Proposal %s for the skill %s waits for a decision. Until then the skill is as it was.", p.ID, line(p.Skill, maxName))
	if p.State == proposal.StateRejected {
		text = fmt.Sprintf("The same was proposed before as %s, and rejected: %s", p.ID, line(p.Reason, maxMessage))
	}
	return text, proposedResult{Proposal: p.ID, Skill: p.Skill, State: p.State, Reason: p.Reason}, nil
}

// noteProposal notes in the event of a request which proposal it was about.
func noteProposal(ctx context.Context, p proposal.Proposal) {
	e := eventOf(ctx)
	e.Skills, e.Proposal = usage.Named(p.Skill), p.ID
}

// who returns who calls a tool: the caller, or else the agent whose scope is served, or else
// the client as it names itself.
func (p *proposals) who(ctx context.Context) proposal.Who {
	a := p.opts.Agent
	req := requestOf(ctx).call
	client, caller := clientOf(req)
	switch {
	case caller != "":
		return proposal.ByToken(a, caller)
	case a != nil:
		return proposal.Who{Agent: a, Name: a.Name}
	}
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil {
		return proposal.Who{Name: "client " + line(p.ClientInfo.Name, maxName)}
	}
	return proposal.Who{Name: "client " + client}
}
