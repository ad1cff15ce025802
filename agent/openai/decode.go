package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// A chunk is a whole answer, or one event of a stream: both have the same fields, but for
// message and delta. We read only what matters.
type chunk struct {
	Choices []struct {
		Index        int          `json:"index"`
		Message      *wireMessage `json:"message"`
		Delta        *wireMessage `json:"delta"`
		FinishReason lenient      `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		In    int `json:"prompt_tokens"`
		Out   int `json:"completion_tokens"`
		Input int `json:"input_tokens"` // of some gateways
		Made  int `json:"output_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type wireMessage struct {
	Content      lenient       `json:"content"`
	Refusal      lenient       `json:"refusal"`
	ToolCalls    []wireCall    `json:"tool_calls"`
	FunctionCall *wireFunction `json:"function_call"` // before there were tools
}

type wireCall struct {
	Index    *int         `json:"index"`
	ID       lenient      `json:"id"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      lenient `json:"name"`
	Arguments lenient `json:"arguments"`
}

// lenient is a text that some servers send in another form: null is "", a list of parts is
// their texts, an object or number is its JSON.
type lenient string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenient) UnmarshalJSON(data []byte) error {
	var s string
	var parts []struct {
		Text string `json:"text"`
	}
	switch {
	case json.Unmarshal(data, &s) == nil: // also null
		*l = lenient(s)
	case json.Unmarshal(data, &parts) == nil:
		for _, p := range parts {
			*l += lenient(p.Text)
		}
	default:
		*l = lenient(data)
	}
	return nil
}

// errCut means that an answer ended early.
var errCut = errors.New("the answer was cut off")

// decode reads the answer of a model, whole or as a stream, whatever was asked for. It calls
// heard whenever a part of the answer has arrived; what only keeps the connection alive is none.
// text, if not nil, gets each piece. With an error, the message is what arrived.
func decode(body io.Reader, heard func(), text func(string)) (agent.Message, error) {
	b := builder{heard: heard, text: text}
	limited := &io.LimitedReader{R: body, N: maxAnswer}
	r := bufio.NewReader(limited)
	first, err := firstByte(r)
	switch {
	case err == nil && (first == '{' || first == '<' || first == '['):
		err = b.whole(r)
	case err == nil:
		err = b.stream(r)
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: it is empty", errCut)
	}
	if limited.N <= 0 {
		err = malformed("is longer than %d bytes", maxAnswer)
	}
	if err != nil && errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the connection ended", errCut)
	}
	if err == nil {
		err = b.check()
	}
	return b.message(), err
}

// firstByte skips blanks and a byte order mark, and returns the byte after them.
func firstByte(r *bufio.Reader) (byte, error) {
	if b, _ := r.Peek(3); string(b) == "\ufeff" {
		r.Discard(3)
	}
	for {
		b, err := r.Peek(1)
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsAny(b, " \t\r\n") {
			return b[0], nil
		}
		r.Discard(1)
	}
}

// A serverError is an error that a server reports within a successful answer.
type serverError struct{ message, code string }

func (e *serverError) Error() string { return e.message }

// A formatError is about an answer that is not of this protocol.
type formatError struct{ error }

func malformed(format string, args ...any) error {
	return &formatError{fmt.Errorf("the answer "+format, args...)}
}

// whole reads an answer in one piece.
func (b *builder) whole(r io.Reader) error {
	body, err := io.ReadAll(&watched{r, b.heard})
	if err != nil {
		return err
	}
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		if body[0] == '<' {
			return malformed("is an HTML page")
		}
		return malformed("is malformed: %w", err)
	}
	if len(c.Choices) == 0 && !isError(c.Error) {
		return malformed("has no choices: %s", endpoint.Message(body))
	}
	b.done = true
	return b.add(&c)
}

// A watched is a reader that tells when something other than blanks has arrived.
type watched struct {
	io.Reader
	heard func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if len(bytes.TrimSpace(p[:n])) > 0 {
		w.heard()
	}
	return n, err
}

// stream reads server-sent events. Each line of data is an event, but for the lines of an
// event that is spread over several.
func (b *builder) stream(r *bufio.Reader) error {
	var event []byte
	for {
		line, err := r.ReadBytes('\n')
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case ok && string(data) == "[DONE]":
			b.done = true
			return nil
		case ok:
			event = append(event, data...)
			if json.Valid(event) {
				if err := b.event(event); err != nil {
					return err
				}
				event = event[:0]
			}
		case !b.seen && len(bytes.TrimSpace(line)) > 0 && !isField(line):
			return malformed("is no stream: %s", endpoint.Message(line))
		}
		if errors.Is(err, io.EOF) {
			if len(event) > 0 {
				return fmt.Errorf("%w: its last event is malformed", errCut)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isField reports whether a line is of a stream of events.
func isField(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	return ok && (len(name) == 0 || string(name) == "event" || string(name) == "id" || string(name) == "retry")
}

func (b *builder) event(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return malformed("has a malformed event: %w", err)
	}
	b.seen = true
	return b.add(&c)
}

// A builder puts an answer together.
type builder struct {
	heard  func()
	text   func(string)
	said   strings.Builder
	calls  []*building
	usage  agent.Usage
	finish string
	seen   bool // there was an event
	done   bool // the server said that the answer ends
}

// add adds what a chunk brings.
func (b *builder) add(c *chunk) error {
	if isError(c.Error) {
		return &serverError{endpoint.Message(c.Error), codeOf(c.Error)}
	}
	if u := c.Usage; u != nil && u.In+u.Out+u.Input+u.Made > 0 {
		b.usage = agent.Usage{In: max(u.In, u.Input), Out: max(u.Out, u.Made)}
	}
	if len(c.Choices) > 0 {
		b.heard() // also of a thought, which we do not read
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // we asked for one
		}
		if choice.FinishReason != "" {
			b.finish = string(choice.FinishReason)
		}
		if choice.Delta != nil {
			b.part(choice.Delta, false)
		} else if choice.Message != nil {
			b.part(choice.Message, true)
		}
	}
	return nil
}

func isError(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""` && string(raw) != "{}"
}

// part adds a message or a piece of one.
func (b *builder) part(m *wireMessage, whole bool) {
	for _, piece := range []lenient{m.Content, m.Refusal} {
		if piece != "" {
			b.said.WriteString(string(piece))
			if b.text != nil {
				b.text(string(piece))
			}
		}
	}
	for _, c := range m.ToolCalls {
		b.call(c, whole)
	}
	if m.FunctionCall != nil && len(m.ToolCalls) == 0 {
		b.call(wireCall{Index: new(int), Function: *m.FunctionCall}, whole)
	}
}

// check reports what is wrong with an answer that was read to its end. Where the server did
// not announce the end, the text counts as cut, and all calls have to be whole.
func (b *builder) check() error {
	switch {
	case b.finish == "error":
		return &serverError{message: "the server broke off the answer"}
	case b.finish == "content_filter" && b.said.Len() == 0 && len(b.calls) == 0:
		return &serverError{message: "the server's content filter withheld the answer"}
	case b.ended():
		return nil
	case b.said.Len() == 0 && len(b.calls) == 0:
		return fmt.Errorf("%w: it is empty", errCut)
	}
	for i := range b.calls {
		if args := b.calls[i].arguments(); !json.Valid([]byte(args)) {
			return fmt.Errorf("%w: a call is not whole", errCut)
		}
	}
	return nil
}

// ended reports whether the server said that the answer ends; not every one says so twice.
func (b *builder) ended() bool { return b.done || b.finish != "" }

// message returns what arrived.
func (b *builder) message() agent.Message {
	m := agent.Message{Role: agent.Assistant, Text: b.said.String(), Usage: b.usage, Cut: b.finish == "length" || !b.ended()}
	for i := range b.calls {
		if c := b.calls[i]; c.name != "" || c.args.Len() > 0 {
			m.Calls = append(m.Calls, agent.Call{ID: c.id, Name: c.name, Arguments: c.arguments()})
		}
	}
	return m
}
