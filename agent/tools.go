package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// builtin is a tool that every catalog has.
type builtin struct {
	tool.Row
	do     func(ctx context.Context, s *acts, in tool.Arguments) (Reply, error)
	kind   usage.Kind // what a call is, for logs
	usual  bool       // it is offered unless Config.Offer says otherwise
	json   bool       // it answers with a JSON object, also if a call fails
	runs   bool       // it needs an executor
	shell  bool       // it needs an executor that is a shell
	finds  bool       // it needs Config.Find
	listed bool       // its description lists skills
}

// A Reply is the answer to a call of a tool.
type Reply struct {
	Text   string                // what the model reads
	Data   any                   // the same for programs; nil means that the text is all there is
	Failed string                // why the call failed, in words for a model; "" means that it did not
	File   *contextprovider.File // a file that is no text, for clients that can show it; nil means none
	Kind   usage.Kind            // what the call is, for logs; "" for a tool of Config.More, and for one that does not exist
	Events []usage.Event         // what happened
}

// One vocabulary: models that know another host's tools use its names.
var (
	skillParam = tool.Param{Name: "name", Aliases: []string{"id", "skill", "skillid", "skillname"}, Required: true, Text: "the name of the skill"}
	queryNames = []string{"prompt", "task", "text"}
)

// SkillParam returns the parameter of all tools that are about a skill. An error of such a tool
// about a skill that is not there tells the model what it may have meant.
func SkillParam() tool.Param { return skillParam }

// builtins are the tools that every catalog has, in the order in which models see them. Each is
// answered, whether it is offered or not: several do the same under the names and in the forms
// that different hosts are used to.
func (c *Config) builtins() []builtin {
	in := skillParam
	in.Required, in.Text = false, "the skill in whose folder they run; leave it out for none"
	read := []tool.Param{skillParam}
	part := append(slices.Clone(read), tool.Param{Name: "section", Aliases: []string{"heading"}, Text: "a heading in its files: only what is below it; the whole SKILL.md if left out"})
	inside := skillParam
	inside.Required, inside.Text = false, "the skill whose files are searched; left out, the skills that fit the query best"
	file := []tool.Param{skillParam,
		{Name: "path", Aliases: []string{"file", "filename", "filepath", "resource", "resourcename"}, Required: true, Text: "of the file, relative to the skill's folder"},
		{Name: "lines", Text: `lines to read, from 1: "10-40", "10-" or "10"; all if left out`}}
	return []builtin{
		{kind: usage.Loaded, Row: tool.Row{Name: "read_skill", Title: "Read the instructions of a skill", Text: readText, Params: part}, usual: true, listed: true, do: readSkill},
		{kind: usage.Searched, Row: tool.Row{Name: "search_skills", Title: "Search skills", Text: searchText, Output: searchResult{}, Params: []tool.Param{
			{Name: "query", Aliases: queryNames, Required: true, Text: "what is to be done, as a sentence or as words"},
			{Name: "limit", Kind: tool.Number, Text: "most skills to return, 1 to 50; 8 if left out"},
			{Name: "all", Kind: tool.Switch, Text: "also skills that hardly fit, up to the limit"},
			{Name: "agent", Text: "search only what this configured agent may see", Hidden: c.Agent != nil || len(c.Agents) == 0},
		}}, usual: true, do: searchSkills},
		{kind: usage.Offered, Row: tool.Row{Name: "suggest_skills", Title: "Suggest skills for a prompt", Text: suggestText, Params: []tool.Param{
			{Name: "prompt", Aliases: []string{"query", "text"}, Required: true, Blank: true, Text: "the prompt as the user wrote it"},
			{Name: "cwd", Text: "the folder that the user works in"},
			{Name: "session", Text: "for hooks: an identifier of the conversation"},
		}}, do: suggestSkills},
		{kind: usage.Listed, Row: tool.Row{Name: "list_skills", Title: "List skills", Text: listText, Output: listResult{}, Params: []tool.Param{
			{Name: "query", Aliases: queryNames, Text: "only skills that have to do with this, best first"},
			{Name: "tag", Text: "only skills with this tag"},
			{Name: "source", Text: "only skills from this source"},
			{Name: "cursor", Text: "next_cursor of the page before"},
		}}, usual: true, do: listSkills},
		{kind: usage.Read, Row: tool.Row{Name: "read_skill_resource", Title: "Read a file of a skill", Text: resourceHelp, Params: file}, usual: true, do: readResource},
		{kind: usage.Read, Row: tool.Row{Name: "search_skill_files", Title: "Search in the files of skills", Text: filesHelp, Params: []tool.Param{
			{Name: "query", Aliases: queryNames, Required: true, Text: "what the files should say something about"},
			inside, {Name: "path", Aliases: file[1].Aliases, Text: "the only file of it to search"},
		}}, usual: true, do: searchFiles},
		{kind: usage.Searched, Row: tool.Row{Name: "find_skills", Title: "Find skills in registries", Text: findText, Open: true, Params: []tool.Param{
			{Name: "query", Aliases: queryNames, Required: true, Text: "what is to be done, in a few words; it is sent to others, so leave out names, figures and secrets"},
			{Name: "limit", Kind: tool.Number, Text: "most skills to return, 1 to 50; 8 if left out"},
		}}, usual: true, finds: true, do: findSkills},
		{kind: usage.Ran, Row: tool.Row{Name: "run_skill_script", Text: runHelp, Writes: true, Destroys: true, Params: []tool.Param{skillParam,
			{Name: "command", Aliases: []string{"cmd", "script"}, Required: true, Text: "the script with its arguments as in a shell, such as scripts/fill.py --all form.pdf"},
			{Name: "args", Aliases: []string{"arguments", "argv"}, Kind: tool.Texts, Text: "further arguments, each as it is"},
			{Name: "stdin", Aliases: []string{"input"}, Text: "what the script reads from its standard input"},
		}}, usual: true, runs: true, do: runScript},
		{kind: usage.Ran, Row: tool.Row{Name: "sandbox_execute", Text: shellText, Writes: true, Destroys: true, Params: []tool.Param{
			{Name: "command", Aliases: []string{"cmd", "script", "code"}, Required: true, Text: "commands of a shell, such as ./scripts/count.sh a.txt | sort"}, in,
		}}, runs: true, shell: true, do: runShell},
		// The names that other hosts and libraries have for the same, in their forms.
		{kind: usage.Loaded, Row: tool.Row{Name: "get_skill", Text: "Load a skill: its instructions and the folder that relative paths in them start at. Call it before you do the task that the skill is about.",
			Params: read}, json: true, listed: true, do: getSkill},
		{kind: usage.Loaded, Row: tool.Row{Name: "load_skill", Text: "Load a skill: its whole SKILL.md and the folder that relative paths in it start at. Call it before you do the task that the skill is about.",
			Params: read}, json: true, do: loadSkill},
		{kind: usage.Loaded, Row: tool.Row{Name: "activate_skill", Text: readText, Params: read}, do: activateSkill},
		{kind: usage.Loaded, Row: tool.Row{Name: "use_skill", Text: readText, Params: part}, do: readSkill},
		{kind: usage.Loaded, Row: tool.Row{Name: "skill", Text: readText, Params: part}, do: readSkill},
		{kind: usage.Read, Row: tool.Row{Name: "load_skill_resource", Text: resourceHelp, Params: file}, do: readResource},
		{kind: usage.Read, Row: tool.Row{Name: "read_skill_file", Text: resourceHelp, Params: file}, do: readResource},
	}
}

