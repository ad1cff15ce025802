package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
)

// toolSkills are the skills of the tests of tool mode.
var toolSkills = map[string]string{
	"pdf-forms/SKILL.md": `---
name: pdf-forms
description: Fill in the fields of PDF forms. Use when somebody wants a PDF form filled in.
allowed-tools: scripts/*
---
# PDF forms

Run scripts/fields.sh first; see references/fields.md <b>for</b> the kinds.
`,
	"pdf-forms/references/fields.md": "Text, choice and button fields.\n",
	"pdf-forms/scripts/fields.sh":    "#!/bin/sh\necho \"fields of $1\"\ncat\n",
	"pdf-forms/assets/form.bin":      "\x00\x01\x02",
	"sourdough/SKILL.md": `---
name: sourdough
description: Bake sourdough bread with a crisp crust. Use when someone wants to bake bread.
requires: {skills: [starter]}
---
Feed the starter, then wait.
`,
	"starter/SKILL.md": "---\nname: starter\ndescription: Keep a sourdough starter alive.\n---\nFeed it daily.\n",
	"payroll/SKILL.md": "---\nname: payroll\ndescription: Compute the payroll of the company.\n---\nSecret steps.\n",
}

// toolCatalog returns a catalog of skills on disk, and their folder.
func toolCatalog(t testing.TB, files map[string]string, agents ...*repertoire.Agent) (*repertoire.Catalog, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o755))
	}
	s, err := source.Dir(dir, &source.Options{Label: "team"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{s}, Agents: agents, LoadRequired: true})
	return c, dir
}

func newAgent(t testing.TB, cfg agent.Config) *agent.Agent {
	t.Helper()
	a, err := agent.New(cfg)
	must.Do(t, err)
	return a
}

