package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// A span is one span that spans recorded.
type span struct {
	name, tags string
	err        error
	ended      int // how often
	inside     []*span
}

// spans keeps the spans that an agent starts, below the one in their context.
type spans struct {
	mu   sync.Mutex
	root span
}

type spanKey struct{}

func (r *spans) trace(ctx context.Context, name string, attributes ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent, ok := ctx.Value(spanKey{}).(*span)
	if !ok {
		parent = &r.root
	}
	s := &span{name: name, tags: tagsOf(attributes)}
	parent.inside = append(parent.inside, s)
	return context.WithValue(ctx, spanKey{}, s), func(err error, more ...slog.Attr) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.err, s.tags = err, s.tags+tagsOf(more)
		s.ended++
	}
}

// tagsOf writes attributes in a line, without what they all start with.
func tagsOf(attributes []slog.Attr) string {
	var b strings.Builder
	for _, a := range attributes {
		fmt.Fprintf(&b, " %s=%v", strings.TrimPrefix(a.Key, "gen_ai."), a.Value)
	}
	return b.String()
}

// text writes spans as a tree.
func (s *span) text(depth string) string {
	var b strings.Builder
	for _, in := range s.inside {
		b.WriteString(depth + in.name + " |" + in.tags)
		if in.err != nil {
			b.WriteString(" ERROR " + in.err.Error())
		}
		if in.ended != 1 {
			fmt.Fprintf(&b, " ended %d times", in.ended)
		}
		b.WriteString("\n" + in.text(depth+"  "))
	}
	return b.String()
}

// A namedModel says its name. It fails if it is not asked in a span.
type namedModel struct{ *agenttest.Script }

func (namedModel) Names() (provider, model string) { return "openai", "qwen3" }

func (m namedModel) Answer(ctx context.Context, q agent.Question, text func(string)) (agent.Message, error) {
	if s, ok := ctx.Value(spanKey{}).(*span); !ok || s.name != "chat qwen3" {
		return agent.Message{}, errors.New("the context has not the span of the question")
	}
	return m.Script.Answer(ctx, q, text)
}

// runs is an executor whose commands end with status 3.
var runs = executor(func(context.Context, sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{ExitCode: 3}, nil
})

