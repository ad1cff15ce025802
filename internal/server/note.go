package server

import (
	"cmp"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/runner"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// noteServed notes a request to the server of a scope in the log of usage.
func (s *Server) noteServed(scope *repertoire.Agent, e mcpserver.Event) {
	kinds := map[string]usage.Kind{"suggest_skills": usage.Offered, "search_skills": usage.Searched, "read_skill": usage.Loaded, "read_skill_resource": usage.Read}
	kind := kinds[e.Tool]
	if e.Method == "resources/read" {
		kind = usage.Read
		if slices.Contains(skill.FileNames, e.File) {
			kind = usage.Loaded
		}
	}
	none := e.Tool == "suggest_skills" && e.Prompt == "" // nobody typed it
	if kind == "" || e.Failed || none {
		return
	}
	u := usage.Event{Kind: kind, Session: e.Session, File: e.File, Prompt: e.Prompt, Because: e.Because}
	for _, id := range e.Skills {
		u.Skills = append(u.Skills, usage.Skill{ID: id})
	}
	s.note(scope, u)
}

// noteRun notes a command of a skill that ran. What clients load and read, the events of the
// servers tell.
func (s *Server) noteRun(scope *repertoire.Agent, e agent.Event) {
	if u, ok := runner.UsageOf(e); ok && u.Kind == usage.Ran {
		s.note(scope, u)
	}
}

func (s *Server) note(scope *repertoire.Agent, u usage.Event) {
	u.Client, u.Agent = "mcp", nameOf(scope)
	if err := s.opts.Usage.Add(u); err != nil {
		s.opts.Logger.Warn("usage is not noted", "error", err)
	}
}

// lineOf returns the line of the audit log for a request to the server of a scope; ok is false
// for requests such as a ping, or a list of tools.
func lineOf(scope *repertoire.Agent, e mcpserver.Event) (line audit.Line, ok bool) {
	methods := []string{"resources/read", "resources/directory/read", "skills/get", api.Path}
	if e.Tool == "" && !slices.Contains(methods, e.Method) {
		return line, false
	}
	line = audit.Line{
		Caller: e.Caller, Agent: nameOf(scope), Call: cmp.Or(e.Tool, e.Method), Skills: e.Skills, File: e.File, Proposal: e.Change,
		Session: e.Session, Prompt: e.Prompt, Failed: e.Failed,
	}
	if e.Caller == "" {
		line.Client = e.Client
	}
	return line, true
}

// lineOfPage returns the line of the audit log for what a visitor of the page was shown or has
// decided.
func lineOfPage(e web.Event) audit.Line {
	line := audit.Line{Caller: e.Name, Agent: e.Agent, Call: "/ui/" + e.Action, Skills: e.Skills, File: e.File, Proposal: e.Proposal, Prompt: e.Prompt, Failed: e.Failed}
	if e.Name == "" {
		line.Client = e.Address
	}
	return line
}
