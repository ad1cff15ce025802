package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/usage"
)

// memoryCatalog returns a catalog of the skills of the tests that are not on disk.
func memoryCatalog(t testing.TB) *repertoire.Catalog {
	t.Helper()
	s, err := source.Files(toolSkills, &source.Options{Label: "team"})
	must.Do(t, err)
	return catalogtest.Open(t, repertoire.Config{Sources: []source.Source{s}})
}

// executor is an executor that is a function.
type executor func(ctx context.Context, r sandbox.Request) (sandbox.Result, error)

func (e executor) Execute(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
	return e(ctx, r)
}

const (
	formPrompt = "Fill in the fields of this PDF form"
	getForms   = `{"skill_name":"pdf-forms"}`
	runFields  = `{"skill_name":"pdf-forms","command":"scripts/fields.sh a"}`
)

// TestChat answers two prompts in one conversation. The second asks for the same skill.
func TestChat(t *testing.T) {
	var seen []string
	model := agenttest.New(
		agenttest.Turn{
			Want: []agenttest.Want{
				{Text: formPrompt}, {In: agenttest.Tool, Text: "read_skill"}, {In: agenttest.Tool, Text: "run_skill_script"},
				{In: agenttest.Tools, Text: "pdf-forms"}, {In: agenttest.Tools, Text: "sourdough"}, {Text: "asks for the skill pdf-forms"},
			},
			Text: "I look at the skill.", Calls: []agent.Call{{Name: "get_skill", Arguments: getForms}}, Usage: agent.Usage{In: 10, Out: 2},
		},
		agenttest.Call("run_skill_script", runFields).And("read_skill_resource", `{"skill_name":"pdf-forms","path":"references/fields.md"}`).Wants("# PDF forms"),
		agenttest.Turn{
			Want: []agenttest.Want{{Text: "a is filled"}, {Text: "button fields"}},
			Text: "Filled in.", Usage: agent.Usage{In: 20, Out: 3},
		},
		agenttest.Call("get_skill", getForms).Wants("another PDF form"),
		agenttest.Say("Done again.").Wants("already_loaded"),
	)
	a := newAgent(t, agent.Config{
		Model: model, Catalog: memoryCatalog(t),
		Executor: executor(func(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
			return sandbox.Result{Stdout: []byte("a is filled"), ExitCode: 3}, nil
		}),
		Observe: func(e usage.Event) {
			seen = append(seen, fmt.Sprint(e.Kind, e.IDs(), e.What, e.Exit))
		},
	})
	c := a.NewConversation()
	got, err := c.Chat(t.Context(), formPrompt)
	must.Do(t, err)
	if got.Text != "Filled in." || got.Iterations != 3 || got.Usage != (agent.Usage{In: 30, Out: 5}) || len(got.Events) != 7 {
		t.Errorf("answer %+v", got)
	}
	want := []string{
		"offered[pdf-forms]0", "asked[]0", "loaded[pdf-forms]0", "asked[]0",
		"ran[pdf-forms]scripts/fields.sh a3", "read[pdf-forms]references/fields.md0", "asked[]0",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("events\n%q, want\n%q", seen, want)
	}
	got, err = c.Chat(t.Context(), "Fill in another PDF form with the same fields")
	must.Do(t, err)
	if got.Text != "Done again." || model.Rest() != 0 {
		t.Errorf("answer %+v, %d turns left", got, model.Rest())
	}
	checkTranscript(t, c.Transcript())
	if loaded := c.Loaded(); len(loaded) != 1 || loaded[0].ID != "pdf-forms" {
		t.Errorf("loaded %v", loaded)
	}
}

// checkTranscript checks the transcript of TestChat.
func checkTranscript(t *testing.T, got agent.Transcript) {
	t.Helper()
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, string(m.Role[:1]))
	}
	if want := "u a t a t t a u a t a"; strings.Join(roles, " ") != want {
		t.Errorf("messages %v, want %s", roles, want)
	}
	if u := got.Skills; len(u) != 1 || u[0].Loaded != 1 || u[0].Offered != 2 || u[0].Ran != 1 || u[0].Read != 1 ||
		u[0].Instructions == 0 || u[0].Files == 0 || u[0].Output == 0 {
		t.Errorf("skills %+v", got.Skills)
	}
	data, err := json.Marshal(got)
	must.Do(t, err)
	var back agent.Transcript
	must.Do(t, json.Unmarshal(data, &back))
	if !reflect.DeepEqual(got.Messages, back.Messages) || len(back.Events) != len(got.Events) || back.Usage != got.Usage {
		t.Errorf("the transcript reads back as %+v", back)
	}
	text := got.Markdown()
	for _, part := range []string{
		"# Conversation\n\n## User\n\n> " + formPrompt + "\n> \n> This prompt asks for the skill pdf-forms: load it before you start. The tool read_skill returns the instructions of each by its name.\n\n## Model\n\n> I look at the skill.\n\nCalls get_skill:\n\n> " + getForms + "\n",
		"## Result with the instructions of pdf-forms\n", "| pdf-forms | 2 | 1 | 1 | 1 | 0 |", "The server counted 30 tokens in and 5 out.",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in the transcript\n%s", part, text)
		}
	}
}

