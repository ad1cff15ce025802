package openai

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// ErrUnavailable means that the endpoint cannot be used now: it cannot be reached, is
// overloaded or broken, or does not answer with embeddings.
var ErrUnavailable = errors.New("embedding endpoint unavailable")

// An Error says why the endpoint returned no vectors. It never contains a secret from the
// configuration.
type Error struct {
	Status    int    // HTTP status; 0 means there was no answer
	Model     string // the model's name
	Message   string // what the server said or what is wrong, about 200 characters, and a hint
	Retryable bool   // the same texts may succeed later
	Err       error  // ErrUnavailable, an error that wraps it, or nil

	again      bool          // retry within the same call
	retryAfter time.Duration // least pause that the server asked for; 0 means none
	tooMuch    bool          // the request had too many or too long texts
	tooSlow    bool          // the request timed out
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("model %s: %s", e.Model, e.Message)
	}
	return fmt.Sprintf("model %s: http %d: %s", e.Model, e.Status, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// failure returns the Error in err; a zero Error if there is none.
func failure(err error) Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return *e
	}
	return Error{}
}

func (e *Embedder) timeoutError(err error) *Error {
	return &Error{
		Model: e.model, Message: fmt.Sprintf("no answer within %v", e.timeout),
		Retryable: true, tooSlow: true, Err: fmt.Errorf("%w: %w", ErrUnavailable, err),
	}
}

// networkError returns the error for a request without an answer. It is worth a retry if
// the server hung up, but not if the server cannot be reached.
func (e *Embedder) networkError(err error) *Error {
	op, ok := errors.AsType[*net.OpError](err)
	dial := ok && op.Op == "dial"
	return &Error{
		Model: e.model, Message: e.conn.Tidy(err.Error()),
		Retryable: true, again: !dial, Err: fmt.Errorf("%w: %w", ErrUnavailable, err),
	}
}

// answerError returns the error for a successful answer without vectors.
func (e *Embedder) answerError(err error) *Error {
	return &Error{Status: http.StatusOK, Model: e.model, Message: e.conn.Tidy(err.Error()) + e.conn.Address.Hint(), Err: ErrUnavailable}
}

func (e *Embedder) statusError(ans endpoint.Answer) *Error {
	text := ans.Message()
	f := &Error{Status: ans.Status, Model: e.model, Message: e.conn.Tidy(text)}
	if f.tooMuch = saysTooMuch(ans.Status, text); f.tooMuch {
		return f
	}
	address := e.conn.Address.Hint()
	if strings.Contains(strings.ToLower(text), "model") {
		address = " (does the server have this model?)"
	}
	f.Message += ans.Hint(e.conn.KeyHint, address)
	if ans.Busy() {
		f.Retryable, f.again, f.Err = true, true, ErrUnavailable
		f.retryAfter = endpoint.RetryAfter(ans.Header.Get("Retry-After"), e.now())
	}
	return f
}

// saysTooMuch reports whether an error is about the size of the request. Servers do not
// agree on a code for it, so this is a guess; a wrong guess costs a few requests.
func saysTooMuch(status int, text string) bool {
	text = strings.ToLower(text)
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests: // OpenAI: the request has more tokens than a minute allows
		return strings.Contains(text, "request too large")
	case http.StatusInternalServerError: // some gateways say "max retries exceeded" with this status
		if !containsAny(text, "input", "token", "batch", "context") {
			return false
		}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
	default:
		return false
	}
	// A dimension is the size of the vectors, not of the texts.
	return !strings.Contains(text, "dimension") && containsAny(text,
		"too large", "too long", "too many", "too big", "exceed", "maximum", "length",
		"batch size", "batch_size", "input size", "larger than", "longer than", "less than", "at most", "token limit")
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}
