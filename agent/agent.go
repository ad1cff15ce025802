// Package agent makes an agent of a model and a catalog of skills: it tells the model which
// skills fit, does what the model asks for (load a skill, read a file of it, run one of its
// scripts), and feeds the results back until the model answers. The one rule: what a model
// or a script writes is text, and never becomes an instruction or a tag of ours.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// A Catalog has the skills; *repertoire.Catalog is one. The scope of the agent holds in
// every method: what is outside of it does not exist.
type Catalog interface {
	Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error)
	Search(ctx context.Context, q search.Query) (search.Answer, error)
	List(ctx context.Context, a *search.Agent, o *search.ListOptions) ([]search.Entry, error)
	Unread(ctx context.Context) (int, error) // how many folders of skills have not been read yet
	Body(ctx context.Context, id string, a *search.Agent) (contextprovider.Body, error)
	File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error)
	FindText(ctx context.Context, q contextprovider.TextQuery, a *search.Agent) (contextprovider.Passages, error)
	Script(ctx context.Context, id string, a *search.Agent) (search.Script, error)
}

// A Model answers conversations. Package agent/openai has one for any server that speaks
// the chat protocol of OpenAI, package agent/agenttest one that follows a script.
type Model interface {
	// Answer returns the next message of the conversation, whose role is Assistant. text, if
	// not nil, is called with each piece of its Text as it arrives.
	Answer(ctx context.Context, q Question, text func(piece string)) (Message, error)
}

// A Question is a conversation that waits for an answer.
type Question struct {
	System   string    // what stands before the conversation; "" means nothing
	Messages []Message // oldest first, the last of role User or Result
	Tools    []Tool    // what the model may call; nil means nothing
}

// A Role is who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool" // what became of calls
)

// A Message is one message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // of an Assistant; nil means none
	Usage Usage  `json:"usage,omitzero"`  // of an Assistant, as its server counts
	Cut   bool   `json:"cut,omitempty"`   // of an Assistant: it reached the most tokens that its server writes, or the server ended it half-way

	// Call is, of a Result, the ID of the Call that it answers. "" means that it answers what
	// the text before it asks for; for a server it is then a message of the user.
	Call string `json:"call,omitempty"`

	Skills  []string `json:"skills,omitempty"`  // of a Result: IDs of the skills whose instructions it holds
	Omitted int      `json:"omitted,omitempty"` // how many messages before it Compact dropped; its Text begins with a line that says so
}

// A Call is a tool that a model calls.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON object, as the model wrote it: it may be malformed
}

// Usage is how many tokens a message took.
type Usage struct {
	In  int `json:"in"`
	Out int `json:"out"`
}

// A Tool is a function that a model may call.
type Tool = tool.Definition

// DefaultIterations is how often a model is asked at most for one prompt, unless a Config
// says otherwise.
const DefaultIterations = 10