// rows are the tools that the agent answers: the builtins, then Config.More.
func (c *Config) rows() []builtin {
	all := c.builtins()
	for _, r := range c.More {
		all = append(all, builtin{Row: r, usual: true, do: func(ctx context.Context, _ *acts, in tool.Arguments) (Reply, error) {
			text, data, err := r.Do(ctx, in)
			return Reply{Text: text, Data: data}, err
		}})
	}
	return all
}

// What models read of the tools. shellText is followed by stayText or freshText.
const (
	readText = `Load a skill: its instructions (the whole SKILL.md as it is on disk now), the folder that relative paths in them start at, and the list of its other files. Call it when a skill is about the task at hand, and before you do that task.`

	searchText = `Find agent skills (tested instructions, often with scripts) for a task. Search before starting any task that others have likely done before: working on a kind of file, with a tool, service, framework or API, or by a convention of this team; and again when the task changes. Do not search for small talk or when the right skill is already loaded.

Write the query as one sentence about what is to be done and with what, in the user's words ("fill in the fields of a PDF form"). The answer has the skills that fit, best first, with the probability that the task wants each; those marked relevant are worth reading with read_skill. If nothing fits, go on without a skill; all=true lists the nearest ones all the same.`

	suggestText = `The skills that a user's prompt wants, as a block of text for the model's context, if it wants any. Made for clients that call it for every prompt, such as a hook: these give a session, and then a prompt that wants no skill gets an empty text, and a skill is suggested once. To look for a skill yourself, call search_skills: that also finds skills that fit less surely.`

	findText = `Find skills that are not installed, in registries that the user has configured. Call it only when search_skills finds nothing that fits, and the user would want a skill for the task. The query is sent to these registries. What it returns is by strangers: nothing of it is installed or loaded, and only the user decides to install it.`

	listText = `Browse the catalog of skills a page at a time: all by name, or with a query those that have to do with it, best first; of a tag or a source if one is given. Call this when the user asks what skills there are. To find a skill for a task, call search_skills instead: it returns only what fits.`

	resourceHelp = `Read a file of a skill, such as references/forms.md or scripts/fill.py, as it is on disk now. Call it when the instructions of a loaded skill refer to the file; the path is relative to the skill's folder. Of a long file ask for the lines that matter, such as "10-40". A script is usually better run where it is than read.`

	filesHelp = `Find where the files of a skill say something: the sections of its SKILL.md, references and scripts that have to do with the query, each with its place and an excerpt. Call it instead of reading a long skill or file whole.`

	runHelp = "Run a script of a skill, as its instructions say. The working folder is the skill's folder. It is one command: pipes, redirections and variables do not work."

	shellText = "Run commands of a shell in a sandbox that has files of its own, and pipes, loops and functions, but reaches nothing outside. Skills that are loaded are in it, with a name the commands run in the folder of that skill."
	stayText  = " The files stay from one call to the next, for this conversation alone; mktemp makes new ones."
	freshText = " Each call has a new sandbox: no file stays for the next call, so do in one call what belongs together."
)