// answerOf returns what a call answers, as JSON.
func answerOf(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

// TestHandle calls each tool, the tolerated forms of arguments, and all that can go wrong.
func TestHandle(t *testing.T) {
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Exclude.Names = []string{"payroll"}
	c, dir := toolCatalog(t, toolSkills)
	a := newAgent(t, agent.Config{Catalog: c, Agent: clerk})
	folder := filepath.Join(dir, "pdf-forms")
	body := strings.TrimSpace(strings.SplitN(toolSkills["pdf-forms/SKILL.md"], "---\n", 3)[2])
	for _, test := range []struct {
		tool, args string
		want       []string // of the answer, "key=value" or "key~part"
	}{
		{"get_skill", `{"skill_name":"pdf-forms"}`, []string{"name=pdf-forms", "mount_path=" + folder, "instructions=" + body,
			"description=Fill in the fields of PDF forms. Use when somebody wants a PDF form filled in."}},
		{"get_skill", `{"skillName":"PDF-Forms"}`, []string{"name=pdf-forms"}},
		{"get_skill", `"{\"skill_name\": \"pdf-forms\"}"`, []string{"name=pdf-forms"}},
		{"get_skill", `{"skill_name":"nothing"}`, []string{"error=Skill 'nothing' not found"}},
		{"get_skill", `{"skill_name":"payroll"}`, []string{"error=Skill 'payroll' not found"}},
		{"get_skill", `{"skill_name":"team/payroll"}`, []string{"error=Skill 'team/payroll' not found"}},
		{"get_skill", `{"skill_name":"pdf-form"}`, []string{"error=Skill 'pdf-form' not found", "similar~pdf-forms"}},
		{"get_skill", `{"skill_name":"a'}\n</tool> b"}`, []string{"error=Skill 'a'} </tool> b' not found"}},
		{"get_skill", ``, []string{"error=Argument name is missing", "hint~name (string, required)"}},
		{"get_skill", `null`, []string{"error=Argument name is missing"}},
		{"get_skill", `{"skill_name":null}`, []string{"error=Argument name is missing"}},
		{"get_skill", `{"skill_name":["pdf-forms"]}`, []string{"error=Argument name is not a text"}},
		{"get_skill", `{"skill_name":"pdf-fo`, []string{"error~The arguments of 'get_skill' are malformed: the JSON ends too early", "hint~name"}},
		{"get_skill", `{"skill_name" "pdf"}`, []string{"error~malformed at character 15"}},
		{"get_skill", `{"skill_name":"pdf"} {}`, []string{"error~something follows the object"}},
		{"get_skill", `["pdf-forms"]`, []string{"error~is not a JSON object"}},
		{"get_skill", `{"skil":"pdf-forms"}`, []string{"error=get_skill has no argument 'skil'", "hint~name"}},
		{"load_skill", `{"name":"pdf-forms"}`, []string{"root_path=" + folder, "content=" + toolSkills["pdf-forms/SKILL.md"]}},
		{"get_skill", `{"skill":"sourdough"}`, []string{"instructions=Feed the starter, then wait.", "requires~starter", "required~Feed it daily."}},
		{"Get-Skill", `{"skill_name":"starter"}`, []string{"name=starter"}},
	} {
		got := answerOf(t, a.Call(t.Context(), test.tool, test.args).Text)
		for _, want := range test.want {
			at := strings.IndexAny(want, "=~")
			value := got[want[:at]]
			text, ok := value.(string)
			if !ok {
				data, _ := json.Marshal(value)
				text = string(data)
			}
			if exact := want[at] == '='; exact && text != want[at+1:] || !exact && !strings.Contains(text, want[at+1:]) {
				t.Errorf("%s %s: %v, want %s", test.tool, test.args, got, want)
			}
		}
		if strings.Contains(fmt.Sprint(got), "Secret") {
			t.Errorf("%s %s gives what the agent may not see: %v", test.tool, test.args, got)
		}
	}
	if got := a.Call(t.Context(), "get_skill", `{"skill_name":"x"}`).Text; !strings.HasPrefix(got, `{"error":"Skill 'x' not found"`) {
		t.Errorf("a miss is %s", got)
	}
	if got := a.Call(t.Context(), "get_skill", `{"skill_name":"pdf-forms"}`).Text; !strings.Contains(got, "<b>for</b>") {
		t.Errorf("the instructions are escaped: %s", got)
	}
	for tool, want := range map[string]string{"run_skill_script": "scripts do not run here", "rm": "Tool 'rm' not found; there are: read_skill, "} {
		if got := a.Call(t.Context(), tool, `{"name":"pdf-forms","command":"scripts/fields.sh"}`); !strings.HasPrefix(got.Text, want) || got.Failed != got.Text {
			t.Errorf("%s: %+v, want %q", tool, got, want)
		}
	}
}

// TestText calls the tools that answer in plain text: any name of an argument that hosts have,
// and all that can go wrong.
func TestText(t *testing.T) {
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Exclude.Names = []string{"payroll"}
	c, dir := toolCatalog(t, toolSkills)
	a := newAgent(t, agent.Config{Catalog: c, Agent: clerk})
	for _, test := range []struct {
		tool, args string
		failed     bool
		want       string // what the text has, with = what it is
	}{
		{"read_skill", `{"name":"pdf-forms"}`, false, "Skill pdf-forms from team, about "},
		{"read_skill", `{"id":"pdf-forms"}`, false, "Its folder: " + filepath.Join(dir, "pdf-forms") + "\n"},
		{"read_skill", `{"skill_id":"pdf-forms","name":null}`, false, "Its other files (read_skill_resource reads one): assets/form.bin, references/fields.md, scripts/fields.sh\n"},
		{"Read-Skill", `{"skillName":"PDF-Forms","id":"PDF-Forms"}`, false, toolSkills["pdf-forms/SKILL.md"]},
		{"read_skill", `{"name":"pdf-forms","id":"starter"}`, true, "Argument name is given twice: 'id' says something else; give a JSON object with name (string, required)"},
		{"read_skill", `{"name":"sourdough"}`, false, "the skill starter too, which follows it here."},
		{"read_skill", `{"name":"sourdough"}`, false, "\n\nSkill starter, which is required. Its folder: "},
		{"read_skill", `{"name":"pdf-form"}`, true, "=Skill 'pdf-form' not found; did you mean pdf-forms?"},
		{"read_skill", `{"name":"payroll"}`, true, "Skill 'payroll' not found; there are 3; search_skills finds"},
		{"use_skill", `{"skill":"starter"}`, false, "Feed it daily."},
		{"skill", `{"name":"starter"}`, false, "Feed it daily."},
		{"activate_skill", `{"name":"pdf-forms"}`, false, "<skill_content name=\"pdf-forms\">\n---\nname: pdf-forms\n"},
		{"activate_skill", `{"name":"pdf-forms"}`, false, "\n<skill_resources>\n<file>assets/form.bin</file>\n"},
		{"list_skills", ``, false, "Skills 1-3 of 3, by name:\n- pdf-forms: Fill in"},
		{"list_skills", `{"query":"fill in a PDF form"}`, false, "Skills 1-1 of 1 that have to do with this, best first:\n- pdf-forms"},
		{"list_skills", `{"tag":"x"}`, true, "No skill has the tag 'x'"},
		{"list_skills", `{"source":"tem"}`, true, "=No skill has the source 'tem'; did you mean team?"},
		{"list_skills", `{"cursor":"x"}`, true, "=The cursor is malformed or no longer valid; list again without one"},
		{"search_skills", `{"query":"fill in a PDF form","limit":"1"}`, false, "- pdf-forms ("},
		{"search_skills", `{"task":"quantum chromodynamics"}`, false, "Nothing fits: no skill of the catalog is about this."},
		{"search_skills", `{"query":"compute the payroll"}`, false, "Nothing fits"},
		{"search_skills", `{"query":"x","limit":51}`, true, "=Argument limit is 51; it is 1 to 50"},
		{"search_skills", `{"query":"x","limit":1.5}`, true, "Argument limit is not a whole number; give"},
		{"search_skills", `{"query":"x","all":"maybe"}`, true, "Argument all is neither true nor false; give"},
		{"search_skills", `{"query":"x","agent":"other"}`, true, "=Only the agent clerk is served here; leave agent out"},
		{"suggest_skills", `{"prompt":"Fill in the fields of this PDF form"}`, false, "The tool read_skill returns the instructions of each by its name."},
		{"suggest_skills", `{"prompt":""}`, false, "=An empty prompt wants no skill."},
		{"suggest_skills", `{"prompt":"thanks!","session":"s"}`, false, "="},
		{"read_skill_resource", `{"skill_name":"pdf-forms","path":"./references/fields.md"}`, false, "=Text, choice and button fields.\n"},
		{"load_skill_resource", `{"skill_name":"PDF-forms","resource_name":"references/fields.md"}`, false, "=Text, choice and button fields.\n"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"SKILL.md","lines":"2-2"}`, false, "=Lines 2-2 of 8 of SKILL.md:\nname: pdf-forms\n"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"SKILL.md","lines":"99"}`, true, "=The file has 8 lines only"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"SKILL.md","lines":"x"}`, true, "Argument lines is not a range"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"references/field.md"}`, true, "=File 'references/field.md' not found in skill 'pdf-forms'; its files: assets/form.bin, references/fields.md, scripts/fields.sh"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"../payroll/SKILL.md"}`, true, "Illegal path '../payroll/SKILL.md'"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"/etc/passwd"}`, true, "absolute"},
		{"read_skill_resource", `{"name":"payroll","path":"SKILL.md"}`, true, "Skill 'payroll' not found"},
		{"read_skill_resource", `{"name":"pdf-forms","path":"assets/form.bin"}`, false, "assets/form.bin is a binary file of 3 bytes"},
	} {
		got := a.Call(t.Context(), test.tool, test.args)
		exact, is := strings.CutPrefix(test.want, "=")
		if (got.Failed != "") != test.failed || is && got.Text != exact || !strings.Contains(got.Text, exact) {
			t.Errorf("%s %s: %q (failed: %q), want %q", test.tool, test.args, got.Text, got.Failed, test.want)
		}
		if strings.Contains(fmt.Sprint(got), "Secret") {
			t.Errorf("%s %s gives what the agent may not see: %v", test.tool, test.args, got)
		}
	}
}

