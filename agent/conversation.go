package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/usage"
)

// ErrBusy means that a conversation is still answering another prompt.
var ErrBusy = errors.New("the conversation is still answering another prompt; wait for it, or start another conversation")

// A Conversation is a history of messages, the skills that were loaded in it, and the files of
// its sandboxes. It may be used from several goroutines, but it answers one prompt at a time.
type Conversation struct {
	acts
	agent *Agent
	busy  sync.Mutex // held while it answers a prompt or is compacted

	// The history, guarded by acts.mu.
	system   string    // what stood before it when the model was asked last
	messages []Message // what the model is told; compacting shortens it
	all      []Message // all that were ever told, in full
	calls    int       // how many IDs of calls were made up
}

// NewConversation returns a conversation without messages.
func (a *Agent) NewConversation() *Conversation {
	return &Conversation{acts: acts{cfg: &a.cfg, files: new(sandbox.Session)}, agent: a}
}

// An Answer is what a prompt led to.
type Answer struct {
	Text       string        `json:"text"`       // of the last message of the model; "" if it wrote nothing
	Iterations int           `json:"iterations"` // how often the model was asked
	Usage      Usage         `json:"usage"`      // of all iterations, as the server counts
	Cut        bool          `json:"cut,omitempty"`
	Events     []usage.Event `json:"events"` // what happened on the way
}

// Chat answers a prompt: it asks the model, does what the model asks for, and asks again,
// until the model asks for nothing more. The error is ErrBusy, or a [*LimitError] when that
// takes more than Config.MaxIterations, or an [*Error] for all that happens once the model
// was asked. After an error the conversation can go on: each call has a result, and a prompt
// to which the model answered nothing at all is forgotten.
func (c *Conversation) Chat(ctx context.Context, prompt string) (Answer, error) {
	return c.ChatStream(ctx, prompt, nil)
}

// ChatStream is Chat that calls text with each piece of what the model writes, as it
// arrives: also with what it writes before it calls tools. text is called from another
// goroutine, but never after ChatStream returned. nil means that nobody wants the pieces.
func (c *Conversation) ChatStream(ctx context.Context, prompt string, text func(piece string)) (Answer, error) {
	switch {
	case c.cfg.Model == nil:
		return Answer{}, errors.New("agent: Config.Model is nil; agent/openai has a model for any server that speaks OpenAI's protocol")
	case strings.TrimSpace(prompt) == "":
		return Answer{}, errors.New("agent: the prompt is empty")
	case !c.busy.TryLock():
		return Answer{}, ErrBusy
	}
	defer c.busy.Unlock()
	start := c.happened()
	ctx, end := c.cfg.agentSpan(ctx)
	a, err := c.answer(ctx, prompt, text)
	a.Events = c.eventsFrom(start)
	end(&a, err)
	return a, err
}

// answer is the loop.
func (c *Conversation) answer(ctx context.Context, prompt string, text func(string)) (Answer, error) {
	system, hint, tools, err := c.offer(ctx, prompt)
	if err != nil {
		return Answer{}, fmt.Errorf("agent: finding the skills for the prompt: %w", err)
	}
	c.refuse(make(map[string]refusal))
	defer c.refuse(nil)
	c.add(Message{Role: User, Text: prompt + hint})
	var a Answer
	for a.Iterations < c.cfg.MaxIterations {
		m, err := c.ask(ctx, system, c.withScripts(ctx, tools), text)
		if err != nil {
			c.failed("", "", err)
			c.forgetUnanswered()
			return a, &Error{Err: err, Transcript: c.Transcript()}
		}
		a.Iterations++
		a.Text, a.Cut = m.Text, m.Cut
		a.Usage.In += m.Usage.In
		a.Usage.Out += m.Usage.Out
		results := c.act(ctx, m)
		if len(results) == 0 {
			return a, nil
		}
		c.add(results...)
		if err := ctx.Err(); err != nil {
			return a, &Error{Err: err, Transcript: c.Transcript()}
		}
	}
	return a, &LimitError{Limit: c.cfg.MaxIterations, Transcript: c.Transcript()}
}

// refuse sets which skills may not run scripts.
func (c *Conversation) refuse(skills map[string]refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = skills
}

// offer returns what the model is told before the conversation, and its tools: the role of
// the agent, the skills that it uses, its instructions, and the skills that fit the prompt.
// hint is what stands below the prompt: which skills stand out, where the list has them all.
func (c *Conversation) offer(ctx context.Context, prompt string) (system, hint string, tools []Tool, err error) {
	most := cmp.Or(c.cfg.System, DefaultSystemTokens)
	p, err := preload(ctx, c.cfg.Catalog, c.cfg.Agent, preloading{tokens: most, local: c.cfg.Budget.Local, folder: func(b *contextprovider.Body) string { return c.folder(ctx, b) }})
	if err != nil {
		return "", "", nil, err
	}
	for _, b := range p.loaded {
		c.give(b)
	}
	if len(c.all) == 0 { // once
		for _, problem := range p.problems {
			c.failed("", "", errors.New(problem.Message))
		}
	}
	b, err := c.block(ctx, prompt, p.budget(c.cfg.Budget, most-words.Tokens(p.text)))
	if err != nil {
		return "", "", nil, err
	}
	if b.Hint != "" && !c.has(b.Fitting()[0].ID) {
		hint = "\n\n" + strings.TrimSpace(unmarked(b.Hint))
	}
	list, tools, err := c.agent.mode.offer(ctx, c, b)
	return unmarked(joined(p.text, list)), hint, tools, err
}