// TestStream: pieces arrive in order, also those before calls.
func TestStream(t *testing.T) {
	first := agenttest.Call("list_skills", `{}`)
	first.Text = "One moment. "
	a := newAgent(t, agent.Config{Model: agenttest.New(first, agenttest.Say("Three skills.")), Catalog: memoryCatalog(t)})
	var pieces []string
	got, err := a.NewConversation().ChatStream(t.Context(), "Which skills are there?", func(p string) { pieces = append(pieces, p) })
	must.Do(t, err)
	if all := strings.Join(pieces, ""); all != "One moment. Three skills." || len(pieces) < 4 || got.Text != "Three skills." {
		t.Errorf("pieces %q, answer %+v", pieces, got)
	}
}

// TestLimit: a model that asks on and on.
func TestLimit(t *testing.T) {
	again := agenttest.Call("list_skills", `{}`)
	a := newAgent(t, agent.Config{Model: agenttest.New(again, again, agenttest.Say("At last.")), Catalog: memoryCatalog(t), MaxIterations: 2})
	c := a.NewConversation()
	got, err := c.Chat(t.Context(), "Which skills are there?")
	limit, ok := errors.AsType[*agent.LimitError](err)
	if !ok || limit.Limit != 2 || len(limit.Transcript.Messages) != 5 || got.Iterations != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = c.Chat(t.Context(), "go on"); err != nil || got.Text != "At last." {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestModelFails: errors carry the transcript, and leave no prompt without an answer.
func TestModelFails(t *testing.T) {
	catalog := memoryCatalog(t)
	for name, turn := range map[string]agenttest.Turn{
		"http 503: overloaded": {Status: 503, Text: "overloaded"},
		"panicked: broken":     {Panic: true, Text: "broken"},
		"unexpected EOF":       {Cut: 3, Text: "Once upon"},
	} {
		model := agenttest.New(turn, agenttest.Say("Back."), agenttest.Call("list_skills", `{}`), turn, agenttest.Say("Back again."))
		c := newAgent(t, agent.Config{Model: model, Catalog: catalog}).NewConversation()
		_, err := c.Chat(t.Context(), "Hello")
		failed, ok := errors.AsType[*agent.Error](err)
		if !ok || !strings.Contains(err.Error(), name) || len(failed.Transcript.Messages) != 1 || len(c.Messages()) != 0 {
			t.Fatalf("%s: %v, messages %v", name, err, c.Messages())
		}
		got, err := c.Chat(t.Context(), "Hello")
		if err != nil || got.Text != "Back." {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if _, err = c.Chat(t.Context(), "Which skills are there?"); err == nil || len(c.Messages()) != 5 {
			t.Errorf("%s: %v, messages %v", name, err, c.Messages())
		}
		if got, err = c.Chat(t.Context(), "go on"); err != nil || got.Text != "Back again." {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestCancel ends the context while the first of two scripts runs.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := agenttest.New(
		agenttest.Call("run_skill_script", runFields).And("run_skill_script", runFields),
		agenttest.Say("Never mind.").Wants("and now?"))
	runs := 0
	c := newAgent(t, agent.Config{
		Model: model, Catalog: memoryCatalog(t),
		Executor: executor(func(ctx context.Context, r sandbox.Request) (sandbox.Result, error) {
			runs++
			cancel()
			<-ctx.Done()
			return sandbox.Result{}, ctx.Err()
		}),
	}).NewConversation()
	_, err := c.Chat(ctx, formPrompt)
	if _, ok := errors.AsType[*agent.Error](err); !ok || !errors.Is(err, context.Canceled) || runs != 1 {
		t.Fatalf("%d runs, %v", runs, err)
	}
	messages := c.Messages()
	if len(messages) != 4 || messages[2].Call != messages[1].Calls[0].ID || messages[3].Call != messages[1].Calls[1].ID {
		t.Fatalf("messages %+v", messages)
	}
	if want := "not done: context canceled"; messages[3].Text != want {
		t.Errorf("the second call has the result %q, want %q", messages[3].Text, want)
	}
	if got, err := c.Chat(t.Context(), "and now?"); err != nil || got.Text != "Never mind." {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestExecutorFails: a panic and an error are results that the model reads.
func TestExecutorFails(t *testing.T) {
	model := agenttest.New(
		agenttest.Call("run_skill_script", runFields), agenttest.Call("run_skill_script", runFields).Wants("the executor panicked: broken"),
		agenttest.Call("run_skill_script", runFields).Wants("sh: x: No such file"), agenttest.Say("I give up.").Wants("ended without a result"))
	runs := 0
	a := newAgent(t, agent.Config{
		Model: model, Catalog: memoryCatalog(t),
		Executor: executor(func(context.Context, sandbox.Request) (sandbox.Result, error) {
			switch runs++; runs {
			case 1:
				panic("broken")
			case 2:
				return sandbox.Result{}, &sandbox.Error{Reason: sandbox.NotFound, Fact: "sh: x: No such file"}
			}
			runtime.Goexit()
			return sandbox.Result{}, nil
		}),
	})
	if got, err := a.Chat(t.Context(), formPrompt); err != nil || got.Text != "I give up." {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBusy: the second prompt at once is refused, and so is Compact.
func TestBusy(t *testing.T) {
	var c *agent.Conversation
	var chat, compact error
	a := newAgent(t, agent.Config{
		Model: agenttest.New(agenttest.Say("Hello.")), Catalog: memoryCatalog(t),
		Observe: func(e usage.Event) {
			if e.Kind == usage.Asked {
				_, chat = c.Chat(t.Context(), "And?")
				_, compact = c.Compact(t.Context(), agent.CompactOptions{Tokens: 1})
			}
		},
	})
	c = a.NewConversation()
	if _, err := c.Chat(t.Context(), "Hello"); err != nil || !errors.Is(chat, agent.ErrBusy) || !errors.Is(compact, agent.ErrBusy) {
		t.Errorf("%v, %v, %v", err, chat, compact)
	}
}

// TestChatRefuses: what cannot be asked is no message of the conversation.
func TestChatRefuses(t *testing.T) {
	catalog := memoryCatalog(t)
	_, err := newAgent(t, agent.Config{Catalog: catalog}).Chat(t.Context(), "Hello")
	if err == nil || !strings.Contains(err.Error(), "Config.Model is nil") {
		t.Error(err)
	}
	c := newAgent(t, agent.Config{Catalog: catalog, Model: agenttest.New()}).NewConversation()
	if _, err := c.Chat(t.Context(), " \n"); err == nil || len(c.Messages()) != 0 {
		t.Errorf("%v, %v", err, c.Messages())
	}
}

// TestRequestAtTop: a script gets no folder in which other skills lie, only its own files.
func TestRequestAtTop(t *testing.T) {
	var got []string
	keep := executor(func(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
		if r.Dir != "" {
			t.Errorf("folder %s", r.Dir)
		}
		return sandbox.Result{}, fs.WalkDir(r.Files, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				got = append(got, name)
			}
			return err
		})
	})
	catalog, _ := toolCatalog(t, map[string]string{"SKILL.md": "---\nname: top\ndescription: Lies at the top.\nallowed-tools: scripts/*\n---\n",
		"scripts/run.sh": "#!/bin/sh\n", "other/SKILL.md": "---\nname: other\ndescription: Lies below.\n---\n", "other/secret.txt": "secret"})
	a := newAgent(t, agent.Config{Catalog: catalog, Executor: keep})
	if answer := a.Call(t.Context(), "run_skill_script", `{"name":"top","command":"scripts/run.sh"}`).Text; strings.Contains(answer, "error") {
		t.Fatal(answer)
	}
	if !slices.Equal(got, []string{"SKILL.md", "scripts/run.sh"}) {
		t.Errorf("files %q", got)
	}
}

// TestRequest: what an executor gets for a skill on disk, and for one that is not.
func TestRequest(t *testing.T) {
	var got sandbox.Request
	keep := executor(func(_ context.Context, r sandbox.Request) (sandbox.Result, error) {
		got = r
		if r.Files != nil {
			must.Do(t, fstest.TestFS(r.Files, "SKILL.md", "references/fields.md", "scripts/fields.sh", "assets/form.bin"))
			data, err := fs.ReadFile(r.Files, "assets/form.bin")
			if err != nil || string(data) != "\x00\x01\x02" {
				t.Errorf("%q, %v", data, err)
			}
		}
		return sandbox.Result{}, nil
	})
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Script.Timeout, clerk.Script.Output, clerk.Script.Network = 7, 8, []int{443}
	work := sandbox.Workspace{Dir: t.TempDir(), Write: true}
	onDisk, dir := toolCatalog(t, toolSkills)
	for _, catalog := range []*repertoire.Catalog{onDisk, memoryCatalog(t)} {
		a := newAgent(t, agent.Config{Catalog: catalog, Agent: clerk, Executor: keep, Workspace: work})
		if answer := a.Call(t.Context(), "run_skill_script", runFields).Text; strings.Contains(answer, "error") {
			t.Fatal(answer)
		}
		if got.Skill != "pdf-forms" || !slices.Equal(got.Allowed, []string{"scripts/*"}) || got.Workspace != work ||
			got.Limits.Timeout != 7 || got.Limits.Output != 8 || !slices.Equal(got.Limits.Network, []int{443}) {
			t.Errorf("request %+v", got)
		}
		if want := filepath.Join(dir, "pdf-forms"); catalog == onDisk && (got.Dir != want || got.Files != nil) {
			t.Errorf("folder %q, want %q; files %v", got.Dir, want, got.Files)
		}
		if catalog != onDisk && (got.Dir != "" || got.Files == nil) {
			t.Errorf("folder %q, files %v; want files only", got.Dir, got.Files)
		}
	}
}

// TestAgentOfConversation: the model is told of its role, of the skills that it uses, and of
// those that are pinned; what it has it need not load.
func TestAgentOfConversation(t *testing.T) {
	clerk := &repertoire.Agent{Name: "clerk", Prompt: "You are a clerk.", Instructions: "Be brief.", Uses: []string{"pdf-forms"}, Pinned: []string{"starter"}}
	clerk.Include.Names = []string{"pdf-forms", "starter", "sourdough"}
	in := func(where agenttest.Place, text string) agenttest.Want { return agenttest.Want{In: where, Text: text} }
	wants := []agenttest.Want{
		in(agenttest.System, "You are a clerk."), in(agenttest.System, "# PDF forms"), in(agenttest.System, "Be brief."),
		in(agenttest.Tools, "starter"), {In: agenttest.Tools, Text: "pdf-forms", Not: true},
	}
	catalog := memoryCatalog(t)
	for _, instructions := range []bool{false, true} {
		ask := agenttest.Call("get_skill", getForms)
		if instructions {
			ask = agenttest.Say("<use_skill>pdf-forms</use_skill>")
			wants = append(wants[:3:3], in(agenttest.System, "<use_skill>"), in(agenttest.System, "<available_skills>"))
		}
		ask.Want = wants
		model := agenttest.New(ask, agenttest.Say("Hello.").Wants("already"))
		c := newAgent(t, agent.Config{Model: model, Catalog: catalog, Agent: clerk, Instructions: instructions}).NewConversation()
		got, err := c.Chat(t.Context(), "Hello")
		must.Do(t, err)
		want := []usage.Kind{usage.Loaded, usage.Offered, usage.Asked, usage.Asked}
		var kinds []usage.Kind
		for _, e := range got.Events {
			kinds = append(kinds, e.Kind)
		}
		if tr := c.Transcript(); got.Text != "Hello." || !slices.Equal(kinds, want) || tr.Agent != "clerk" || !strings.HasPrefix(tr.System, "You are a clerk.") {
			t.Errorf("instructions %v: %+v, events %v", instructions, got, kinds)
		}
	}
}

// TestExecutors: who runs the scripts of an agent that names an executor.
func TestExecutors(t *testing.T) {
	clerk := &repertoire.Agent{Name: "clerk"}
	clerk.Script.Executor = "virtual"
	says := func(text string) sandbox.Executor {
		return executor(func(context.Context, sandbox.Request) (sandbox.Result, error) {
			return sandbox.Result{Stdout: []byte(text)}, nil
		})
	}
	cfg := agent.Config{Catalog: memoryCatalog(t), Executor: says("ordinary"), Executors: func(s repertoire.Script) (sandbox.Executor, error) {
		return says("executor " + s.Executor), nil
	}}
	for want, a := range map[string]*repertoire.Agent{"ordinary": nil, "executor virtual": clerk} {
		cfg.Agent = a
		if got := newAgent(t, cfg).Call(t.Context(), "run_skill_script", runFields).Text; !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
