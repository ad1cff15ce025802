package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// ErrUnavailable means that the server cannot be used now: it cannot be reached, or is
// overloaded or broken.
var ErrUnavailable = errors.New("chat endpoint unavailable")

// ErrContextLength means that the question is longer than the model reads.
var ErrContextLength = errors.New("the conversation is longer than the model reads")

// An Error says why the server gave no answer. It never contains a secret from the
// configuration.
type Error struct {
	Status   int    // HTTP status; 0 means that there was no answer
	Model    string // the model's name
	Message  string // what the server said or what is wrong, about 200 characters, and what to do
	Attempts int    // how often the question was sent
	Err      error  // ErrUnavailable, ErrContextLength, an error that wraps one, or nil

	again      bool          // the same question may succeed later
	retryAfter time.Duration // least pause that the server asked for; 0 means none
}

func (e *Error) Error() string {
	s := "model " + e.Model + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("http %d: ", e.Status)
	}
	s += e.Message
	if e.Attempts > 1 {
		s += fmt.Sprintf(" (after %d attempts)", e.Attempts)
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// failure returns the Error for whatever an attempt failed of. total is ctx with the
// deadline of all attempts.
func (m *Model) failure(ctx, total context.Context, err error) *Error {
	f, ok := errors.AsType[*Error](err)
	if ok && total.Err() == nil {
		return f
	}
	f = &Error{Model: m.cfg.Model, Message: m.conn.Tidy(err.Error()), Err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
	var reported *serverError
	switch {
	case ctx.Err() != nil:
		f.Message, f.Err = ctx.Err().Error(), ctx.Err()
	case total.Err() != nil:
		f.Message = fmt.Sprintf("no answer within %v; raise Config.Total", m.cfg.Total)
	case errors.Is(err, errSilent):
		f.Message, f.again = fmt.Sprintf("the server was silent for %v; raise Config.Timeout if the model is slow", m.cfg.Timeout), true
	case errors.As(err, &reported):
		f.Status, f.Err = http.StatusOK, ErrUnavailable // err may hold a secret that the server repeats
		f.again = containsAny(reported.code, "429", "500", "502", "503", "529", "overloaded")
		m.explain(f, reported.message+" "+reported.code)
	case errors.Is(err, errCut):
		f.again = true
	default:
		m.network(f, err)
	}
	return f
}

// network completes the error for a request without an answer, or with a puzzling one.
func (m *Model) network(f *Error, err error) {
	op, ok := errors.AsType[*net.OpError](err)
	dial := ok && op.Op == "dial"
	_, dns := errors.AsType[*net.DNSError](err)
	_, isFormat := errors.AsType[*formatError](err)
	switch {
	case dns:
		f.Message += " (check the host of the base URL)"
	case containsAny(err.Error(), "certificate", "HTTP response to HTTPS client", "malformed HTTP response"):
		f.Message += " (check http or https, the host and the port of the base URL)"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Message += " (does the server run there?)"
		f.again = true
	case isFormat:
		f.Status, f.Err = http.StatusOK, ErrUnavailable // err may hold a secret that the server repeats
		f.Message += m.conn.Address.Hint()
	default:
		f.again = !dial || op.Timeout()
	}
}

// statusError returns the error for a response that is not OK.
func (m *Model) statusError(ctx context.Context, a endpoint.Answer) error {
	text := a.Message()
	f := &Error{Status: a.Status, Model: m.cfg.Model, Message: m.conn.Tidy(text)}
	if m.explain(f, text+" "+codeOf(errorIn(a.Body))) {
		return f
	}
	switch {
	case a.Status == http.StatusNotFound:
		f.Message += m.missing(ctx)
	default:
		f.Message += a.Hint(m.conn.KeyHint, m.conn.Address.Hint())
	}
	if a.Busy() {
		f.again, f.Err = true, ErrUnavailable
		f.retryAfter = endpoint.RetryAfter(a.Header.Get("Retry-After"), m.now())
	}
	return f
}

// explain completes an error whose text says what is wrong, and reports whether it does.
// Servers agree on no code, so this is a guess; a wrong guess is a wrong hint.
func (m *Model) explain(f *Error, text string) bool {
	text = strings.ToLower(text)
	switch {
	case f.Status != http.StatusTooManyRequests && f.Status != http.StatusUnauthorized && containsAny(text,
		"context_length_exceeded", "maximum context length", "context window", "context length", "prompt is too long",
		"available context size", "exceed_context_size", "too many tokens", "input is too long"):
		f.Message += "; shorten the conversation with Compact, or set Config.History of the agent"
		f.Err = ErrContextLength
	case containsAny(text, "does not support tools", "tools are not supported", "does not support function calling", "tool use is not supported",
		"tool choice requires", "does not support tool"):
		f.Message += "; this model cannot call tools: set Config.Instructions of the agent"
		f.Err = nil
	default:
		return false
	}
	f.again = false
	return true
}

// errorIn returns the error in the body of a response; nil if there is none.
func errorIn(body []byte) json.RawMessage {
	var c chunk
	if json.Unmarshal(body, &c) != nil {
		return nil
	}
	return c.Error
}

// codeOf returns the code and the type of an error; "" if it has none.
func codeOf(raw json.RawMessage) string {
	var e struct {
		Code lenient `json:"code"`
		Type lenient `json:"type"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return ""
	}
	return string(e.Code + " " + e.Type)
}

// missing returns advice after a 404: a name that the server has, or about the address.
func (m *Model) missing(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a, err := m.conn.Models(ctx, maxMessage)
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err != nil || !a.OK() || json.Unmarshal(a.Body, &list) != nil || len(list.Data) == 0 {
		return m.conn.Address.Hint()
	}
	var names []string
	for _, d := range list.Data {
		names = append(names, m.conn.Tidy(d.ID))
	}
	if slices.Contains(names, m.cfg.Model) {
		return " (the server lists this model; is it one for chat?)"
	}
	slices.Sort(names)
	return "; the server has no model " + m.cfg.Model + words.Suggest(m.cfg.Model, names)
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}