// listOf returns what a description says of the skills of a block: the list, or that none is
// there, or that none stands out.
func listOf(b *contextprovider.Block) string {
	switch {
	case b.Text != "":
		return b.Text
	case b.Ranking.Skills == 0:
		return noSkills
	}
	return noneStandsOut(b.Ranking.Skills) + " search_skills finds them by what they are for, and list_skills lists them."
}

const noSkills = "There are no skills here."

// noneStandsOut says that a prompt wants none of so many skills.
func noneStandsOut(n int) string {
	if n == 1 {
		return "There is 1 skill; it does not stand out for this prompt."
	}
	return fmt.Sprintf("There are %d skills; none of them stands out for this prompt.", n)
}

// loadIntro is the sentence of a list that says how a skill of it is loaded.
const loadIntro = "The tool read_skill returns the instructions of each by its name."

// Tools returns what a model may call for a prompt: Config.Offer, or read_skill, search_skills,
// list_skills, read_skill_resource, search_skill_files and, if there is a Find, find_skills, and, if
// there is an Executor, run_skill_script. The description
// of read_skill lists the skills that fit the prompt, within Config.Budget; for the prompt "",
// as many of all skills as the budget has room for. A program passes the calls to Agent.Call.
func (a *Agent) Tools(ctx context.Context, prompt string) ([]Tool, error) {
	return a.tools(ctx, prompt, false)
}

// Tools returns what Agent.Tools does for programs that pass the calls to Conversation.Call,
// which keeps the files of a sandbox.
func (c *Conversation) Tools(ctx context.Context, prompt string) ([]Tool, error) {
	return c.agent.tools(ctx, prompt, true)
}

// Definitions returns the tools without a list of skills, for hosts that list them elsewhere or
// not at all. stay means that files of a sandbox stay from one call to the next.
func (a *Agent) Definitions(stay bool) ([]Tool, error) { return a.offered(nil, stay) }

// tools returns the tools for a prompt. stay means that files stay from one call to the next.
func (a *Agent) tools(ctx context.Context, prompt string, stay bool) ([]Tool, error) {
	b, err := a.cfg.block(ctx, prompt, "")
	if err != nil {
		return nil, err
	}
	list := listOf(&b)
	return a.offered(&list, stay)
}

// block returns the block of the skills that fit a prompt.
func (c *Config) block(ctx context.Context, prompt string, offer contextprovider.Offer) (contextprovider.Block, error) {
	budget := c.Budget
	budget.ListPinned = true
	budget.Intro = cmp.Or(budget.Intro, loadIntro)
	switch {
	case offer != "":
		budget.Offer = offer
	case budget.Offer == "" && strings.TrimSpace(prompt) == "":
		budget.Offer = contextprovider.All
	}
	return c.Catalog.Block(ctx, prompt, budget, c.Agent)
}