// TestLoadedOnce: a conversation gives the instructions of a skill once, until they change.
func TestLoadedOnce(t *testing.T) {
	c, dir := toolCatalog(t, toolSkills)
	var loads []string
	a := newAgent(t, agent.Config{Catalog: c, Observe: func(e usage.Event) {
		if e.Kind == usage.Loaded {
			loads = append(loads, e.IDs()...)
		}
	}})
	talk, other := a.NewConversation(), a.NewConversation()
	const args = `{"skill_name":"starter"}`
	get := func(talk *agent.Conversation, tool, args string) map[string]any {
		return answerOf(t, talk.Call(t.Context(), tool, args).Text)
	}
	first, second := get(talk, "get_skill", args), get(talk, "load_skill", args)
	if first["instructions"] != "Feed it daily." || second["already_loaded"] != true || second["content"] != nil {
		t.Errorf("first %v, then %v", first, second)
	}
	if again := talk.Call(t.Context(), "read_skill", args).Text; !strings.Contains(again, "stand in this conversation already") || strings.Contains(again, "daily") {
		t.Errorf("the third time: %s", again)
	}
	if bread := get(talk, "get_skill", `{"skill_name":"sourdough"}`); bread["required"] != nil || bread["requires"] == nil {
		t.Errorf("the starter is loaded again with the bread: %v", bread)
	}
	if got := get(other, "get_skill", args); got["already_loaded"] != nil {
		t.Errorf("another conversation: %v", got)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "starter/SKILL.md"), []byte(toolSkills["starter/SKILL.md"]+"Twice.\n"), 0o600))
	if got := get(talk, "get_skill", args); got["instructions"] != "Feed it daily.\nTwice." {
		t.Errorf("after a change: %v", got)
	}
	if want := []string{"starter", "sourdough", "starter", "starter"}; !slices.Equal(loads, want) {
		t.Errorf("loads: %v, want %v", loads, want)
	}
}

