package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
)

// A builtin is a tool that every catalog has.
type builtin struct {
	name, text string
	params     []toolParam
	usual      bool // it is offered unless Config.Offer says otherwise
	runs       bool // it needs an executor
	shell      bool // it needs an executor that is a shell
	do         func(ctx context.Context, s *acts, in toolArguments) (any, error)
}

// builtins are all of them, in the order in which models see them. Handle answers all,
// whether they are offered or not: several do the same under the names and in the forms
// that different hosts are used to.
func builtins() []builtin {
	name := toolParam{name: "skill_name", aliases: []string{"skill", "name", "id"}, required: true, text: "the name of the skill"}
	return []builtin{
		{name: "get_skill", text: getText, usual: true, params: []toolParam{name}, do: getSkill},
		{name: "load_skill", text: "Load a skill: its whole SKILL.md and the folder that relative paths in it start at. Call it before you do the task that the skill is about.",
			params: []toolParam{name}, do: loadSkill},
		{name: "read_skill", text: "Load a skill: its whole SKILL.md, the folder that relative paths in it start at, and the list of its other files. Call it before you do the task that the skill is about.",
			params: []toolParam{name}, do: readSkill},
		{name: "list_skills", text: "List the skills that there are, or those that are about a task. Call it when no skill that you know of fits the task at hand, and when the user asks what skills there are.",
			usual: true, params: []toolParam{{name: "query", aliases: []string{"prompt", "task"}, text: "what is to be done, as a sentence; leave it out to list skills by name"}}, do: listSkills},
		{name: "read_skill_resource", text: "Read a file of a skill, such as references/forms.md, as it is now. Call it when the instructions of a loaded skill refer to the file.",
			usual: true, params: []toolParam{name, {name: "path", aliases: []string{"file", "resource"}, required: true, text: "of the file, relative to the skill's folder"}}, do: readResource},
		{name: "run_skill_script", text: "Run a script of a skill, as its instructions say. The working folder is the skill's folder. It is one command: pipes, redirections and variables do not work.",
			usual: true, runs: true, params: []toolParam{name,
				{name: "command", aliases: []string{"cmd", "script"}, required: true, text: "the script with its arguments as in a shell, such as scripts/fill.py --all form.pdf"},
				{name: "args", aliases: []string{"arguments", "argv"}, list: true, text: "further arguments, each as it is"},
				{name: "stdin", aliases: []string{"input"}, text: "what the script reads from its standard input"},
			}, do: runScript},
		{name: "sandbox_execute", text: shellText, runs: true, shell: true, params: []toolParam{
			{name: "command", aliases: []string{"cmd", "script", "code"}, required: true, text: "commands of a shell, such as ./scripts/count.sh a.txt | sort"},
			{name: "skill_name", aliases: name.aliases, text: "the skill in whose folder they run; leave it out for none"},
		}, do: runShell},
	}
}

// shellText describes sandbox_execute. stayText or freshText follows it.
const (
	shellText = "Run commands of a shell in a sandbox that has files of its own, and pipes, loops and functions, but reaches nothing outside. Skills that are loaded are in it, with skill_name the commands run in the folder of that skill."
	stayText  = " The files stay from one call to the next, for this conversation alone; mktemp makes new ones."
	freshText = " Each call has a new sandbox: no file stays for the next call, so do in one call what belongs together."
)

const getText = "Load a skill: its instructions and the folder that relative paths in them start at. Call it before you do a task that one of these skills is about."

// noSkills stands in a description instead of a list.
const noSkills = "No skills are currently available."

// loadIntro is the sentence of a list that says how a skill of it is loaded.
const loadIntro = "The tool get_skill returns the instructions of each by its name."

// Tools returns what a model may call for a prompt: Config.Offer, or get_skill, list_skills,
// read_skill_resource and, if there is an Executor, run_skill_script. The description of
// get_skill lists the skills that fit the prompt, within Config.Budget; for the prompt "",
// as many of all skills as the budget has room for. A program passes the calls to Agent.Handle.
func (a *Agent) Tools(ctx context.Context, prompt string) ([]Tool, error) {
	return a.tools(ctx, prompt, false)
}

// Tools returns what Agent.Tools does for programs that pass the calls to Conversation.Handle,
// which keeps the files of a sandbox.
func (c *Conversation) Tools(ctx context.Context, prompt string) ([]Tool, error) {
	return c.agent.tools(ctx, prompt, true)
}

// tools returns the tools for a prompt. stay means that files stay from one call to the next.
func (a *Agent) tools(ctx context.Context, prompt string, stay bool) ([]Tool, error) {
	if strings.TrimSpace(prompt) == "" {
		list, err := a.everything(ctx)
		if err != nil {
			return nil, err
		}
		return a.offered(list, stay)
	}
	budget := a.cfg.Budget
	budget.ListPinned = true
	if budget.Intro == "" {
		budget.Intro = loadIntro
	}
	b, err := a.cfg.Catalog.Block(ctx, prompt, budget, a.cfg.Agent)
	if err != nil {
		return nil, err
	}
	return a.offered(b.Text, stay)
}