// TestTrace: a prompt, its questions to the model and their calls are a tree of spans, with what
// is known of each, and without what anybody wrote.
func TestTrace(t *testing.T) {
	clerk := clerkOf()
	for name, test := range map[string]struct {
		cfg   agent.Config
		turns []agenttest.Turn
		want  string
	}{
		"tools": {
			agent.Config{Agent: clerk, Executor: runs},
			[]agenttest.Turn{
				{Calls: []agent.Call{{ID: "c1", Name: "Read-Skill", Arguments: `{"name":"pdf-forms"}`}}, Usage: agent.Usage{In: 10, Out: 2}},
				agenttest.Call("run_skill_script", runFields).And("read_skill_resource", `{"name":"pdf-forms","path":"references/fields.md"}`),
				agenttest.Call("read_skill", `{"name":"payrol"}`).And("no tool\nat all", `{}`),
				{Text: "Filled in.", Usage: agent.Usage{In: 20, Out: 3}},
			},
			`invoke_agent clerk | operation.name=invoke_agent agent.name=clerk usage.input_tokens=30 usage.output_tokens=5 repertoire.skills.offered=[pdf-forms] repertoire.skills.loaded=[pdf-forms] repertoire.skills.ran=[pdf-forms]
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat agent.name=clerk usage.input_tokens=10 usage.output_tokens=2
  execute_tool read_skill | tool.name=read_skill tool.type=function tool.call.id=c1 operation.name=execute_tool agent.name=clerk skill.name=pdf-forms
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat agent.name=clerk
  execute_tool run_skill_script | tool.name=run_skill_script tool.type=function tool.call.id=scripted1 operation.name=execute_tool agent.name=clerk skill.name=pdf-forms process.exit.code=3
  execute_tool read_skill_resource | tool.name=read_skill_resource tool.type=function tool.call.id=scripted2 operation.name=execute_tool agent.name=clerk skill.name=pdf-forms skill.resource.name=references/fields.md
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat agent.name=clerk
  execute_tool read_skill | tool.name=read_skill tool.type=function tool.call.id=scripted3 operation.name=execute_tool agent.name=clerk error.type=tool.Problem ERROR Skill 'payrol' not found
  execute_tool no tool at all | tool.name=no tool at all tool.type=function tool.call.id=scripted4 operation.name=execute_tool agent.name=clerk error.type=tool.Problem ERROR Tool 'no tool at all' not found
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat agent.name=clerk usage.input_tokens=20 usage.output_tokens=3
`,
		},
		"instructions": {
			agent.Config{Instructions: true},
			[]agenttest.Turn{agenttest.Say("<use_skill>pdf-forms</use_skill>\n<use_skill>none</use_skill>"), agenttest.Say("Filled in.")},
			`invoke_agent | operation.name=invoke_agent repertoire.skills.offered=[pdf-forms] repertoire.skills.loaded=[pdf-forms]
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat
  execute_tool use_skill | tool.name=use_skill tool.type=function operation.name=execute_tool skill.name=pdf-forms
  execute_tool use_skill | tool.name=use_skill tool.type=function operation.name=execute_tool error.type=search.NotFoundError ERROR no skill "none" among 4
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat
`,
		},
		"a model that is overloaded": {
			agent.Config{},
			[]agenttest.Turn{{Status: 503, Text: "busy"}},
			`invoke_agent | operation.name=invoke_agent repertoire.skills.offered=[pdf-forms] error.type=_OTHER ERROR agent: asking the model: http 503: busy
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat error.type=_OTHER ERROR http 503: busy
`,
		},
		"no end": {
			agent.Config{MaxIterations: 1},
			[]agenttest.Turn{agenttest.Call("search_skills", `{"query":"bread"}`)},
			`invoke_agent | operation.name=invoke_agent repertoire.skills.offered=[pdf-forms] error.type=agent.LimitError ERROR agent: no answer after 1 iterations: the model still asks for skills; raise Config.MaxIterations, or ask it to go on
  chat qwen3 | provider.name=openai request.model=qwen3 operation.name=chat
  execute_tool search_skills | tool.name=search_skills tool.type=function tool.call.id=scripted1 operation.name=execute_tool
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r spans
			test.cfg.Trace, test.cfg.Catalog, test.cfg.Model = r.trace, memoryCatalog(t), namedModel{agenttest.New(test.turns...)}
			newAgent(t, test.cfg).Chat(t.Context(), formPrompt)
			got := r.root.text("")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(got, formPrompt) || strings.Contains(got, "Filled") || strings.Contains(got, "fields.sh") {
				t.Error("a span has what somebody wrote")
			}
		})
	}
}

// TestTraceCalls: the calls of a program with a loop of its own are below the span of its context.
func TestTraceCalls(t *testing.T) {
	var r spans
	a := newAgent(t, agent.Config{Catalog: memoryCatalog(t), Trace: r.trace})
	ctx, end := r.trace(t.Context(), "program")
	a.Call(ctx, "get_skill", getForms)
	a.NewConversation().Call(ctx, "read_skill", `{`)
	end(nil)
	want := `program |
  execute_tool get_skill | tool.name=get_skill tool.type=function operation.name=execute_tool skill.name=pdf-forms
  execute_tool read_skill | tool.name=read_skill tool.type=function operation.name=execute_tool error.type=tool.Problem ERROR The arguments of 'read_skill' are malformed: the JSON ends too early, after '{'
`
	if diff := cmp.Diff(want, r.root.text("")); diff != "" {
		t.Error(diff)
	}
}

// TestTraceParallel: conversations that run at once have their own spans.
func TestTraceParallel(t *testing.T) {
	catalog := memoryCatalog(t)
	var r spans
	var group sync.WaitGroup
	for _, skill := range []string{"pdf-forms", "sourdough", "payroll", "starter"} {
		group.Go(func() {
			model := namedModel{agenttest.New(agenttest.Call("read_skill", `{"name":"`+skill+`"}`), agenttest.Say("Done."))}
			ctx, end := r.trace(t.Context(), skill)
			a, err := agent.New(agent.Config{Catalog: catalog, Model: model, Trace: r.trace})
			if err == nil {
				_, err = a.Chat(ctx, formPrompt)
			}
			end(err)
		})
	}
	group.Wait()
	for _, s := range r.root.inside {
		must.Do(t, s.err)
		if got := s.text(""); len(s.inside) != 1 || len(s.inside[0].inside) != 3 || !strings.Contains(got, "skill.name="+s.name+"\n") || !strings.Contains(got, "loaded=["+s.name) {
			t.Errorf("below %s:\n%s", s.name, got)
		}
	}
}
