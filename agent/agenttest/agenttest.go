// Package agenttest has a model that follows a script, and a server on loopback that plays
// one to any client of OpenAI's chat protocol, for tests of agents and of skills. The one
// rule: the same script does the same each time, and nothing leaves the machine.
package agenttest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
)

// A Turn is what a scripted model does when it is asked once.
type Turn struct {
	Want  []Want       // checked first; the first that fails is the error of the turn
	Text  string       // what it writes
	Calls []agent.Call // what it calls; an empty ID is made up
	Usage agent.Usage

	Pause      time.Duration // before it answers, and before each piece of a stream
	Status     int           // it answers with this HTTP status, and Text as the message; 0 means 200
	RetryAfter string        // the header Retry-After, for a Status
	Cut        int           // the connection ends after so many characters of Text; 0 means that it does not
	Hang       bool          // it does not answer
	Panic      bool          // it panics with Text; a server hangs up
	Raw        string        // a server sends this body as it is
}

// Say returns a turn in which the model writes a text.
func Say(text string) Turn { return Turn{Text: text} }

// Call returns a turn in which the model calls a tool. The arguments may be malformed.
func Call(tool, arguments string) Turn {
	return Turn{Calls: []agent.Call{{Name: tool, Arguments: arguments}}}
}

// And returns the turn with another call.
func (t Turn) And(tool, arguments string) Turn {
	t.Calls = append(t.Calls[:len(t.Calls):len(t.Calls)], agent.Call{Name: tool, Arguments: arguments})
	return t
}

// Wants returns the turn with a check that the messages since the last answer have a text.
func (t Turn) Wants(text string) Turn {
	t.Want = append(t.Want[:len(t.Want):len(t.Want)], Want{Text: text})
	return t
}

// A Place is a part of a question.
type Place string

// The places.
const (
	Last   Place = ""       // the messages since the last answer
	System Place = "system" // what stands before the conversation
	Tool   Place = "tool"   // the name of one of the tools
	Tools  Place = "tools"  // the names and descriptions of all tools
	All    Place = "all"    // all messages
)

// A Want is something that a question must have, or must not have.
type Want struct {
	In   Place
	Text string // whole, if In is Tool
	Not  bool
}

// check returns an error if a question is not as wanted.
func (w Want) check(q agent.Question) error {
	has, text := w.find(q)
	if has != w.Not {
		return nil
	}
	places := map[Place]string{
		Last: "text since the last answer", System: "system prompt", Tool: "list of tools", Tools: "list of tools", All: "conversation",
	}
	verb := "has no"
	if w.Not {
		verb = "has"
	}
	return fmt.Errorf("the %s %s %q; it is %q", places[w.In], verb, w.Text, text)
}

// find reports whether a question has what is wanted, and returns where it looked.
func (w Want) find(q agent.Question) (has bool, text string) {
	var b strings.Builder
	switch w.In {
	case System:
		b.WriteString(q.System)
	case Tool, Tools:
		for _, t := range q.Tools {
			has = has || t.Name == w.Text
			b.WriteString(t.Name + "\n")
			if w.In == Tools {
				b.WriteString(t.Description + "\n")
			}
		}
		if w.In == Tool {
			return has, b.String()
		}
	default:
		for _, m := range since(q.Messages, w.In) {
			b.WriteString(m.Text + "\n")
		}
	}
	return strings.Contains(b.String(), w.Text), b.String()
}

// since returns the messages after the last answer, or all.
func since(messages []agent.Message, in Place) []agent.Message {
	if in == Last {
		for i := len(messages) - 1; i >= 0; i-- {
			if messages[i].Role == agent.Assistant {
				return messages[i+1:]
			}
		}
	}
	return messages
}

// A Script is a model that takes its turns in their order. It may be used from several
// goroutines.
type Script struct {
	mu    sync.Mutex
	turns []Turn
	asked []agent.Question
	calls int // how many IDs were made up
}

var _ agent.Model = (*Script)(nil)

// New returns a model that takes these turns.
func New(turns ...Turn) *Script { return &Script{turns: turns} }

// Asked returns the questions until now.
func (s *Script) Asked() []agent.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]agent.Question(nil), s.asked...)
}

// Rest returns how many turns nobody asked for yet.
func (s *Script) Rest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, len(s.turns)-len(s.asked))
}

// take returns the turn for a question, once it is as wanted. The turn of a failed question
// is over all the same.
func (s *Script) take(q agent.Question) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	n := len(s.asked)
	if n > len(s.turns) {
		return Turn{}, fmt.Errorf("script: it has %d turns, and the model was asked %d times", len(s.turns), n)
	}
	t := s.turns[n-1]
	for _, w := range t.Want {
		if err := w.check(q); err != nil {
			return Turn{}, fmt.Errorf("script: turn %d: %w", n, err)
		}
	}
	t.Calls = append([]agent.Call(nil), t.Calls...)
	for i := range t.Calls {
		if t.Calls[i].ID == "" {
			s.calls++
			t.Calls[i].ID = fmt.Sprintf("scripted%d", s.calls)
		}
	}
	return t, nil
}

// Answer implements agent.Model.
func (s *Script) Answer(ctx context.Context, q agent.Question, text func(piece string)) (agent.Message, error) {
	t, err := s.take(q)
	if err != nil {
		return agent.Message{}, err
	}
	if t.Panic {
		panic(t.Text)
	}
	if err := t.wait(ctx); err != nil {
		return agent.Message{}, err
	}
	if t.Status != 0 && t.Status != 200 {
		return agent.Message{}, fmt.Errorf("http %d: %s", t.Status, t.Text)
	}
	for _, piece := range t.pieces() {
		if text != nil {
			text(piece)
		}
	}
	if t.Cut > 0 {
		return agent.Message{}, io.ErrUnexpectedEOF
	}
	return agent.Message{Role: agent.Assistant, Text: t.Text, Calls: t.Calls, Usage: t.Usage}, nil
}

// wait waits as the turn says, and returns the error of ctx if that ends first.
func (t *Turn) wait(ctx context.Context) error {
	if t.Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if t.Pause > 0 {
		timer := time.NewTimer(t.Pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return ctx.Err()
}

// pieces cuts the text as a stream does: after each blank.
func (t *Turn) pieces() []string {
	text := t.Text
	if r := []rune(text); t.Cut > 0 && t.Cut < len(r) {
		text = string(r[:t.Cut])
	}
	return strings.SplitAfter(text, " ")
}
