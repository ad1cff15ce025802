package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/agent/toolset"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/skill"
)

// maxScriptTools bounds the scripts that are offered as tools at once. Of more, those of the
// skills that were loaded last are offered.
const maxScriptTools = 32

// A scriptTool is a script of a skill that is a tool of its own.
type scriptTool struct {
	skill string // ID
	toolset.Script
}

// readScripts are the scripts of a skill as it was when it was loaded.
type readScripts struct {
	text  string // the SKILL.md
	tools []scriptTool
}

// ScriptTools returns the scripts of skills that declare parameters, each as a tool of its
// own, and what is wrong with other declarations; see package toolset. A Conversation offers
// the tools of the skills that it has loaded by itself. Agent.Call answers calls of all.
func (a *Agent) ScriptTools(ctx context.Context, skills ...string) ([]Tool, []skill.Problem, error) {
	s := acts{cfg: &a.cfg}
	var tools []Tool
	var problems []skill.Problem
	for _, name := range skills {
		b, err := s.body(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		list, found, err := s.scriptsOf(ctx, &b)
		if err != nil {
			return nil, nil, err
		}
		tools, problems = append(tools, toolsOf(list)...), append(problems, found...)
	}
	return tools, problems, nil
}

func toolsOf(list []scriptTool) []Tool {
	tools := make([]Tool, len(list))
	for i, t := range list {
		tools[i] = Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	}
	return tools
}

// scriptsOf reads the scripts of a skill that are tools.
func (s *acts) scriptsOf(ctx context.Context, b *contextprovider.Body) ([]scriptTool, []skill.Problem, error) {
	parsed, err := skill.ParseBytes([]byte(b.Text), "SKILL.md", b.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the scripts of skill %s: %w", b.ID, err)
	}
	var files []string
	for _, r := range b.Resources {
		files = append(files, r.Path)
	}
	found, problems := toolset.Scripts(toolset.Skill{ID: b.ID, Parsed: parsed, Files: files, Read: func(name string) (string, error) {
		f, err := s.cfg.Catalog.File(ctx, b.ID, name, s.cfg.Agent)
		return f.Text, err // a binary file has no text, and declares nothing
	}})
	list := make([]scriptTool, len(found))
	for i := range found {
		list[i] = scriptTool{b.ID, found[i]}
	}
	return list, problems, ctx.Err()
}

// loadedScripts returns the scripts of the loaded skills that are tools.
func (s *acts) loadedScripts(ctx context.Context) []scriptTool {
	s.mu.Lock()
	loaded := slices.Clone(s.loaded)
	s.mu.Unlock()
	var list []scriptTool
	for i := range loaded {
		b := &loaded[i]
		s.mu.Lock()
		known, ok := s.scripts[b.ID]
		s.mu.Unlock()
		if !ok || known.text != b.Text {
			tools, problems, err := s.scriptsOf(ctx, b)
			if err != nil {
				continue // it will be read again
			}
			known = readScripts{b.Text, tools}
			s.keepScripts(b.ID, known, problems)
		}
		for _, t := range known.tools {
			if !slices.ContainsFunc(list, func(o scriptTool) bool { return o.Name == t.Name }) { // servers refuse two tools of one name
				list = append(list, t)
			}
		}
	}
	return list
}

// keepScripts remembers the scripts of a skill.
func (s *acts) keepScripts(id string, r readScripts, problems []skill.Problem) {
	for _, p := range problems {
		if s.cfg.Logger != nil && p.Severity != skill.Note {
			s.cfg.Logger.Warn("a script is no tool", "skill", id, "problem", p.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		s.scripts = make(map[string]readScripts)
	}
	s.scripts[id] = r
}

// withScripts adds to the tools of a prompt the scripts of the skills that are loaded by
// now.
func (c *Conversation) withScripts(ctx context.Context, tools []Tool) []Tool {
	if c.cfg.Instructions || c.cfg.Executor == nil {
		return tools
	}
	own := toolsOf(c.loadedScripts(ctx))
	return slices.Concat(tools, own[max(0, len(own)-maxScriptTools):])
}

// script finds the tool of that name: among those of the loaded skills, or with every among
// those of all skills.
func (s *acts) script(ctx context.Context, name string, every bool) (scriptTool, error) {
	is := func(t scriptTool) bool { return t.Name == name }
	list := s.loadedScripts(ctx)
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], nil
	}
	known := namesOf(s.cfg.rows())
	for _, t := range list {
		known = append(known, t.Name)
	}
	missing := &tool.Problem{Fact: fmt.Sprintf("Tool %s not found", tool.Quoted(name)), Hint: words.ThereAre(known)}
	if !strings.Contains(name, "__") {
		return scriptTool{}, missing
	}
	entries, err := s.cfg.Catalog.List(ctx, s.cfg.Agent, nil)
	if err != nil {
		return scriptTool{}, err
	}
	for _, e := range usable(entries) {
		if !strings.HasPrefix(name, toolset.Prefix(e.ID)) {
			continue
		}
		b, err := s.body(ctx, e.ID)
		if err != nil {
			continue // held back or gone since
		}
		list, _, err := s.scriptsOf(ctx, &b)
		i := slices.IndexFunc(list, is)
		switch {
		case err != nil || i < 0:
		case every:
			return list[i], nil
		default:
			return scriptTool{}, &tool.Problem{Fact: fmt.Sprintf("Tool %s is of the skill %s, which is not loaded", tool.Quoted(name), tool.Quoted(e.ID)), Hint: "load the skill with read_skill first, and do what it says"}
		}
	}
	return scriptTool{}, missing
}

// callScript runs the script of a tool with the arguments of a call.
func (s *acts) callScript(ctx context.Context, t *scriptTool, args string) (Reply, error) {
	bad := func(fact string) (Reply, error) {
		return Reply{}, &tool.Problem{Fact: fact, Hint: "give a JSON object by the schema " + string(t.Parameters)}
	}
	fields, err := tool.Fields(args)
	if err != nil {
		return bad(fmt.Sprintf("The arguments of %s are malformed: %v", tool.Quoted(t.Name), err))
	}
	argv, err := t.Args(fields)
	if err != nil {
		return bad(upper(err.Error()))
	}
	res, err := s.run(ctx, t.skill, sandbox.Request{Command: sandbox.Quote(t.Path), Args: argv})
	if err != nil {
		return Reply{}, s.cfg.skillProblem(err, t.skill)
	}
	return Reply{Text: runText(&res, t.skill)}, nil
}