// has reports whether the instructions of a skill stand in the conversation.
func (c *Conversation) has(id string) bool {
	return slices.ContainsFunc(c.Loaded(), func(b contextprovider.Body) bool { return b.ID == id })
}

// block returns the skills that fit a prompt, in a list that says how this mode loads them,
// and notes which they are.
func (c *Conversation) block(ctx context.Context, prompt string, budget contextprovider.Budget) (contextprovider.Block, error) {
	budget.Intro = cmp.Or(budget.Intro, c.agent.mode.intro())
	b, err := c.cfg.Catalog.Block(ctx, prompt, budget, c.cfg.Agent)
	if err != nil {
		return b, err
	}
	e := usage.Answered(usage.Offered, prompt, &b.Ranking)
	e.Skills, e.Tokens, e.Wording = usage.Named(idsOf(b.Fitting())...), b.Tokens, b.Wording
	c.note(e)
	return b, nil
}

// ask asks the model once, and adds its answer to the history.
func (c *Conversation) ask(ctx context.Context, system string, tools []Tool, text func(string)) (Message, error) {
	if h := c.cfg.History; h > 0 && c.Tokens() > h {
		c.compact(CompactOptions{Tokens: h / 2})
	}
	c.mu.Lock()
	c.system = system
	q := Question{System: system, Messages: slices.Clone(c.messages), Tools: tools}
	c.mu.Unlock()
	pieces := &stream{text: text}
	start := time.Now()
	ctx, end := c.cfg.modelSpan(ctx)
	m, err := guard(ctx, "the model", func() (Message, error) { return c.cfg.Model.Answer(ctx, q, pieces.writer()) })
	pieces.close()
	end(err, m.Usage.attrs()...)
	if err != nil {
		return Message{}, fmt.Errorf("asking the model: %w", err)
	}
	m.Role = Assistant
	m.Calls = c.identify(m.Calls)
	c.add(m)
	c.note(usage.Event{Kind: usage.Asked, Duration: time.Since(start), Tokens: tokensOf(m)})
	return m, nil
}

// maxCalls is how many calls of one answer are done: a server can send any number.
const maxCalls = 64

// act does what the model asks for, call by call. Each call has a result in the end,
// whatever happened.
func (c *Conversation) act(ctx context.Context, m Message) []Message {
	if len(m.Calls) == 0 {
		return c.do(ctx, m)
	}
	var results []Message
	size := 0 // of the results
	for i, call := range m.Calls {
		var r []Message
		why := "no such tool"
		switch err := ctx.Err(); {
		case err != nil:
			why = "not done: " + err.Error()
		case i >= maxCalls:
			why = fmt.Sprintf("not done: only the first %d calls of an answer are done", maxCalls)
		case size > maxReply:
			why = "not done: the results of the calls before are long; read them, and call again what you still need"
		default:
			r = c.do(ctx, Message{Role: Assistant, Calls: []Call{call}})
		}
		if len(r) == 0 {
			r = []Message{{Role: Result, Call: call.ID, Text: why}}
		}
		for i := range r {
			size += len(r[i].Text)
		}
		results = append(results, r...)
	}
	return results
}

// do does what the model asks for in one call, or in its text, and notes in the result
// which skills it loads.
func (c *Conversation) do(ctx context.Context, m Message) []Message {
	start := c.happened()
	results := c.agent.mode.act(ctx, c, m)
	for _, e := range c.eventsFrom(start) {
		if e.Kind == usage.Loaded && len(results) > 0 {
			results[0].Skills = append(results[0].Skills, e.IDs()...)
		}
	}
	return results
}

// identify gives each call an ID that no other call of the message has. Some servers want
// nine letters and digits.
func (c *Conversation) identify(calls []Call) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		same := func(other Call) bool { return other.ID == calls[i].ID }
		if calls[i].ID == "" || slices.ContainsFunc(calls[:i], same) {
			c.calls++
			calls[i].ID = fmt.Sprintf("call%05d", c.calls)
		}
	}
	return calls
}

// add adds messages to the history.
func (c *Conversation) add(messages ...Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, messages...)
	c.all = append(c.all, messages...)
}

// forgetUnanswered drops a prompt to which the model answered nothing: some servers refuse
// two messages of the user in a row.
func (c *Conversation) forgetUnanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == User {
		c.messages = c.messages[:n-1]
	}
}

// Messages returns what the model is told of the history now.
func (c *Conversation) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.messages)
}

// Loaded returns the skills whose instructions the model has, in the order in which they
// were loaded.
func (c *Conversation) Loaded() []contextprovider.Body {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.loaded)
}

// A stream hands the pieces of an answer on until it is closed: a model that was left
// behind cannot write into the next answer.
type stream struct {
	mu     sync.Mutex
	closed bool
	text   func(string)
}

// writer returns the function for the model; nil if nobody wants the pieces.
func (s *stream) writer() func(string) {
	if s.text == nil {
		return nil
	}
	return func(piece string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.text(piece)
		}
	}
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