// TestTools: which tools are offered, and what get_skill says of the skills.
func TestTools(t *testing.T) {
	c, _ := toolCatalog(t, toolSkills)
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Exclude.Names = []string{"payroll"}
	nobody := &repertoire.Agent{Name: "nobody"}
	nobody.Exclude.Names = []string{"*"}
	const usual = "read_skill search_skills list_skills read_skill_resource search_skill_files"
	all := []string{"<available_skills>", ">Fill in the fields of PDF forms.</skill>", `"starter"`, `"sourdough"`, "!payroll"}
	for _, test := range []struct {
		prompt string
		agent  *repertoire.Agent
		budget contextprovider.Budget
		offer  []string
		names  string
		says   []string // of the first tool; with ! it does not say
	}{
		{"Fill in the fields of this PDF form", clerk, contextprovider.Budget{}, nil, usual, all}, // all have room
		{"Compute the payroll of the company", clerk, contextprovider.Budget{}, nil, usual, all},
		{"", clerk, contextprovider.Budget{Offer: contextprovider.Relevant}, nil, usual, []string{"There are 3 skills; none of them stands out for this prompt. search_skills finds them"}},
		{"Fill in the fields of this PDF form", clerk, contextprovider.Budget{Offer: contextprovider.Relevant}, nil, usual, []string{"<available_skills>", "pdf-forms", "!payroll", "!sourdough"}},
		{"Fill in the fields of this PDF form", clerk, contextprovider.Budget{Tokens: 60}, nil, usual, []string{"<available_skills>", "pdf-forms", "!payroll", "!sourdough"}},
		{"Compute the payroll of the company", clerk, contextprovider.Budget{Tokens: 60}, nil, usual, []string{"There are 3 skills; none of them stands out for this prompt.", "!<skill"}},
		{"", clerk, contextprovider.Budget{Tokens: 60}, nil, usual, []string{"pdf-forms", "2 more have no room here; `search_skills` finds them."}},
		{"Compute the payroll of the company", nobody, contextprovider.Budget{}, nil, usual, []string{"There are no skills here.", "!pdf"}},
		{"", nobody, contextprovider.Budget{}, nil, usual, []string{"There are no skills here.", "!pdf"}},
		{"", nil, contextprovider.Budget{}, []string{"load_skill", "get_skill", "run_skill_script"}, "get_skill load_skill", []string{`"payroll"`}},
	} {
		a := newAgent(t, agent.Config{Catalog: c, Agent: test.agent, Offer: test.offer, Budget: test.budget})
		tools, err := a.Tools(t.Context(), test.prompt)
		must.Do(t, err)
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Name)
			if !json.Valid(tool.Parameters) || tool.Description == "" {
				t.Errorf("%s: %s", tool.Name, tool.Parameters)
			}
		}
		if got := strings.Join(names, " "); got != test.names {
			t.Errorf("%q: tools %s, want %s", test.prompt, got, test.names)
		}
		for _, part := range test.says {
			part, not := strings.CutPrefix(part, "!")
			if strings.Contains(tools[0].Description, part) == not {
				t.Errorf("%q: %s, want %q: %t", test.prompt, tools[0].Description, part, !not)
			}
		}
	}
	_, err := newAgent(t, agent.Config{Catalog: c, Offer: []string{"get_skil"}}).Tools(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "did you mean get_skill") {
		t.Errorf("an unknown tool is offered: %v", err)
	}
}