// Config says what an agent is made of. Only Catalog is needed to make definitions and to
// answer calls, Model also to chat.
type Config struct {
	Model   Model
	Catalog Catalog

	// Agent is whose skills, role and instructions hold; nil means the whole catalog.
	Agent *search.Agent

	// Executor runs scripts, as far as sandbox.Check lets them; nil means that none run, and
	// that no tool offers it. Each conversation has a fork of a sandbox.Box for itself.
	Executor sandbox.Executor

	// Executors returns the executor of a skill whose configuration, or that of the agent,
	// names one; nil means that Executor runs all scripts.
	Executors func(s search.Script) (sandbox.Executor, error)

	// Workspace is the folder of the user that scripts may use; zero means none.
	Workspace sandbox.Workspace

	// MaxIterations is how often the model is asked at most for one prompt; 0 means
	// DefaultIterations. Less than 0 is an error.
	MaxIterations int

	// Instructions makes the model write what it wants as tags in its answer, for models
	// that cannot call tools; false means tools.
	Instructions bool

	// FirstOnly does only the first of several instructions in one answer; false does all,
	// in their order.
	FirstOnly bool

	// Long is the most tokens, estimated, that the tool read_skill gives of a skill. Of a longer
	// one it gives the opening and a table of its sections, each of which it gives when it is
	// asked for. 0 means that it always gives the whole.
	Long int

	// Offer are the names of the tools that a model is offered; nil means read_skill,
	// search_skills, list_skills, read_skill_resource, search_skill_files, find_skills, run_skill_script and
	// those in More. All are answered, also those that only other hosts know, such as get_skill and load_skill.
	Offer []string

	// More are further tools; nil means none.
	More []tool.Row

	// Agents are those to whose scope a search may narrow the whole catalog, by name; nil
	// means none. A configuration with an Agent ignores them.
	Agents []*search.Agent

	// Find finds skills beyond the catalog for the tool find_skills, and returns what a model reads
	// of them, and the same for programs. It sends the query to others, so set it only if the user
	// allows that. nil means that there is no such tool.
	Find func(ctx context.Context, q search.Query) (text string, data any, err error)

	// Suggest makes the block of suggest_skills; nil means Catalog.Block.
	Suggest func(ctx context.Context, p Prompt) (contextprovider.Block, error)

	// Place returns where commands of somebody else's sandbox find a skill that was loaded; ""
	// means in its folder. nil means that only Executor runs commands.
	Place func(ctx context.Context, b contextprovider.Body) string

	// Budget bounds the list of skills of each prompt.
	Budget contextprovider.Budget

	// System is how many tokens, estimated, the role of the agent, the skills that it uses and
	// the list of others may take, see SystemOptions; 0 means DefaultSystemTokens.
	System int

	// History is how many tokens of messages, estimated, a conversation may hold. When it
	// has more, it is compacted to half of that before the model is asked again, see
	// [Conversation.Compact]. 0 means no limit.
	History int

	// Allow is asked before a skill runs a script for the first time in a conversation, and
	// again if its SKILL.md or the list of its files has changed since; an error, which the
	// model reads, refuses it as long as the prompt is answered. command is one line with all arguments,
	// shortened. nil allows all.
	Allow func(ctx context.Context, skill contextprovider.Body, command string) error

	// Tell returns the text that a model reads instead of an error of this machine, such as a
	// file that cannot be read; "" means the error itself. nil means always the error itself.
	Tell func(ctx context.Context, err error) string

	// Observe is told what happens, in the order in which it happens; nil means nobody. It
	// must not ask the same conversation.
	Observe func(usage.Event)

	// Trace starts a span when a prompt (invoke_agent), a question to the model (chat) or a call of a
	// tool (execute_tool) begins. It returns the context for what happens inside of it, and a
	// function that ends it, with the error if it failed. Names and attributes follow OpenTelemetry's
	// conventions for generative AI; repertoire.skills.offered, loaded and ran have IDs of skills.
	// Values are string, int64 or []string. No prompt, answer, argument or result is in them, but an
	// error may quote a word of one. The provider and the name of a Model are known if it has a
	// method Names() (provider, model string). Trace is called from several goroutines. nil means
	// no spans.
	Trace func(ctx context.Context, name string, attributes ...slog.Attr) (_ context.Context, end func(err error, attributes ...slog.Attr))

	// Logger gets what Observe gets as messages; nil means no messages.
	Logger *slog.Logger
}

// An Agent answers prompts with a model and the skills of a catalog. It may be used from
// several goroutines.
type Agent struct {
	cfg  Config
	mode mode
}

// New returns an agent.
func New(cfg Config) (*Agent, error) {
	switch {
	case cfg.Catalog == nil:
		return nil, errors.New("agent: Config.Catalog is nil; set it to the result of repertoire.Open")
	case cfg.MaxIterations < 0:
		return nil, fmt.Errorf("agent: Config.MaxIterations is %d; set it to 1 or more, or to 0 for %d", cfg.MaxIterations, DefaultIterations)
	case cfg.History < 0 || cfg.System < 0 || cfg.Long < 0:
		return nil, fmt.Errorf("agent: Config.History is %d, Config.System %d and Config.Long %d; set them to numbers of tokens, or to 0", cfg.History, cfg.System, cfg.Long)
	case cfg.Workspace.Dir != "" && !filepath.IsAbs(cfg.Workspace.Dir):
		return nil, fmt.Errorf("agent: Config.Workspace.Dir %q is not an absolute path", cfg.Workspace.Dir)
	}
	cfg.MaxIterations = cmp.Or(cfg.MaxIterations, DefaultIterations)
	return &Agent{cfg: cfg, mode: modeOf(&cfg)}, nil
}

// Chat answers one prompt in a conversation of its own.
func (a *Agent) Chat(ctx context.Context, prompt string) (Answer, error) {
	return a.NewConversation().Chat(ctx, prompt)
}
