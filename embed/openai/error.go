package openai

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// ErrUnavailable says that the endpoint cannot be used now: it could not be
// reached, is overloaded or broken, or answers something else than embeddings.
var ErrUnavailable = errors.New("embedding endpoint unavailable")

// An Error says why the endpoint gave no vectors. It never holds a secret that
// the embedder was given.
type Error struct {
	Status    int    // of the HTTP answer; 0 when there was none
	Model     string // the model's name
	Message   string // what the server said or what is wrong, in some 200 characters, and a hint
	Retryable bool   // whether the same texts may succeed later
	Err       error  // the cause: ErrUnavailable, one that wraps it, or nil

	again      bool          // worth another try within the same call
	retryAfter time.Duration // the least wait that the server asked for
	tooMuch    bool          // the server was given too many or too long texts
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

func tooMuch(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.tooMuch
}

func tooSlow(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.tooSlow
}

func (e *Embedder) timeoutError(err error) *Error {
	return &Error{
		Model: e.model, Message: fmt.Sprintf("no answer within %v", e.timeout),
		Retryable: true, tooSlow: true, Err: fmt.Errorf("%w: %w", ErrUnavailable, err),
	}
}

// networkError is the error of a request without an answer. A server that
// cannot be reached is not there; one that hangs up may be there again.
func (e *Embedder) networkError(err error) *Error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the URL, which the caller knows
	}
	var op *net.OpError
	dial := errors.As(err, &op) && op.Op == "dial"
	return &Error{
		Model: e.model, Message: e.tidy(err.Error()),
		Retryable: true, again: !dial, Err: fmt.Errorf("%w: %w", ErrUnavailable, err),
	}
}

// answerError is the error of a successful answer that holds no vectors.
func (e *Embedder) answerError(err error) *Error {
	return &Error{Status: http.StatusOK, Model: e.model, Message: e.tidy(err.Error()) + e.pathHint, Err: ErrUnavailable}
}

func (e *Embedder) statusError(ans endpoint.Answer) *Error {
	text := ans.Message()
	f := &Error{Status: ans.Status, Model: e.model, Message: e.tidy(text)}
	if f.tooMuch = saysTooMuch(ans.Status, text); f.tooMuch {
		return f
	}
	f.Message += e.hint(ans.Status, text)
	// A quota that is used up comes as a 429 too, but no wait will help.
	busy := ans.Status == http.StatusTooManyRequests && !bytes.Contains(ans.Body, []byte("insufficient_quota"))
	if busy || ans.Status >= 500 && ans.Status != http.StatusNotImplemented {
		f.Retryable, f.again, f.Err = true, true, ErrUnavailable
		f.retryAfter = retryAfter(ans.Header.Get("Retry-After"), e.now())
	}
	return f
}

// saysTooMuch reports whether an error is about the size of the request. There
// is no code for it that servers agree on; a wrong guess costs a few requests.
func saysTooMuch(status int, text string) bool {
	text = strings.ToLower(text)
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests: // OpenAI: more tokens than a minute allows
		return strings.Contains(text, "request too large")
	case http.StatusInternalServerError: // gateways also say "max retries exceeded" with it
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

// hint returns what to look at, to be appended to a message.
func (e *Embedder) hint(status int, text string) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return e.keyHint
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		if strings.Contains(strings.ToLower(text), "model") {
			return " (does the server have this model?)"
		}
		return e.pathHint
	}
	return ""
}

// tidy makes text from outside fit for a message, without secrets.
func (e *Embedder) tidy(text string) string { return endpoint.Tidy(e.conn.scrub.Replace(text)) }

// retryAfter returns the wait that a Retry-After header asks for, 0 if none.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