// TestWorkspaceTold: a model that may run scripts is told where the files of the user are, and
// whether it may change them.
func TestWorkspaceTold(t *testing.T) {
	catalog, _ := toolCatalog(t, toolSkills)
	for _, c := range []struct {
		work      sandbox.Workspace
		has, not  string
		withTools bool
	}{
		{sandbox.Workspace{}, "", "$WORKSPACE", true},
		{sandbox.Workspace{Dir: t.TempDir()}, "may only read", "may change", true},
		{sandbox.Workspace{Dir: t.TempDir(), Write: true}, "may change", "may only read", true},
		{sandbox.Workspace{Dir: t.TempDir()}, "may only read", "may change", false},
	} {
		script := agenttest.New(agenttest.Say("Done."))
		a := newAgent(t, agent.Config{Model: script, Catalog: catalog, Workspace: c.work, Instructions: !c.withTools,
			Executor: sandbox.NewPlain(sandbox.Options{})})
		if _, err := a.Chat(t.Context(), "Fill in the fields of this PDF form"); err != nil {
			t.Fatal(err)
		}
		q := script.Asked()[0]
		text := q.System
		for _, tool := range q.Tools {
			text += tool.Description
		}
		if !strings.Contains(text, c.has) || strings.Contains(text, c.not) {
			t.Errorf("workspace %+v, tools %t: the model is told\n%s", c.work, c.withTools, text)
		}
	}
}

// TestTell: Config.Tell decides what a model is told of a failure of the machine. What is wrong
// with the call it always reads.
func TestTell(t *testing.T) {
	c, _ := toolCatalog(t, toolSkills)
	gone := &fs.PathError{Op: "open", Path: "/srv/private", Err: fs.ErrPermission}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{gone, "told: open /srv/private: permission denied"},
		{&sandbox.Error{Reason: sandbox.Unavailable, Fact: "no folder: " + gone.Error(), Err: gone}, "told: no folder"},
		{&sandbox.Error{Reason: sandbox.Outside, Fact: "the path leaves the skill"}, "the path leaves the skill"},
	} {
		failing := executor(func(context.Context, sandbox.Request) (sandbox.Result, error) { return sandbox.Result{}, tt.err })
		for tells, want := range map[string]string{"told: ": tt.want, "": strings.TrimPrefix(tt.want, "told: ")} {
			a := newAgent(t, agent.Config{Catalog: c, Executor: failing, Tell: func(_ context.Context, err error) string {
				if tells == "" {
					return ""
				}
				return tells + err.Error()
			}})
			got := a.Call(t.Context(), "run_skill_script", `{"skill_name":"pdf-forms","command":"scripts/fields.sh a"}`)
			if !strings.HasPrefix(got.Text, want) || got.Failed == "" {
				t.Errorf("%v with %q: %+v, want %q", tt.err, tells, got, want)
			}
		}
	}
}

// TestFind: find_skills is there only if a program gives it something to ask, also for those who
// call it without a definition.
func TestFind(t *testing.T) {
	c, _ := toolCatalog(t, toolSkills)
	clerk := &repertoire.Agent{Name: "clerk"}
	closed := newAgent(t, agent.Config{Catalog: c, Offer: []string{"find_skills"}})
	tools, err := closed.Tools(t.Context(), "")
	must.Do(t, err)
	if r := closed.Call(t.Context(), "find_skills", `{"query": "x"}`); len(tools) != 0 || !strings.Contains(r.Failed, "has not allowed to look for skills beyond this machine") {
		t.Errorf("tools %v, reply %+v", tools, r)
	}
	var asked []search.Query
	open := newAgent(t, agent.Config{Catalog: c, Agent: clerk, Find: func(_ context.Context, q search.Query) (string, any, error) {
		asked = append(asked, q)
		return "found", len(asked), nil
	}})
	tools, err = open.Tools(t.Context(), "")
	must.Do(t, err)
	if !slices.ContainsFunc(tools, func(d agent.Tool) bool { return d.Name == "find_skills" && d.Open }) {
		t.Errorf("tools %v", tools)
	}
	r := open.Call(t.Context(), "find_skills", `{"task": "fill in forms", "limit": 3}`)
	if r.Text != "found" || r.Data != 1 || asked[0].Text != "fill in forms" || asked[0].Limit != 3 || asked[0].Agent != clerk || r.Kind != usage.Searched {
		t.Errorf("reply %+v to %+v", r, asked)
	}
	if r := open.Call(t.Context(), "find_skills", `{"query": "x", "limit": 51}`); r.Failed == "" || len(asked) != 1 {
		t.Errorf("reply %+v", r)
	}
}
