package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

const (
	maxAnswer  = 64 << 20 // bytes of a stream; each token may take 500
	maxMessage = 1 << 20  // bytes of an error or a list of models
)

// errSilent means that the server was silent for too long.
var errSilent = errors.New("the server is silent")

// attempt asks once.
func (m *Model) attempt(ctx context.Context, q agent.Question, text func(string)) (agent.Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(m.cfg.Timeout, func() { cancel(errSilent) })
	defer watch.Stop()
	body, err := json.Marshal(m.request(q, text != nil))
	if err != nil { // the parameters of a tool are no JSON
		return agent.Message{}, &Error{Model: m.cfg.Model, Message: err.Error(), Err: err}
	}
	accept := "application/json"
	if text != nil {
		accept = "text/event-stream"
	}
	resp, err := m.conn.Send(ctx, "/chat/completions", body, accept)
	if err == nil && (resp.StatusCode < 200 || resp.StatusCode > 299) {
		var a endpoint.Answer
		if a, err = endpoint.Read(resp, maxMessage); err == nil {
			return m.refused(ctx, a, q, text)
		}
	}
	if err != nil {
		return agent.Message{}, silence(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := decode(resp.Body, func() { watch.Reset(m.cfg.Timeout) }, text)
	return answer, silence(ctx, err)
}

// refused returns the error for a response that is not OK. A server that does not know the
// field that asks for the usage is asked without it, now and later.
func (m *Model) refused(ctx context.Context, a endpoint.Answer, q agent.Question, text func(string)) (agent.Message, error) {
	if text != nil && (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(string(a.Body), "stream_options") && m.noUsage.CompareAndSwap(false, true) {
		return m.attempt(ctx, q, text)
	}
	return agent.Message{}, m.statusError(ctx, a)
}

// silence returns errSilent in place of the error that it leads to.
func silence(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}