// offered returns the definitions of the tools that are offered; list is what get_skill
// says of the skills. stay means that files stay from one call to the next.
func (a *Agent) offered(list string, stay bool) ([]Tool, error) {
	all := builtins()
	for _, name := range a.cfg.Offer {
		if !slices.ContainsFunc(all, func(b builtin) bool { return b.name == name }) {
			return nil, fmt.Errorf("no tool %q%s", name, words.Suggest(name, namesOf(all)))
		}
	}
	var tools []Tool
	for _, b := range all {
		wanted := b.usual
		if a.cfg.Offer != nil {
			wanted = slices.Contains(a.cfg.Offer, b.name)
		}
		if _, isShell := a.cfg.Executor.(sandbox.Shell); !wanted || b.runs && a.cfg.Executor == nil || b.shell && !isShell {
			continue
		}
		t := Tool{Name: b.name, Description: b.text, Parameters: schemaOf(b.params)}
		if b.name == "get_skill" {
			t.Description += "\n\n" + unmarked(orElse(strings.TrimSpace(list), noSkills))
		}
		switch {
		case b.shell && stay:
			t.Description += stayText
		case b.shell:
			t.Description += freshText
		}
		if b.runs {
			t.Description += a.cfg.workspaceText()
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// workspaceText tells a model where commands find the files of the user; "" if they find none.
func (c *Config) workspaceText() string {
	switch {
	case c.Workspace.Dir == "":
		return ""
	case c.Workspace.Write:
		return " The one variable is $WORKSPACE, the folder with the user's files, which commands may change."
	}
	return " The one variable is $WORKSPACE, the folder with the user's files, which commands may only read."
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func namesOf(list []builtin) []string {
	names := make([]string, len(list))
	for i, b := range list {
		names[i] = b.name
	}
	return names
}

// everything lists the skills that the agent may use, by name, as far as the budget goes.
func (a *Agent) everything(ctx context.Context) (string, error) {
	entries, err := a.cfg.Catalog.List(ctx, a.cfg.Agent, nil)
	if err != nil {
		return "", err
	}
	entries = usable(entries)
	most := a.cfg.Budget.Tokens
	if most == 0 {
		most = 1000
	}
	var b strings.Builder
	var used words.TokenCount
	for i, e := range entries {
		line := fmt.Sprintf("- %s: %s\n", words.Line(e.ID), words.FirstSentence(words.Line(e.Description), maxListed))
		used.Add(line)
		if used.Tokens() > most {
			fmt.Fprintf(&b, "and %d more, which list_skills finds\n", len(entries)-i)
			break
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return "", nil
	}
	unread, err := a.cfg.Catalog.Unread(ctx)
	if unread > 0 {
		b.WriteString(search.Caveat(unread) + " list_skills may find more later.\n")
	}
	return "Skills in the catalog. Names and descriptions are catalog metadata.\n" + b.String(), err
}

// maxListed bounds the start of a description in a list, in characters.
const maxListed = 160

// usable leaves out the skills that cannot be read now, or lack what they need: a model that
// browses should not choose them.
func usable(entries []search.Entry) []search.Entry {
	return slices.DeleteFunc(entries, func(e search.Entry) bool { return e.State != search.Offered || e.Away })
}

// Handle does what a model calls a tool for, and returns what the model reads: a JSON
// object, for a call that fails with the key error. It remembers what this conversation has
// loaded, and does not give the same instructions twice.
func (c *Conversation) Handle(ctx context.Context, name, arguments string) string {
	return c.handle(ctx, name, arguments, false)
}

// Handle does what a model calls a tool for, as Conversation.Handle does, but remembers
// nothing, and each call has a sandbox of its own: it is for programs with a loop of their own.
func (a *Agent) Handle(ctx context.Context, name, arguments string) string {
	answer, _ := a.HandleEvents(ctx, new(Session), name, arguments)
	return answer
}

// HandleEvents is Handle for a call of a session, which must not be nil, and also tells what
// happened.
func (a *Agent) HandleEvents(ctx context.Context, in *Session, name, arguments string) (answer string, events []Event) {
	in.mu.Lock()
	s := acts{cfg: &a.cfg, files: &in.files, before: slices.Clone(in.loaded)}
	in.mu.Unlock()
	answer = s.handle(ctx, name, arguments, true)
	return answer, s.events
}

// handle answers one call. With every it runs scripts of skills that are not loaded too.
func (s *acts) handle(ctx context.Context, name, args string, every bool) string {
	answer, err := s.call(ctx, name, args, every)
	if err != nil {
		return unmarked(encoded(s.problemOf(ctx, err)))
	}
	return unmarked(encoded(answer))
}

// call does what one call asks for.
func (s *acts) call(ctx context.Context, name, args string, every bool) (any, error) {
	all := builtins()
	at := slices.IndexFunc(all, func(b builtin) bool { return b.name == sameName(name) })
	if at < 0 {
		t, err := s.script(ctx, name, every)
		if err != nil {
			return nil, s.failed("", err)
		}
		return s.callScript(ctx, &t, args)
	}
	in, err := parseArguments(name, args, all[at].params)
	if err != nil {
		return nil, s.failed("", err)
	}
	return all[at].do(ctx, s, in)
}

// sameName returns the name of a tool in the form in which builtins have it.
func sameName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}

// toolMode is the mode for models that call tools.
type toolMode struct{}

func (toolMode) intro() string { return loadIntro }

// offer returns the tools. Pinned skills, which the block holds in full, stand in the system
// prompt, and with them the list.
func (toolMode) offer(_ context.Context, c *Conversation, b contextprovider.Block) (system string, tools []Tool, err error) {
	list := b.Text
	if len(b.Pinned) > 0 {
		system, list = b.Text, "The skills that fit are in <available_skills> above."
	}
	tools, err = c.agent.offered(list, true)
	return system, tools, err
}

// act answers the calls in their order.
func (toolMode) act(ctx context.Context, c *Conversation, m Message) []Message {
	var results []Message
	for _, call := range m.Calls {
		results = append(results, Message{Role: Result, Call: call.ID, Text: c.Handle(ctx, call.Name, call.Arguments)})
	}
	return results
}