// offered returns the definitions of the tools that are offered; list is what the description of
// the tool that loads skills says of them, nil for nothing. stay means that files stay from one
// call to the next.
func (a *Agent) offered(list *string, stay bool) ([]Tool, error) {
	all := a.cfg.rows()
	for _, name := range a.cfg.Offer {
		if !slices.ContainsFunc(all, func(r builtin) bool { return r.Name == name }) {
			return nil, fmt.Errorf("no tool %q%s", name, words.Suggest(name, namesOf(all)))
		}
	}
	var tools []Tool
	for _, r := range all {
		wanted := r.usual
		if a.cfg.Offer != nil {
			wanted = slices.Contains(a.cfg.Offer, r.Name)
		}
		if _, isShell := a.cfg.Executor.(sandbox.Shell); !wanted || r.runs && a.cfg.Executor == nil || r.shell && !isShell || r.finds && a.cfg.Find == nil {
			continue
		}
		t := r.Define()
		if r.listed && list != nil {
			t.Description += "\n\n" + unmarked(strings.TrimSpace(*list))
		}
		switch {
		case r.shell && stay:
			t.Description += stayText
		case r.shell:
			t.Description += freshText
		}
		if r.runs {
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

// ToolNames are the names of the tools that every catalog has, also of those that are offered only
// if Config.Offer names them.
func ToolNames() []string { return namesOf(new(Config).builtins()) }

func namesOf(list []builtin) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Name
	}
	return names
}

// maxListed bounds the start of a description in a list, in characters.
const maxListed = 160

// usable leaves out the skills that cannot be read now, or lack what they need: a model that
// browses should not choose them.
func usable(entries []search.Entry) []search.Entry {
	return slices.DeleteFunc(entries, func(e search.Entry) bool { return e.State != search.Offered || e.Away })
}

// Call answers a call of a tool. It remembers what this conversation has loaded, and does not
// give the same instructions twice.
func (c *Conversation) Call(ctx context.Context, name, arguments string) Reply {
	return c.reply(ctx, Call{Name: name, Arguments: arguments}, false)
}

// Call answers a call of a tool, as Conversation.Call does, but remembers nothing, and each call
// has a sandbox of its own: it is for programs with a loop of their own.
func (a *Agent) Call(ctx context.Context, name, arguments string) Reply {
	return a.CallIn(ctx, new(Session), name, arguments)
}

// CallIn is Call for a call of a session, which must not be nil.
func (a *Agent) CallIn(ctx context.Context, in *Session, name, arguments string) Reply {
	in.mu.Lock()
	s := acts{cfg: &a.cfg, files: &in.files, before: slices.Clone(in.loaded)}
	in.mu.Unlock()
	return s.reply(ctx, Call{Name: name, Arguments: arguments}, true)
}

// Known returns the name in the table of the tool that a call means, in whatever case; "" means
// that the table has none. Scripts of skills that are tools of their own are not in the table.
func (a *Agent) Known(name string) string {
	if r := a.cfg.row(name); r != nil {
		return r.Name
	}
	return ""
}

// reply answers one call. With every it runs scripts of skills that are not loaded too.
func (s *acts) reply(ctx context.Context, c Call, every bool) Reply {
	start := s.happened()
	row := s.cfg.row(c.Name)
	if row == nil {
		row = &builtin{kind: usage.Ran, do: func(ctx context.Context, s *acts, _ tool.Arguments) (Reply, error) {
			t, err := s.script(ctx, c.Name, every)
			if err != nil {
				return Reply{}, s.failed("", "", err)
			}
			return s.callScript(ctx, &t, c.Arguments)
		}}
	}
	ctx, end := s.cfg.toolSpan(ctx, cmp.Or(row.Name, c.Name), c.ID)
	r, err := row.call(ctx, s, c.Name, c.Arguments)
	if err != nil {
		r = failing(s.problemOf(ctx, err), row.json)
	}
	r.Text, r.Kind, r.Events = unmarked(r.Text), cmp.Or(r.Kind, row.kind), s.eventsFrom(start)
	end(err, r.Events)
	return r
}

// call answers a call.
func (b *builtin) call(ctx context.Context, s *acts, name, args string) (Reply, error) {
	var in tool.Arguments
	if b.Name != "" { // a script reads its arguments itself
		var err error
		if in, err = tool.Parse(name, args, b.Params); err != nil {
			return Reply{}, s.failed("", "", err)
		}
	}
	r, err := b.do(ctx, s, in)
	return r, s.cfg.skillProblem(err, in.Text(skillParam.Name))
}

// row returns the row of a tool, by its name in whatever case; nil if there is none.
func (c *Config) row(name string) *builtin {
	all := c.rows()
	if i := slices.IndexFunc(all, func(r builtin) bool { return r.Name == sameName(name) }); i >= 0 {
		return &all[i]
	}
	return nil
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
	list := listOf(&b)
	if len(b.Pinned) > 0 {
		system, list = b.Text, "The skills that fit are in <available_skills> above."
	}
	tools, err = c.agent.offered(&list, true)
	return system, tools, err
}

// act answers the calls in their order.
func (toolMode) act(ctx context.Context, c *Conversation, m Message) []Message {
	var results []Message
	for _, call := range m.Calls {
		results = append(results, Message{Role: Result, Call: call.ID, Text: c.reply(ctx, call, false).Text})
	}
	return results
}
